import type { Grant, Input, Json, MaybePromise, RunResult, WaitAbout } from '@provost/core'
import { fromErrorInfo, isPromise, joinLabels, toErrorInfo } from '@provost/core'
import type { SecretScope } from '@provost/tools'

import { joinedEntry } from '../entries/child-entries.ts'
import { handoffsOfRun } from '../handoff/handoff-entry.ts'
import { around } from '../hooks/around.ts'
import { handOver, reportUndelivered } from '../inbox/child-routing.ts'
import { createPendingInputs, notify } from '../inbox/pending-inputs.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import type { Operation, Operations } from '../operations/operations.ts'
import { clock } from '../reducers/wait-reducer.ts'
import { brokenResult, runResult } from '../result/run-result.ts'
import { cursorOf, localState } from '../result/run-state-data.ts'
import { callOf, offsetOf } from '../state/session-state.ts'
import { canBeAsked } from '../tools/elicitation.ts'
import { budgetExceeded } from '../tree/budget-extension.ts'
import { available, minGrant, usageOfBudget } from '../tree/budget.ts'
import { noSpending } from '../tree/reservations.ts'
import type { PendingInputs } from '../types/inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ActiveChild, ParentRun } from '../types/run-tree.ts'
import type { ChildrenState, SessionState } from '../types/session-state.ts'
import type { Given } from '../types/session.ts'
import { closeChild } from './close-children.ts'
import type { WaitMirror } from './wait-mirror.ts'
import { createWaitMirror } from './wait-mirror.ts'

/** What spawning needs from its composite. */
export interface Spawning {
  readonly acts: Operations
  /** Awaits work of the runtime. A failure ends the run. */
  sure<T>(work: Promise<T>): Promise<T>
  /** Throws if the composite has ended. */
  heed(): void
  /** Aborted when the composite ends. */
  readonly signal: AbortSignal
  /** Whether the composite was suspended at its position in the log. */
  isLeft(): boolean
  /** Whether the id belongs to a call. */
  knows(id: string): boolean
  /** Runs `fn` once for each id. */
  memo<T>(id: string, fn: () => Promise<T>): Promise<T>
  /** Waits for a decision from outside the run. */
  wait(id: string, about: WaitAbout): Promise<Json>
}

/** Takes a slot for a running child. Returns the function that releases it. */
export type Place = () => MaybePromise<() => void>

/** A child with everything needed to run it. */
export interface Spawned {
  readonly scope: RunContext
  readonly child: ChildrenState
  readonly plan: ResolvedAgent
  readonly input: Input
  readonly secrets: SecretScope
  readonly one: Operation
  readonly host: Spawning
  readonly place: Place
  /** Aborts this child alone. */
  readonly signal?: AbortSignal | undefined
  /** Called with `true` when the child starts to wait, and with `false` when it resumes. */
  readonly waits?: ((now: boolean) => void) | undefined
  /** Run options from the caller that started it. */
  readonly wanted?: Given | undefined
  /** Returns the rest of a grant that it shares with other children. */
  readonly within?: (() => Grant) | undefined
}

interface Carried extends Spawned {
  readonly known: LogSnapshot
  readonly mirror: WaitMirror
}

/**
 * Runs a child from the end of its log to its result.
 *
 * @param fresh whether the child is new and has no log.
 */
