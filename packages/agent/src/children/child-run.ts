import type { Grant, Input, Json, LentSecrets, MaybePromise, RunResult, WaitAbout } from '@provost/core'
import { fromErrorInfo, isPromise, joinLabels, toErrorInfo } from '@provost/core'
import type { SecretScope } from '@provost/tools'

import { isStoreAway } from '../control/failure-source.ts'
import { report } from '../control/report.ts'
import { joinedEntry } from '../entries/child-entries.ts'
import { handoffsOfRun } from '../handoff/handoff-entry.ts'
import { around } from '../hooks/around.ts'
import { openInbox } from '../inbox/inbox.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import type { Operation, Operations } from '../operations/operations.ts'
import { clock } from '../reducers/wait-reducer.ts'
import { brokenResult, runResult } from '../result/run-result.ts'
import { cursorOf, localState } from '../result/run-state-data.ts'
import { unknownRun } from '../result/session-error.ts'
import { callOf } from '../state/session-state.ts'
import { canBeAsked } from '../tools/elicitation.ts'
import { budgetExceeded } from '../tree/budget-extension.ts'
import { available, minGrant, usageOfBudget } from '../tree/budget.ts'
import { grantTimer } from '../tree/grant-timer.ts'
import { noSpending } from '../tree/reservations.ts'
import type { Inbox } from '../types/inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ActiveChild, ParentRun } from '../types/run-tree.ts'
import type { ChildState, SessionState } from '../types/session-state.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import { closeChild } from './close-children.ts'
import { appendAborting } from './part-session.ts'
import type { WaitMirror } from './wait-mirror.ts'
import { createWaitMirror } from './wait-mirror.ts'

/** What spawning needs from its composite. */
export interface SpawnHost {
  readonly operations: Operations
  /** Awaits work of the runtime. A failure ends the run. */
  failRunOnError<T>(work: Promise<T>): Promise<T>
  /** Throws if the composite has ended. */
  throwIfOver(): void
  /** Aborted when the composite ends. */
  readonly signal: AbortSignal
  /** Whether the composite was suspended at its position in the log. */
  isDetached(): boolean
  /** Whether the id belongs to a call. */
  hasCall(id: string): boolean
  /** Runs `fn` once for each id. */
  memo<T>(id: string, fn: () => Promise<T>): Promise<T>
  /** Waits for a decision from outside the run. */
  wait(id: string, about: WaitAbout): Promise<Json>
}

/** Takes a slot for a running child. Returns the function that releases it. */
export type Place = () => MaybePromise<() => void>

/** A child with everything needed to run it. */
export interface SpawnedChild {
  readonly ctx: RunContext
  readonly child: ChildState
  readonly agent: ResolvedAgent
  readonly input: Input
  readonly secrets: SecretScope
  readonly operation: Operation
  readonly host: SpawnHost
  readonly place: Place
  /** Aborts this child alone. */
  readonly signal?: AbortSignal | undefined
  /** Called with `true` when the child starts to wait, and with `false` when it resumes. */
  readonly onParkedChange?: ((now: boolean) => void) | undefined
  /** Run options from the caller that started it. */
  readonly options?: UntypedRunOptions | undefined
  /** Returns the rest of a grant that it shares with other children. */
  readonly within?: (() => Grant) | undefined
  /** The secrets that it receives, by name. */
  readonly lent: LentSecrets
}

interface RunningChild extends SpawnedChild {
  readonly snapshot: LogSnapshot
  readonly inbox: Inbox
  readonly mirror: WaitMirror
}

/**
 * Runs a child from the end of its log to its result.
 *
 * @param fresh whether the child is new and has no log.
 */
