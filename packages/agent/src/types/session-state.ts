import type {
  ApprovalDecision,
  CallOutcome,
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
  Principal,
  RunStatus,
  ToolCallPart,
  ToolResultPart,
  Usage,
  UsageReport,
} from '@provost/core'

import type { ChildMessage } from './inputs.ts'

/** Bytes of a run, with those of its children that have ended. */
export interface RunBytes {
  /** What was judged and parsed: messages, arguments of calls, results, answers to waits. */
  readonly host: number
  /** What was written to logs. */
  readonly log: number
}

/** What a run does next. */
export type NextAction = 'context' | 'model' | 'tools' | 'wait' | 'end'

/** A child as the log of its parent tells of it. */
export interface ChildrenState {
  /** Of its run. */
  readonly callId: string
  readonly parentCallId: string
  readonly log: string
  readonly agent: string
  readonly inputHash: string
  readonly grant?: Grant
  /** Of what it was given. */
  readonly label: Label
  /** What of the history it was let have, and what a hook put in place of all that it was given. */
  readonly filter?: FilterDescriptor
  readonly with?: readonly Message[]
  status: 'running' | RunStatus
  /** What it has used and was not counted with the run's yet. */
  usage?: UsageReport
  bytes?: RunBytes | undefined
  /** What was said to its waits in the runs above, by token. */
  readonly given: Map<string, EntryOf<'resolved'>>
  /** What was said to it, or to a run below it, by token. */
  letters?: Map<string, ChildMessage>
  joined?: EntryOf<'child', 'joined'>
}

/** Where a call of the present step stands. */
export type CallStage =
  /** Written by the model; nobody has judged it yet, or a human has and the hooks judge again. */
  | 'planned'
  /** Is judged once the other calls of the step have their results: it hands on what they gave. */
  | 'deferred'
  /** May run. */
  | 'ready'
  /** Was denied, or a hook gave its result: settles without running. */
  | 'answered'
  | 'started'
  /** A composite of which all waits for somebody outside. */
  | 'parked'
  /** A composite that was parked, and something it waits for has come. */
  | 'woken'
  /** Parked on a human, a remote party or a decision about an uncertain outcome. */
  | 'waiting'
  /** A result came from outside and is not settled yet. */
  | 'delivered'
  | 'settled'

/** A value from outside for a parked call, or the word that none will come. */
export interface Delivered {
  readonly output: Json
  /** `given-up`: nobody knows whether the call took effect. `expired`: nobody answered in time. */
  readonly fate: 'done' | 'given-up' | 'expired'
  readonly via: 'remote' | 'human'
}

/** A call of the present step. */
export interface CallState {
  readonly part: ToolCallPart
  readonly label: Label
  stage: CallStage
  /** The effective arguments. */
  args: Json
  /** Of the arguments that a human was asked about. */
  argsHash?: string
  /** Who wanted the human to be asked. */
  askedBy?: string
  /** Of the tool's definition that the human was asked about. */
  definitionHash?: string | undefined
  /** How often it was decided: rewritten or approved calls are decided again. */
  decisions: number
  /** How often it was started: more than once only after a crash. */
  starts: number
  startedAt: number
  reason?: string
  approval?: ApprovalDecision
  /** What came from outside instead of running it. */
  delivered?: Delivered
  result?: ToolResultPart
  outcome?: CallOutcome
  /** Of a call that a composite makes. */
  readonly parentCallId?: string
  /** How a call that a composite made has ended. */
  settled?: EntryOf<'call', 'settled'>
  /** What a composite has been answered. */
  bridge?: CompositeState
  /** Of a handoff that comes back: what the target works on. */
  errand?: { readonly entry: EntryOf<'handoff'>; readonly messages: readonly Message[] }
}

