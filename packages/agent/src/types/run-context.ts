import type {
  ErrorInfo,
  Extension,
  Grant,
  Input,
  MaybePromise,
  Message,
  NewEntry,
  OnApproval,
  RunResult,
  RunState,
  ViewTrigger,
} from '@provost/core'
import type { Prompt } from '@provost/provider'
import type { Bridge, SecretScope, Slots } from '@provost/tools'

import type { ContextFor, HookTime, Observers } from './hooks.ts'
import type { Inbox, InboxCursor, PendingInputs } from './inputs.ts'
import type { EventBus, LogSnapshot, LogWriter } from './log.ts'
import type { StepRequest } from './orchestrator.ts'
import type { ResolvedAgent } from './resolved-agent.ts'
import type { ActiveChild, ParentRun, Reservations, RunTree } from './run-tree.ts'
import type { CallState, SessionState } from './session-state.ts'
import type { Given } from './session.ts'
import type { AgentStream } from './stream.ts'

/** How many tokens a request is about: each message is counted once, until the view is cut. */
export interface ContextSize {
  messages(scope: RunContext): number
  /** Of what is sent beside the messages of the view. */
  beside(scope: RunContext): number
}

/** A run begins with an input, or goes on from a state. */
export type RunStart<Output> =
  | { readonly input: Input; /** Of the inbox, if it came from there. */ readonly token?: string }
  | {
      readonly resume: RunState<Output>
      /** Made here, from the log itself: there is nothing to check. */ readonly own?: true
    }

/** A run of this process, for its agent. */
export interface RunHandle<Output> extends AgentStream<Output> {
  /** Resolves when the run has ended, in whatever way. */
  readonly ended: Promise<void>
  /** Aborts the run, which then has failed. */
  fail(error: ErrorInfo): void
}

/** What a session object lends its runs, so that none of them reads again what another has read. */
export interface SessionBinding<Output> {
  readonly known: LogSnapshot
  readonly cursor: InboxCursor
  readonly mailbox: PendingInputs
  readonly tree: RunTree
  /** Entries to write before the run, which takes them out. */
  readonly edits: NewEntry[]
  /** Resolves when the session's own writing is done: it needs the same lease. */
  ready(): Promise<void> | undefined
  /** Whether anybody listens to the session. */
  isHeard(): boolean
  /** The run is over, before anybody else hears of it. */
  settle(result: RunResult<Output>): void
}

/** A composite call that this process has entered. */
export interface CompositeCall {
  readonly call: CallState
  /** Of the call and of all that it makes. */
  readonly signal: AbortSignal
  /** All that it has under way waits for somebody outside. */
  readonly parked: boolean
  /** It was left, to be entered again by whoever resumes the run: nothing of it is written any more. */
  readonly left: boolean
  /** What went wrong with the run, not with the tool: the run has to end. */
  readonly fault: { readonly error: unknown } | undefined
  /** Settled when its result stands in the log; rejects with its fault. */
  ended: Promise<void>
  bridge(signal: AbortSignal): Bridge
  /** Resolves when it has parked or ended. */
  rest(): Promise<void>
  /** The log has changed: what waits may go on. */
  look(): void
  /** Its code has ended: nothing more is begun, and what is under way is aborted and has its grace. */
  close(): Promise<void>
  /** Leaves it where the log says it stands. */
  leave(): void
}

/** The composite calls of the model that a run has entered in this process. */
export interface ActiveCalls {
  readonly calls: Map<string, CompositeCall>
  /** Resolves while the loop executes: at other times nothing is begun. */
  open: Promise<void>
  isOpen: boolean
  begin(): void
  end(): void
}

/** A prompt, and how much of the view is in it. */
export interface RunPrompt {
  readonly prompt: Prompt
  count: number
  version: number
}

