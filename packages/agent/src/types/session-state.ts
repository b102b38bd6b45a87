import type {
  CallFlow,
  ApprovalDecision,
  CallOutcome,
  Clock,
  EffectMark,
  EffectStatus,
  Entry,
  EntryOf,
  ErrorInfo,
  FilterDescriptor,
  Grant,
  Json,
  Label,
  Manifest,
  Message,
  MessageInit,
  ModelUsage,
  Overrides,
  Principal,
  RemoteError,
  RunStatus,
  ToolCallPart,
  ToolResultPart,
  Usage,
  UsageReport,
} from '@provost/core'

/** Bytes of a run, including its ended children. */
export interface RunBytes {
  /** Bytes that were checked and parsed: messages, arguments of calls, results, answers to waits. */
  readonly host: number
  /** Bytes that were written to logs. */
  readonly log: number
}

/** What a run does next. */
export type NextAction = 'start-step' | 'retry-step' | 'run-tools' | 'wait' | 'finish'

/** A child as the log of its parent records it. */
export interface ChildState {
  /** Id of its run. */
  readonly callId: string
  readonly parentCallId: string
  readonly log: string
  readonly agent: string
  readonly inputHash: string
  readonly grant?: Grant
  /** Label of its input. */
  readonly label: Label
  /** The filter of the caller's history, and the messages of a hook that replace the whole input. */
  readonly filter?: FilterDescriptor
  readonly with?: readonly Message[]
  /** It is a session of its own, with its log as the id. */
  readonly where?: 'any'
  /** Number of its letters that the log records. */
  letters: number
  /** Its session was created: its composite has parked since it was spawned. */
  isCreated: boolean
  /** A letter came while its composite was not parked. */
  hasNews: boolean
  status: 'running' | RunStatus
  /** Usage that is not counted with the run yet. */
  usage?: UsageReport
  bytes?: RunBytes | undefined
  /** Answers to its waits that the runs above received, by token. */
  readonly waitAnswers: Map<string, EntryOf<'resolved'>>
  completion?: EntryOf<'child', 'joined'>
}

/** The stage of a call of the current step. */
export type CallStage =
  /** Not authorized yet. A human's decision returns a call to this stage, and the hooks authorize it again. */
  | 'planned'
  /** Authorized once the other calls of the step have their results: it transfers them. */
  | 'deferred'
  /** May run. */
  | 'ready'
  /** Denied, or answered by a hook: settles without running. */
  | 'answered'
  | 'started'
  /** A composite whose operations all wait for outside input. */
  | 'parked'
  /** A parked composite that has received something it waits for. */
  | 'resumable'
  /** Waits for a human, a remote result or a decision about an uncertain outcome. */
  | 'waiting'
  /** A result has arrived from outside and is not settled yet. */
  | 'delivered'
  | 'settled'

/** A value from outside for a waiting call, or the notice that none will arrive. */
export type Delivered = {
  readonly via: 'remote' | 'human'
  /** The effect that the human was asked about. */
  readonly effectStatus?: EffectStatus
} &
  /** `given-up`: the outcome of the call is unknown. `expired`: the wait timed out. */
  (
    | { readonly fate: 'done' | 'given-up' | 'expired'; readonly output: Json }
    | { readonly fate: 'failed'; readonly error: RemoteError }
  )

/** A call of the current step. */
export interface CallState {
  readonly part: ToolCallPart
  readonly label: Label
  stage: CallStage
  /** The effective arguments. */
  args: Json
  /** Hash of the arguments that a human was asked about. */
  argsHash?: string
  /** The extensions or the tool that requested the approval. */
  askedBy?: string
  /** Hash of the tool's definition that the human was asked about. */
  definitionHash?: string | undefined
  /** Number of decisions: rewritten or approved calls are decided again. */
  decisions: number
  /** Set once it was admitted by the ledger of effects. */
  effect?: EffectMark
  /** The attempt at its effect that a human has decided about: it did not take place. */
  cleared?: number | undefined
  /** Number of starts: more than one only after a crash. */
  starts: number
  startedAt: number
  reason?: string
  approval?: ApprovalDecision
  /** The value from outside that replaces running it. */
  delivery?: Delivered
  result?: ToolResultPart
  outcome?: CallOutcome
  /** The composite that makes the call. */
  readonly parentCallId?: string
  /** Where its arguments come from, if the composite followed its values. */
  readonly flow?: CallFlow
  /** The orchestrator makes the call, and receives its value. The model was not offered it. */
  readonly isOrchestrators?: true
  /** The end of a call that a composite made. */
  settled?: EntryOf<'call', 'settled'>
  /** Answers that a composite has received. */
  composite?: CompositeState
  /** For a return handoff: the messages that the target works on. */
  returnHandoff?: { readonly entry: EntryOf<'handoff'>; readonly messages: readonly Message[] }
}