export async function runChildToEnd(spawned: SpawnedChild, fresh: boolean): Promise<RunResult<unknown>> {
  const { ctx, child, agent, operation, host, signal } = spawned
  const { state } = ctx
  const snapshot = logSnapshot(ctx.sessionId, state.clock)
  if (!fresh) applyEntries(snapshot, await readLog(agent.store, child.log))
  const inbox = openInbox({
    store: agent.store,
    log: child.log,
    scrubber: spawned.secrets.scrubber,
    by: ctx.options.principal?.id ?? 'run',
    isShared: ctx.inbox.isShared,
    isTaken: (token) => snapshot.state.resolvedWaits.has(token),
  })
  const carried: RunningChild = { ...spawned, snapshot, inbox, mirror: createWaitMirror(ctx, child, snapshot) }
  const { callId: runId, parentCallId: parent } = child
  const op = { kind: 'child', id: runId, parent, runId, agent: agent.name } as const
  ctx.tree.childLogs.set(child.log, snapshot.state)
  ctx.tree.inboxes.set(runId, inbox)
  const look = (): void => operation.recheck?.()
  signal?.addEventListener('abort', look)
  try {
    for (;;) {
      const result = isOver(snapshot.state)
        ? await childResult(ctx, child, agent, snapshot.state)
        : await inSlot(carried, () => around(ctx, op, () => runChildOnce(carried)))
      // Its log has no end, so it goes on when the run above does.
      if (result.status === 'failed' && !isOver(snapshot.state) && isStoreAway(result.error)) throw result.error
      if (result.status !== 'suspended') await endChildLog(carried, result)
      await join(carried, result)
      ctx.children.delete(runId)
      if (result.status !== 'suspended') {
        await reportUndelivered(ctx, child, inbox)
        return result
      }
      const waits = [...snapshot.state.waits.keys()]
      spawned.onParkedChange?.(true)
      try {
        await host.operations.waitUntil(
          operation,
          () => waits.length === 0 || waits.some((token) => !state.waits.has(token)) || signal?.aborted === true,
        )
      } catch (thrown) {
        // The composite is over, so the child cannot resume: its log is ended, too.
        if (!host.isDetached()) await join(carried, await runChildOnce(carried)).catch(() => {})
        throw thrown
      } finally {
        spawned.onParkedChange?.(false)
      }
    }
  } finally {
    signal?.removeEventListener('abort', look)
    ctx.children.delete(runId)
    ctx.tree.inboxes.delete(runId)
    if (!host.isDetached()) ctx.tree.childLogs.delete(child.log)
  }
}

/** Ends the log of a child that ended without it, as its result states. No run would ever close it. */
async function endChildLog(
  { ctx, child, agent, snapshot }: RunningChild,
  { error }: Pick<RunResult<unknown>, 'error'>,
): Promise<void> {
  if (!snapshot.state.run || isOver(snapshot.state)) return
  try {
    await ctx.logWriter.confirm()
    await closeChild(ctx, child, error && toErrorInfo(error))
    applyEntries(snapshot, await readLog(agent.store, child.log, snapshot.state.offset))
  } catch {
    // The store fails, or another process owns the log. The result of the child still counts here.
  }
}

/** Records the result of a child in the log of its parent. */
export async function join(
  { ctx, child, snapshot, mirror }: Pick<RunningChild, 'ctx' | 'child' | 'snapshot' | 'mirror'>,
  result: Pick<RunResult<unknown>, 'status' | 'usage' | 'error'>,
): Promise<void> {
  // The log of the parent has the waits of a child before the child counts as waiting.
  await mirror.settle()
  const { status, usage, error } = result
  const { toolCalls, steps } = usageOfBudget(snapshot.state.run)
  const label = joinLabels(child.label, snapshot.state.viewLabel)
  const handoffs = snapshot.state.run ? handoffsOfRun(snapshot.state.run) : 0
  const came = {
    status,
    usage,
    toolCalls,
    steps,
    label,
    ...(snapshot.state.run && { bytes: snapshot.state.run.bytes }),
    ...(handoffs > 0 && { handoffs }),
    ...(error && { error: toErrorInfo(error) }),
  }
  const entry = joinedEntry(ctx.state, child, snapshot.state.offset, came)
  await appendAborting(ctx, [entry], ctx.logWriter.append)
  if (status !== 'suspended') ctx.tree.meter.joined(child.callId)
}

/** Returns the result of a child from its log. */
export async function childResult(
  ctx: RunContext,
  child: ChildState,
  agent: ResolvedAgent,
  state: SessionState,
): Promise<RunResult<unknown>> {
  const ids = { sessionId: ctx.sessionId, runId: child.callId }
  const status = state.run?.status
  if (status !== undefined && status !== 'running') return runResult<unknown>(agent, state, ids)
  const error = child.completion?.error
  return brokenResult<unknown>(agent, state, ids, error ? fromErrorInfo(error) : undefined)
}

/** Whether the run of a child has ended. */
export function isOver({ run }: SessionState): boolean {
  return run !== undefined && run.status !== 'running' && run.status !== 'suspended'
}

/** Runs a child in a slot. A child that waits holds no slot. */
async function inSlot<T>({ host, place }: RunningChild, run: () => Promise<T>): Promise<T> {
  const entering = place()
  const leave = isPromise(entering) ? await entering : entering
  try {
    host.throwIfOver()
    return await run()
  } finally {
    leave()
  }
}