/** One run in this process: what the answers to the loop's asks share. Whatever outlives a crash is in `state`. */
export interface RunContext {
  /** Of the active agent: another one once the run was handed over. */
  readonly plan: ResolvedAgent
  /** The agent that runs of the session begin with. */
  readonly entry: ResolvedAgent
  /** Who watches the run while its present agent is active. */
  readonly watchers: Observers
  readonly id: string
  readonly sessionId: string
  readonly given: Given
  readonly journal: LogWriter
  readonly state: SessionState
  /** Of the run, and of the log that it is in: for a child, not the session's. */
  readonly hub: EventBus
  readonly log: string
  /** What a child has of the run that spawned it. */
  readonly lineage: ParentRun | undefined
  /** Children that are alive here, by their run ids. */
  readonly children: Map<string, ActiveChild>
  readonly tree: RunTree
  /** Starts a run. */
  readonly startRun: StartRun
  /** What is left of the grants of this run and of those above. */
  remaining(): Grant | undefined
  readonly signal: AbortSignal
  /** What secrets its tools may be given, and what is hidden of them everywhere else. */
  readonly secrets: SecretScope
  /** One for each model that was asked, by its name: what one of them thought is not for others to read. */
  readonly prompts: Map<string, RunPrompt>
  /** The agent's own system prompt, as made for this run. */
  instructions: string
  /** The agent that is ready to go on here. */
  prepared: ResolvedAgent | undefined
  /** Lets the `event` hooks of the active agent hear the run, and no others. */
  hear(): void
  /** Steers, follow-ups and early decisions of this process. */
  readonly mailbox: PendingInputs
  /** Brings in what others delivered; absent where nobody can. */
  inbox: Inbox | undefined
  /** Questions that are open with whoever can be asked in process, by token: nobody is asked twice. */
  readonly asked: Map<string, MaybePromise<Awaited<ReturnType<OnApproval>>>>
  /** Names of the tools that a hook left in the step's request; undefined where none took any away. */
  offered: ReadonlySet<string> | undefined
  /** Names of the deferred tools in the step's request; undefined until this process has made one. */
  promoted: ReadonlySet<string> | undefined
  /** Inputs that were parsed when they were judged, by call id. */
  readonly parsed: Map<string, unknown>
  /** Composite calls that this process has entered. */
  readonly live: ActiveCalls
  /** Room for calls, the model's and those of composites. */
  readonly slots: Slots
  /** Milliseconds that tools have to stop by themselves after an abort. */
  readonly graceMs: number
  /** What becomes of calls that wait for a human when the run is aborted. */
  pendingPolicy(): 'deny' | 'hold' | 'fail'
  /** The step under way, and its attempt. */
  step: number
  attempt: number
  /** Somebody holds the stream of the run. */
  watched: boolean
  /** Counts the questions of tools. */
  questions: number
  /** Counts the audit rows of this process. */
  audits: number
  /** Counts the model calls that hooks made. */
  generated: number
  /** And the requests that they were made for. */
  asking: number
  trigger: ViewTrigger
  /** What an orchestrator wants otherwise in the step under way. */
  request: StepRequest
  /**
   * What this driver has still to write so that the run stands in the log as its own; empty once it does. Undefined
   * where the run is not its own: nothing of it may be closed.
   */
  claim: readonly NewEntry[] | undefined
  /** Where the log stood when this driver set out to resume the run: once it is further, the run is its own. */
  resumedFrom: number | undefined
  /** The attempt that was paid for while its answer is judged: it counts even if the answer does not. */
  spent: (() => NewEntry) | undefined
  /** What the model has said of a message that is not finished. */
  partial: Message | undefined
  readonly contextFor: ContextFor
  /** What its calls under way may come to spend. */
  readonly reservations: Reservations
  /** How long hooks have taken whose answers it waits for, by extension. */
  readonly hookTimes: Map<Extension, HookTime>
  /** How many tokens its requests are about. */
  readonly size: ContextSize
}

/** Starts a run of an agent in this process: of a session object, of a child, or on its own. */
export type StartRun = <Output>(
  plan: ResolvedAgent,
  start: RunStart<Output>,
  given: Given,
  watched: boolean,
  host?: SessionBinding<Output>,
  lineage?: ParentRun,
) => RunHandle<Output>