/** What a composite call has been answered, in the order of the log. */
export interface CompositeState {
  /** Call ids, memo keys and tokens. */
  readonly answers: string[]
  /** Where each stands in the answers. */
  readonly orders: Map<string, number>
  /** Answers to waits by their tokens; undefined where nobody answered in time. */
  readonly given: Map<string, Json | undefined>
  /** The join of all that was answered. */
  label: Label
}

/** A run as its log tells it. All fields are there from the start: it is asked everywhere, and V8 is slow with what is deleted. */
export interface RunProgress {
  readonly id: string
  readonly manifest: Manifest
  readonly principal?: Principal
  readonly startedAt: number
  status: 'running' | RunStatus
  /** Counts model calls that were answered or tried; 0 before the first. */
  step: number
  /** Failed attempts in the present step. */
  attempts: number
  /** The present step's calls, in the order the model wrote them. */
  readonly calls: Map<string, CallState>
  openCalls: number
  /** The calls that composites of the present step have made, by id, however deep. */
  readonly bridged: Map<string, CallState>
  /** The call that is judged when it is the last one open. */
  deferred: CallState | undefined
  /** What composites of the present step have spawned, by the id of its run. */
  readonly children: Map<string, ChildrenState>
  /** It was spawned by another run: what it was given is not the human's word. */
  readonly isChild: boolean
  /** Calls that went ahead, and answers of models, here and in children that have ended. */
  toolCalls: number
  answers: number
  /** Milliseconds in which nobody was waited for, without those since `since`. */
  activeMs: number
  since: number
  /** Tools of the calls whose results the next answer reads; undefined once it is there. */
  used: readonly string[] | undefined
  /** The last answer, while nothing follows it: the run ends here unless something is queued. */
  answer: Message | undefined
  /** An answer that counts only once a human has approved it. */
  candidate: { readonly message: Message; readonly token: string } | undefined
  lastAttempt: EntryOf<'attempt'> | undefined
  /** The agents that were active in it, in order; more than one where it was handed over. */
  readonly agents: string[]
  /** How often it was handed over. */
  handoffs: number
  /** How often it asked other agents to work on it, and those asked others. */
  returns: number
  /** Requests to mend the output, in this run. */
  repairs: number
  /** Ephemeral messages that hooks added on input; sent behind the history until the run ends. */
  readonly tail: MessageInit[]
  /** Index into `messages` of the first message of this run. */
  readonly firstMessage: number
  /** With those of children that have ended. */
  bytes: RunBytes
  usage: Usage
  readonly byModel: Map<string, ModelUsage>
  output: Json | undefined
  error: ErrorInfo | undefined
}

/** Everything a log says, kept up to date entry by entry. Each entry costs the same, however long the log is. */
export interface SessionState {
  readonly entries: Entry[]
  /** System messages of the session, by the agent they are for. */
  readonly preludes: Map<string, Message[]>
  /** What was said. */
  readonly messages: Message[]
  /** Ids of those among them that nobody was shown: held back and sent back for repair, and the results of their calls. */
  readonly unsaid: Set<string>
  /** What is sent: the same until a view entry cuts it. */
  readonly view: Message[]
  /** Counts the cuts: while it stands still, the view only grows. */
  viewVersion: number
  viewLabel: Label
  /** What the human wrote. */
  readonly intent: Message[]
  readonly waits: Map<string, EntryOf<'wait'>>
  /** Tokens of waits that are over, and the calls they were about as `kind callId`. */
  readonly resolved: Set<string>
  /** Who approved what for the whole session, by what the approval holds for. */
  readonly standing: Map<string, string>
  readonly memos: Map<string, Json>
  /** Which model wrote a message, as `provider/model`. */
  readonly writers: WeakMap<Message, string>
  /** The active agent. */
  agent: string
  /** Agents that the session was handed over to since the one that began it, each once. */
  readonly lineage: string[]
  /** What was wanted of the targets' extensions when they took over, by agent. */
  readonly wanted: Map<string, readonly string[]>
  run: RunProgress | undefined
  /** The tool message that the last entry completed. */
  completed: Message | undefined
}
