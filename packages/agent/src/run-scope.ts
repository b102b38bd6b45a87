import type {
  ErrorInfo,
  ErrorSource,
  Extension,
  Grant,
  MaybePromise,
  Message,
  NewEntry,
  OnApproval,
  ViewTrigger,
} from '@provost/core'
import { isPromise, ProvostError, toErrorInfo } from '@provost/core'
import type { SecretScope, Slots } from '@provost/tools'

import type { AgentPlan } from './agent-plan.ts'
import type { Given } from './agent.ts'
import type { EventHub, Reaction } from './event-hub.ts'
import type { ContextFor } from './hook-context.ts'
import type { Hooked } from './hook-table.ts'
import type { HookTime } from './hook-time.ts'
import type { Inbox } from './inbox.ts'
import type { Journal } from './journal.ts'
import type { Lineage, LiveChild, RunTree } from './lineage.ts'
import type { LiveCalls } from './live-calls.ts'
import type { LogState } from './log-state.ts'
import type { Mailbox } from './mailbox.ts'
import type { StepRequest } from './orchestrator/orchestrator.ts'
import type { Reservations } from './reservations.ts'
import type { RunPrompt } from './run-prompt.ts'
import type { startRun } from './run.ts'
import type { ViewSize } from './view-size.ts'
import type { Watchers } from './watchers.ts'

/** One run in this process: what the answers to the loop's asks share. Whatever outlives a crash is in `state`. */
export interface RunScope {
  /** Of the active agent: another one once the run was handed over. */
  readonly plan: AgentPlan
  /** The agent that runs of the session begin with. */
  readonly entry: AgentPlan
  /** Who watches the run while its present agent is active. */
  readonly watchers: Watchers
  readonly id: string
  readonly sessionId: string
  readonly given: Given
  readonly journal: Journal
  readonly state: LogState
  /** Of the run, and of the log that it is in: for a child, not the session's. */
  readonly hub: EventHub
  readonly log: string
  /** What a child has of the run that spawned it. */
  readonly lineage: Lineage | undefined
  /** Children that are alive here, by their run ids. */
  readonly children: Map<string, LiveChild>
  readonly tree: RunTree
  /** Starts a run. */
  readonly startRun: typeof startRun
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
  prepared: AgentPlan | undefined
  /** Lets the `event` hooks of the active agent hear the run, and no others. */
  hear(): void
  /** Steers, follow-ups and early decisions of this process. */
  readonly mailbox: Mailbox
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
  readonly live: LiveCalls
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
  readonly size: ViewSize
}

/** Thrown inside a run to end it: the status and what `result.error` says. */
export class RunEnding extends Error {
  readonly status: 'failed' | 'aborted'
  readonly info: ErrorInfo | undefined
  readonly thrown: unknown

  constructor(status: 'failed' | 'aborted', info?: ErrorInfo, thrown?: unknown) {
    super(info?.message ?? 'aborted')
    this.status = status
    this.info = info
    this.thrown = thrown
  }
}

/** Emits what went wrong without ending anything. */
export function report(scope: RunScope, thrown: unknown, source: ErrorSource, by?: Reaction): void {
  scope.journal.emit('agent.error', { error: toErrorInfo(thrown), source }, scope.step, by)
}

/**
 * A hook that may answer and threw instead: nothing is let through, the run fails.
 *
 * @returns the ending to throw.
 */
export function hookFailed(scope: RunScope, extension: string, hook: string, thrown: unknown): RunEnding {
  if (thrown instanceof RunEnding) return thrown
  // A hook that heeds its signal has not failed.
  if (scope.signal.aborted) return new RunEnding('aborted')
  report(scope, thrown, { kind: 'hook', name: extension })
  const error = new ProvostError(
    'hook-failed',
    `The ${hook} hook of ${extension} threw: ${toErrorInfo(thrown).message}`,
    {
      hint: 'Mend the extension; its hooks fail closed.',
      cause: thrown,
    },
  )
  return new RunEnding('failed', error.toJSON(), error)
}

/** The ending that a hook's `stop` asks for. */
export function stopped(answer: { readonly stop: { readonly code: string; readonly message: string } }): RunEnding {
  return new RunEnding('failed', { code: answer.stop.code, message: answer.stop.message })
}

/** Ends the run here if it was aborted. */
export function heedAbort(scope: RunScope): void {
  if (scope.signal.aborted) throw new RunEnding('aborted')
}

/**
 * Runs `next` inside the `around` hooks, the first extension outermost. Without hooks it costs a comparison.
 *
 * @param by who set it off, and is not called.
 */
export function around<T>(
  scope: RunScope,
  op: Parameters<AroundHook>[0],
  next: () => Promise<T>,
  by?: Extension,
): Promise<T> {
  const hooks = scope.watchers.around[op.kind]
  const [only] = hooks
  if (!only) return next()
  if (hooks.length === 1) return only.extension === by ? next() : callAround(scope, only, op, next)
  return hooks.reduceRight<() => Promise<T>>(
    (inner, hooked) => (hooked.extension === by ? inner : () => callAround(scope, hooked, op, inner)),
    next,
  )()
}
type AroundHook = Hooked<'around'>['hook']

/** A hook around an operation may fail, but not change what came out, nor leave it undone. */
async function callAround<T>(
  scope: RunScope,
  { extension, hook }: Hooked<'around'>,
  op: Parameters<AroundHook>[0],
  inner: () => Promise<T>,
): Promise<T> {
  let ran: Promise<T> | undefined
  const once = (): Promise<T> => (ran ??= inner())
  try {
    await hook(op, once, scope.contextFor(extension))
  } catch (thrown) {
    // The operation's own error is not the hook's.
    if (!ran) report(scope, thrown, { kind: 'hook', name: extension.name })
    else
      await ran.then(
        () => report(scope, thrown, { kind: 'hook', name: extension.name }),
        () => {},
      )
  }
  // Awaited here: to return a promise takes two turns of the queue more.
  return await once()
}

/** Calls observers, who may not disturb the run: what they throw is reported. */
export function observe(scope: RunScope, extension: Extension, by: Reaction, call: () => unknown): void {
  const failed = (thrown: unknown): void => report(scope, thrown, { kind: 'hook', name: extension.name }, by)
  try {
    const answer = call()
    if (isPromise(answer)) answer.then(undefined, failed)
  } catch (thrown) {
    failed(thrown)
  }
}