async function runChildOnce({
  ctx,
  child,
  agent,
  input,
  secrets,
  operation,
  host,
  snapshot,
  inbox,
  mirror,
  signal,
  options: wanted = {},
  within,
}: RunningChild): Promise<RunResult<unknown>> {
  const { run } = snapshot.state
  const parentRun = lineageOf({ ctx, child, secrets, snapshot, inbox, mirror, within })
  const start = run
    ? {
        resume: localState(run.manifest, cursorOf(snapshot.state, ctx.sessionId, child.callId)),
        fromOwnLog: true as const,
      }
    : { input }
  const { options } = ctx
  const { session: _, sessionId: __, signal: ___, ...own } = wanted
  const { children, reservations } = ctx.tree
  const live: ActiveChild = {
    ...(child.grant && { grant: child.grant }),
    isRunning: true,
    spent() {
      const spent = usageOfBudget(snapshot.state.run, children.get(child.callId))
      const { tokens, cost, toolCalls, steps } = reservations.get(child.callId)?.total() ?? noSpending
      return {
        tokens: spent.tokens + tokens,
        cost: spent.cost === undefined ? undefined : spent.cost + cost,
        toolCalls: spent.toolCalls + toolCalls,
        steps: spent.steps + steps,
      }
    },
  }
  const feed = (): void => forwardDecisions(child, snapshot.state, inbox)
  feed()
  ctx.children.set(child.callId, live)
  operation.recheck = feed
  const handle = ctx.startRun<unknown>(
    agent,
    start,
    {
      ...(options.principal && { principal: options.principal }),
      ...(options.onInput && { onInput: options.onInput }),
      context: options.context,
      ...own,
    },
    false,
    undefined,
    parentRun,
  )
  const abort = (): void => {
    // Half the grace of the parent, so that the child ends before its parent stops waiting.
    void handle.abort({ graceMs: Math.floor(ctx.control.graceMs / 2), onPendingApprovals: ctx.control.pendingPolicy })
  }
  const ends = signal ? [host.signal, signal] : [host.signal]
  if (ends.some(({ aborted }) => aborted)) abort()
  else for (const end of ends) end.addEventListener('abort', abort, { once: true })
  const timer = grantTimer(child.grant, snapshot.state, (ms) =>
    handle.fail({ code: budgetExceeded, message: `The grant of ${ms} ms is used up.` }),
  )
  try {
    return await handle.result
  } finally {
    timer?.cancel()
    for (const end of ends) end.removeEventListener('abort', abort)
    operation.recheck = undefined
    // Its spending counts here until the log records it.
    live.isRunning = false
  }
}

/** Passes decisions that the runs above received on the child's waits on to the child. */
function forwardDecisions({ waitAnswers }: ChildState, state: SessionState, inbox: Inbox): void {
  for (const [token, { value, by, at }] of waitAnswers) {
    if (state.resolvedWaits.has(token) || inbox.answers.has(token)) continue
    // An expired wait is detected by the child itself.
    if (by === clock) continue
    inbox.answer({ id: token, token, value, by, at })
  }
}

/** Reports the inputs that a child did not take before it ended, unless their sender has withdrawn them. */
async function reportUndelivered(ctx: RunContext, { callId }: ChildState, inbox: Inbox): Promise<void> {
  await inbox.arriving()
  for (const { signal } of [...inbox.unread('steer'), ...inbox.unread('queue')])
    if (!signal?.aborted) report(ctx, unknownRun(ctx.sessionId, callId), { kind: 'listener', name: 'inbox' })
}

function lineageOf({
  ctx,
  child,
  secrets,
  snapshot,
  inbox,
  mirror,
  within,
}: Pick<RunningChild, 'ctx' | 'child' | 'secrets' | 'snapshot' | 'inbox' | 'mirror' | 'within'>): ParentRun {
  const { parentRun, logWriter, state } = ctx
  const { run } = state
  const asked = run && callOf(run, child.parentCallId)?.returnHandoff && run
  return {
    runId: child.callId,
    log: child.log,
    sessionId: ctx.sessionId,
    rootId: parentRun?.rootId ?? ctx.id,
    parents: Object.freeze([ctx.id, ...(parentRun?.parents ?? [])]),
    parentLog: ctx.log,
    ...(child.grant && { grant: child.grant }),
    label: child.label,
    secrets,
    userMessages: () => [...(parentRun?.userMessages() ?? []), ...state.userMessages],
    // A child with a grant has its budget reserved; the others share what is not reserved.
    remaining() {
      const left = ctx.remaining()
      const above = child.grant ? left : available(left, ctx.children, state.run, child.callId)
      return minGrant(above, within?.())
    },
    handoffs: () => (asked ? (parentRun?.handoffs() ?? 0) + handoffsOfRun(asked) : 0),
    within: {
      events: ctx.eventBus,
      snapshot,
      inbox,
      canAsk: canBeAsked(ctx),
      tree: ctx.tree,
      confirm: () => logWriter.confirm(),
      steady: () => logWriter.steady(),
      committed: mirror.committed,
    },
  }
}