export async function runNestedChild(spawned: Spawned, fresh: boolean): Promise<RunResult<unknown>> {
  const { scope, child, plan, one, host, signal } = spawned
  const { state } = scope
  const known = logSnapshot(scope.sessionId)
  if (!fresh) applyEntries(known, await readLog(plan.store, child.log))
  const carried: Carried = { ...spawned, known, mirror: createWaitMirror(scope, child, known) }
  const { callId: runId, parentCallId: parent } = child
  const op = { kind: 'child', id: runId, parent, runId, agent: plan.name } as const
  scope.tree.logs.set(child.log, known.state)
  const look = (): void => one.look?.()
  signal?.addEventListener('abort', look)
  try {
    for (;;) {
      const result = isOver(known.state)
        ? await childResult(scope, child, plan, known.state)
        : await inSlot(carried, () => around(scope, op, () => runChild(carried)))
      if (result.status !== 'suspended') await endLog(carried)
      await join(carried, result)
      scope.children.delete(runId)
      if (result.status !== 'suspended') {
        reportUndelivered(scope, child, known.state)
        return result
      }
      const waits = [...known.state.waits.keys()]
      spawned.waits?.(true)
      try {
        await host.acts.until(
          one,
          () => waits.length === 0 || waits.some((token) => !state.waits.has(token)) || signal?.aborted === true,
        )
      } catch (thrown) {
        // The composite is over, so the child cannot resume: its log is ended, too.
        if (!host.isLeft()) await join(carried, await runChild(carried)).catch(() => {})
        throw thrown
      } finally {
        spawned.waits?.(false)
      }
    }
  } finally {
    signal?.removeEventListener('abort', look)
    scope.children.delete(runId)
    if (!host.isLeft()) scope.tree.logs.delete(child.log)
  }
}

/** Ends the log of a child that was aborted before it resumed. No run would ever close it. */
async function endLog({ scope, child, plan, known }: Carried): Promise<void> {
  if (!known.state.run || isOver(known.state)) return
  try {
    await scope.journal.confirm()
    await closeChild(scope, child)
    applyEntries(known, await readLog(plan.store, child.log, offsetOf(known.state)))
  } catch {
    // The store fails, or another process owns the log. The result of the child still counts here.
  }
}

/** Records the result of a child in the log of its parent. */
async function join({ scope, child, known, mirror }: Carried, result: RunResult<unknown>): Promise<void> {
  // The log of the parent has the waits of a child before the child counts as waiting.
  await mirror.settle()
  const { status, usage, error } = result
  const { toolCalls, steps } = usageOfBudget(known.state.run)
  const label = joinLabels(child.label, known.state.viewLabel)
  const handoffs = known.state.run ? handoffsOfRun(known.state.run) : 0
  const came = {
    status,
    usage,
    toolCalls,
    steps,
    label,
    ...(known.state.run && { bytes: known.state.run.bytes }),
    ...(handoffs > 0 && { handoffs }),
    ...(error && { error: toErrorInfo(error) }),
  }
  await scope.journal.append([joinedEntry(scope.state, child, offsetOf(known.state), came)])
  if (status !== 'suspended') scope.tree.meter.joined(child.callId)
}

/** Returns the result of a child from its log. */
export async function childResult(
  scope: RunContext,
  child: ChildrenState,
  plan: ResolvedAgent,
  state: SessionState,
): Promise<RunResult<unknown>> {
  const ids = { sessionId: scope.sessionId, runId: child.callId }
  const status = state.run?.status
  if (status !== undefined && status !== 'running') return runResult<unknown>(plan, state, ids)
  const error = child.joined?.error
  return brokenResult<unknown>(plan, state, ids, error ? fromErrorInfo(error) : undefined)
}

function isOver({ run }: SessionState): boolean {
  return run !== undefined && run.status !== 'running' && run.status !== 'suspended'
}

/** Runs a child in a slot. A child that waits holds no slot. */
async function inSlot<T>({ host, place }: Carried, run: () => Promise<T>): Promise<T> {
  const entering = place()
  const leave = isPromise(entering) ? await entering : entering
  try {
    host.heed()
    return await run()
  } finally {
    leave()
  }
}

