import type {
  ErrorInfo,
  Extension,
  Grant,
  Manifest,
  MaybePromise,
  Message,
  NewEntry,
  OnApproval,
  OnBatch,
  RunResult,
  RunState,
  Spawnable,
  ViewTrigger,
} from '@provost/core'
import type { Prompt } from '@provost/provider'
import type { CompositeBinding, SecretScope, Slots } from '@provost/tools'

import type { ContextFor, HookTime, Observers } from './hooks.ts'
import type { Inbox, PendingInputs, QueuedInput } from './inputs.ts'
import type { EventBus, LogSnapshot, LogWriter } from './log.ts'
import type { StepRequest } from './orchestrator.ts'
import type { ResolvedAgent } from './resolved-agent.ts'
import type { ActiveChild, ParentRun, Reservations, RunTree } from './run-tree.ts'
import type { CallState, SessionState } from './session-state.ts'
import type { UntypedRunOptions } from './session.ts'
import type { AbortOptions, AgentStream } from './stream.ts'

/** Estimates the tokens of a request; each message is counted once, until the view is cut. */
export interface ContextSize {
  messages(ctx: RunContext): number
  /** Tokens that are sent in addition to the messages of the view. */
  overhead(ctx: RunContext): number
}

/** The abort of a run. Each property changes only with an abort. */
export interface AbortControl {
  readonly signal: AbortSignal
  /** Whether the signal is aborted: a step asks often, and a signal answers slowly. */
  isAborted: boolean
  /** Whether an abort without `drain` was requested: from another process it begins once the log has it. */
  isRequested: boolean
  /** Milliseconds that tools have to stop by themselves after an abort. */
  graceMs: number
  /** What happens to calls that wait for a human when the run is aborted. */
  pendingPolicy: NonNullable<AbortOptions['onPendingApprovals']>
  /** The failure that ends the run, if there is one. */
  failure: ErrorInfo | undefined
  /** Rejects with a `RunEnding` when the grace of a hard abort is over. */
  readonly overdue: Promise<never>
  abort(options?: AbortOptions): void
  /** The run is over: its timer does not keep the process alive. */
  release(): void
}

/** A run starts with an input, or resumes from a state. */
export type RunStart<Output> =
  /** The input has a token if it comes from the inbox. */
  | QueuedInput
  | {
      readonly resume: RunState<Output>
      /** Created here from the log itself: there is nothing to check. */ readonly fromOwnLog?: true
    }

/** Starts a run with the first unread input of its inbox. */
export interface InboxStart {
  readonly fromInbox: true
}

/** A run of this process, for its agent. */
export interface RunHandle<Output> extends AgentStream<Output> {
  /** Resolves when the run has ended, with any status. */
  readonly ended: Promise<void>
  /** Aborts the run with the status `failed`. */
  fail(error: ErrorInfo): void
}

/** The agents that any process with this store can run. */
export interface Peers {
  readonly agents: ReadonlyMap<string, Spawnable>
  /** Whether functions of this process decide on calls of the whole tree. */
  isJudged(): boolean
}

/** State that a session object shares with its runs, so that each entry is read once. */
export interface SessionBinding<Output> {
  readonly snapshot: LogSnapshot
  readonly inbox: Inbox
  readonly pendingInputs: PendingInputs
  readonly tree: RunTree
  /** Entries to write before the run; the run removes them. */
  readonly pendingEdits: NewEntry[]
  readonly peers?: Peers | undefined
  /** Resolves when the session's own writes are done: they need the same lease. */
  ready(): Promise<void> | undefined
  /** Whether the session has a listener. */
  hasListener(): boolean
  /** Receives the result before any other listener. */
  settle(result: RunResult<Output>): void
}

/** A composite call that runs in this process. */
export interface CompositeCall {
  readonly call: CallState
  /** Aborts the call and everything that it starts. */
  readonly signal: AbortSignal
  /** All its operations in this process wait for outside input. The log records it once the batch is over. */
  readonly parked: boolean
  /** Detached: the process that resumes the run starts it again. It writes nothing more. */
  readonly detached: boolean
  /** A runtime failure, not a failure of the tool: it ends the run. */
  readonly fault: { readonly error: unknown } | undefined
  /** Settled when its result is in the log; rejects with its fault. */
  ended: Promise<void>
  createBinding(signal: AbortSignal): CompositeBinding
  /** Resolves when it is parked or has ended. */
  settledOrParked(): Promise<void>
  /** Notifies waiting operations that the log has changed. */
  recheck(): void
  /**
   * Closes the call after its code has ended: no operation starts; those in progress are aborted and get a grace
   * period.
   */
  close(): Promise<void>
  /** Detaches the call in the state that the log records. */
  detach(): void
}

/** The composite calls of the model that run in this process. */
export interface ActiveCalls {
  readonly calls: Map<string, CompositeCall>
  /** Resolves while the loop executes: at other times no operation starts. */
  opened: Promise<void>
  isOpen: boolean
  allowStarts(): void
  blockStarts(): void
}