/** Answers that a composite call has received, in the order of the log. */
export interface CompositeState {
  /** Call ids, memo keys and tokens. */
  readonly answerIds: string[]
  /** Index of each in the answers. */
  readonly answerOrder: Map<string, number>
  /** Answers to waits by their tokens; undefined for a wait that timed out. */
  readonly waitAnswers: Map<string, Json | undefined>
  /** The join of the labels of all answers. */
  label: Label
}

/** A run as its log records it. All fields exist from the start: V8 is slow with deleted ones. */
export interface RunProgress {
  readonly id: string
  /** Of the code that runs it. */
  manifest: Manifest
  readonly principal?: Principal
  readonly startedAt: number
  status: 'running' | RunStatus
  /** It is suspended and waits for nothing: it made room for others. */
  yielded: boolean
  /** Number of model calls that were answered or attempted; 0 before the first. */
  step: number
  /** Failed attempts in the current step. */
  attempts: number
  /** The calls of the current step, in the order of the model's message. */
  readonly calls: Map<string, CallState>
  openCalls: number
  /** Calls that composites of the current step have made, at any depth, by id. */
  readonly nestedCalls: Map<string, CallState>
  /** The call that is authorized when it is the last open one. */
  deferred: CallState | undefined
  /** Children that composites of the current step have spawned, by run id. */
  readonly children: Map<string, ChildState>
  /** Another run spawned it: its input is not the human's own. */
  readonly isChild: boolean
  /** Authorized calls and answers of models, here and in ended children. */
  toolCallCount: number
  answerCount: number
  /** Milliseconds of activity before `since`, without the time of waits. */
  activeMs: number
  activeSince: number
  /** Tools whose results the next answer reads; undefined once that answer exists. */
  usedTools: readonly string[] | undefined
  /** The latest answer, until another message follows: the run ends here unless an input is queued. */
  answer: Message | undefined
  /** An answer that counts only once a human has approved it. */
  unapprovedAnswer: { readonly message: Message; readonly token: string } | undefined
  lastAttempt: EntryOf<'attempt'> | undefined
  /** The agents that were active in it, in order; more than one after a handoff. */
  readonly agents: string[]
  /** Number of handoffs. */
  handoffCount: number
  /** Number of return handoffs, including those of their targets. */
  returnHandoffs: number
  /** Requests to repair the output, in this run. */
  outputRepairs: number
  /** Ephemeral messages that hooks added on input; sent after the history until the run ends. */
  readonly ephemeralMessages: MessageInit[]
  /** Index into `messages` of the first message of this run. */
  readonly firstMessage: number
  /** Including ended children. */
  bytes: RunBytes
  usage: Usage
  readonly byModel: Map<string, ModelUsage>
  output: Json | undefined
  error: ErrorInfo | undefined
}

/** A sum of usage, with the share of each model. */
export interface UsageSum {
  usage: Usage
  readonly byModel: Map<string, ModelUsage>
}

/**
 * Everything that a log records, updated entry by entry. The cost of an entry does not depend on the length of the log.
 */
export interface SessionState {
  /** The clock of the store that the log is in. */
  readonly clock: Clock
  readonly entries: Entry[]
  /** Offset of the last entry; 0 for an empty log. */
  offset: number
  /** System messages of the session, by agent. */
  readonly systemMessages: Map<string, Message[]>
  /** The history. */
  readonly messages: Message[]
  /** Ids of hidden messages: answers that were held back for repair, and the results of their calls. */
  readonly hidden: Set<string>
  /** What the model receives: it only grows until a view entry cuts it. */
  readonly view: Message[]
  /** Number of cuts; between two cuts the view only grows. */
  viewVersion: number
  viewLabel: Label
  /** The human's own messages. */
  readonly userMessages: Message[]
  readonly waits: Map<string, EntryOf<'wait'>>
  /** Tokens of closed waits, their calls as `kind callId`, and their batches. */
  readonly resolvedWaits: Set<string>
  /** Session-wide approvals: the approver, by what the approval covers. */
  readonly sessionApprovals: Map<string, string>
  readonly memos: Map<string, Json>
  /** Which model wrote a message, as `provider/model`. */
  readonly modelNames: WeakMap<Message, string>
  /** For a fork: the id of the first original. */
  forkedFrom: string | undefined
  /** For a fork: what it replaces in its agent. */
  overrides: Overrides | undefined
  /** The active agent. */
  agent: string
  /** Agents that the session was handed over to since the first one, each once. */
  readonly handoffPath: string[]
  /** Extensions that targets needed when they took over, by agent. */
  readonly requiredExtensions: Map<string, readonly string[]>
  run: RunProgress | undefined
  /** Usage of all runs before `run`, with their children, and of model calls before the first run. */
  readonly earlier: UsageSum
  /** The tool message that the last entry completed. */
  completedMessage: Message | undefined
}