async function runChild({
  scope,
  child,
  plan,
  input,
  secrets,
  one,
  host,
  known,
  mirror,
  signal,
  wanted = {},
  within,
}: Carried): Promise<RunResult<unknown>> {
  const { run } = known.state
  const mailbox = createPendingInputs()
  const handed = new Set<string>()
  const feed = (): void => {
    passOn(child, known.state, mailbox)
    handOver(scope, child, known.state, mailbox, handed)
  }
  const lineage = lineageOf({ scope, child, secrets, known, mirror, within }, mailbox)
  const start = run
    ? { resume: localState(run.manifest, cursorOf(known.state, scope.sessionId, child.callId)), own: true as const }
    : { input }
  const { given } = scope
  const { session: _, sessionId: __, signal: ___, ...own } = wanted
  const { children, reservations } = scope.tree
  const live: ActiveChild = {
    ...(child.grant && { grant: child.grant }),
    runs: true,
    spent() {
      const spent = usageOfBudget(known.state.run, children.get(child.callId))
      const { tokens, cost, toolCalls, steps } = reservations.get(child.callId)?.total() ?? noSpending
      return {
        tokens: spent.tokens + tokens,
        cost: spent.cost === undefined ? undefined : spent.cost + cost,
        toolCalls: spent.toolCalls + toolCalls,
        steps: spent.steps + steps,
      }
    },
  }
  feed()
  scope.children.set(child.callId, live)
  one.look = feed
  const handle = scope.startRun<unknown>(
    plan,
    start,
    {
      ...(given.principal && { principal: given.principal }),
      ...(given.onInput && { onInput: given.onInput }),
      context: given.context,
      ...own,
    },
    false,
    undefined,
    lineage,
  )
  const abort = (): void => {
    // Half the grace of the parent, so that the child ends before its parent stops waiting.
    void handle.abort({ graceMs: Math.floor(scope.graceMs / 2), onPendingApprovals: scope.pendingPolicy() })
  }
  const ends = signal ? [host.signal, signal] : [host.signal]
  if (ends.some(({ aborted }) => aborted)) abort()
  else for (const end of ends) end.addEventListener('abort', abort, { once: true })
  const timer = timeOut(child.grant, known.state, (ms) =>
    handle.fail({ code: budgetExceeded, message: `The grant of ${ms} ms is used up.` }),
  )
  try {
    return await handle.result
  } finally {
    clearTimeout(timer)
    for (const end of ends) end.removeEventListener('abort', abort)
    one.look = undefined
    // Its spending counts here until the log records it.
    live.runs = false
  }
}

/** Starts a timer for the duration that the grant leaves. Only active time counts; waiting does not. */
function timeOut(
  grant: Grant | undefined,
  { run }: SessionState,
  over: (grantedMs: number) => void,
): NodeJS.Timeout | undefined {
  const { durationMs } = grant ?? {}
  if (durationMs === undefined || !Number.isFinite(durationMs)) return undefined
  return setTimeout(over, Math.min(Math.max(0, durationMs - (run?.activeMs ?? 0)), 2 ** 31 - 1), durationMs)
}

/** Passes decisions that the runs above received on the child's waits on to the child. */
function passOn({ given }: ChildrenState, state: SessionState, mailbox: PendingInputs): void {
  let any = false
  for (const [token, { value, by, at }] of given) {
    if (state.resolved.has(token) || mailbox.deliveries.has(token)) continue
    // An expired wait is detected by the child itself.
    if (by === clock) continue
    mailbox.deliveries.set(token, { id: token, token, value, by, at })
    any = true
  }
  if (any) notify(mailbox)
}

function lineageOf(
  {
    scope,
    child,
    secrets,
    known,
    mirror,
    within,
  }: Pick<Carried, 'scope' | 'child' | 'secrets' | 'known' | 'mirror' | 'within'>,
  mailbox: PendingInputs,
): ParentRun {
  const { lineage, journal, state } = scope
  const { run } = state
  const asked = run && callOf(run, child.parentCallId)?.errand && run
  return {
    runId: child.callId,
    log: child.log,
    sessionId: scope.sessionId,
    rootId: lineage?.rootId ?? scope.id,
    parents: Object.freeze([scope.id, ...(lineage?.parents ?? [])]),
    parentLog: scope.log,
    ...(child.grant && { grant: child.grant }),
    label: child.label,
    above: scope.hub,
    secrets,
    known,
    mailbox,
    asks: canBeAsked(scope),
    tree: scope.tree,
    intent: () => [...(lineage?.intent() ?? []), ...state.intent],
    // A child with a grant has its budget reserved; the others share what is not reserved.
    remaining() {
      const left = scope.remaining()
      const above = child.grant ? left : available(left, scope.children, state.run, child.callId)
      return minGrant(above, within?.())
    },
    handoffs: () => (asked ? (lineage?.handoffs() ?? 0) + handoffsOfRun(asked) : 0),
    confirm: () => journal.confirm(),
    steady: () => journal.steady(),
    committed: mirror.committed,
  }
}