/** A prompt, and how much of the view it contains. */
export interface RunPrompt {
  readonly prompt: Prompt
  messageCount: number
  viewVersion: number
}

/** One run in this process: the state that all handlers share. State that survives a crash is in `state`. */
export interface RunContext {
  /** The active agent; a handoff changes it, its observers and its secrets. */
  agent: ResolvedAgent
  /** Makes the agent active that the log names. */
  updateAgent(): void
  /** The agent that runs of the session start with. */
  readonly entryAgent: ResolvedAgent
  /** Observers of the run while its current agent is active. */
  observers(): Observers
  readonly id: string
  readonly sessionId: string
  readonly options: UntypedRunOptions
  readonly logWriter: LogWriter
  readonly state: SessionState
  /** Event bus of the run, and the name of its log: a child has its own. */
  readonly eventBus: EventBus
  readonly log: string
  /** For a child: the run that spawned it. */
  readonly parentRun: ParentRun | undefined
  /** Present in a session whose children may run on any worker. */
  readonly peers: Peers | undefined
  /** Active children in this process, by run id. */
  readonly children: Map<string, ActiveChild>
  readonly tree: RunTree
  /** Starts a run. */
  readonly startRun: StartRun
  /** What remains of the grants of this run and of those above. */
  remaining(): Grant | undefined
  /** The abort of the run; its signal is also `signal`. */
  readonly control: AbortControl
  readonly signal: AbortSignal
  /** Secrets that its tools may receive, and that are hidden everywhere else. */
  secrets: SecretScope
  /** One prompt per model, by its name: the reasoning of a model is not for other models. */
  readonly prompts: Map<string, RunPrompt>
  /** The agent's own system prompt for this run. */
  instructions: string
  /** What `run.start` hooks add to it. */
  systemTexts: readonly string[]
  /** The agent that is prepared to run here. */
  preparedAgent: ResolvedAgent | undefined
  /** Subscribes the `event` hooks of the active agent to the run, and no others. */
  subscribeHooks(): void
  /** Early decisions of this process. */
  readonly pendingInputs: PendingInputs
  /** All that is sent to the run's log. */
  readonly inbox: Inbox
  /** Open questions to handlers in this process, by token or batch: each is asked once. */
  readonly openQuestions: Map<string, MaybePromise<Awaited<ReturnType<OnApproval | OnBatch>>>>
  /** Names of the tools that hooks left in the step's request; undefined if no hook removed any. */
  offeredTools: ReadonlySet<string> | undefined
  /** Names of the deferred tools in the step's request; undefined until this process has made one. */
  promotedTools: ReadonlySet<string> | undefined
  /** Inputs that were parsed during authorization, by call id. */
  readonly parsedInputs: Map<string, unknown>
  /** Composite calls that run in this process. */
  readonly activeCalls: ActiveCalls
  /** Slots for concurrent calls, of the model and of composites. */
  readonly slots: Slots
  /** The current step and its attempt. */
  step: number
  attempt: number
  /** The caller holds the stream of the run. */
  observed: boolean
  /** Number of questions of tools. */
  questionCount: number
  /** Number of audit rows of this process. */
  auditCount: number
  /** Number of model calls that hooks made. */
  hookModelCalls: number
  /** Number of requests that these model calls were made for. */
  hookRequests: number
  viewTrigger: ViewTrigger
  /** The orchestrator's changes of the current step. */
  stepRequest: StepRequest
  /**
   * Entries that this driver has still to write so that the log records the run as its own; empty once they are
   * written. Undefined if another driver owns the run: this one may not close it.
   */
  ownershipEntries: readonly NewEntry[] | undefined
  /** The manifest of changed code that resumes the run. */
  changed: Manifest | undefined
  /** Offset of the log when this driver started to resume the run. Once the log is longer, the run is its own. */
  resumeOffset: number | undefined
  /** The paid attempt whose answer is being validated: it counts even if the answer is rejected. */
  pendingAttempt: (() => NewEntry) | undefined
  /** The message of the model, as far as it is streamed. */
  partialMessage: Message | undefined
  readonly contextFor: ContextFor
  /** Amounts that its calls in progress may spend. */
  readonly reservations: Reservations
  /** Running time of the hooks that it waits for, by extension. */
  readonly hookTimes: Map<Extension, HookTime>
  /** Estimates the tokens of its requests. */
  readonly contextSize: ContextSize
}

/** Starts a run of an agent in this process: for a session object, as a child, or standalone. */
export type StartRun = <Output>(
  agent: ResolvedAgent,
  start: RunStart<Output> | InboxStart,
  options: UntypedRunOptions,
  watched: boolean,
  host?: SessionBinding<Output>,
  parentRun?: ParentRun,
) => RunHandle<Output>
