import type { Entry, Input, RunResult, SessionStore } from '@provost/core'
import { ProvostError, SessionBusyError, isPromise, toErrorInfo, uuidv7, clockOf } from '@provost/core'

import { awaitLease, childLease } from '../children/child-lease.ts'
import { reportRest, sendLetter } from '../children/part-session.ts'
import { detachCalls } from '../composite/active-calls.ts'
import { createAbortControl, linkSignal } from '../control/abort-control.ts'
import { isStoreAway, sourceOf, storeFailure } from '../control/failure-source.ts'
import { report } from '../control/report.ts'
import { createEventBus } from '../events/event-bus.ts'
import { followWithListeners, observeWithHooks } from '../hooks/event-hooks.ts'
import { abortToken, takenAbort } from '../inbox/abort-delivery.ts'
import { firstInput } from '../inbox/drain.ts'
import { openInbox } from '../inbox/inbox.ts'
import { createPendingInputs } from '../inbox/pending-inputs.ts'
import { holdLease } from '../log/lease.ts'
import { logSnapshot, readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { staleEdits } from '../log/session-log.ts'
import { answersWait, newSendToken } from '../messages/child-message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { causeOf } from '../result/run-error.ts'
import { runResult } from '../result/run-result.ts'
import { cutOffMessage, unloggedFailure } from '../result/unlogged-failure.ts'
import { emptySessionState } from '../state/session-state.ts'
import { withinRun } from '../tree/async-context.ts'
import { byteLimitsIn } from '../tree/byte-meter.ts'
import { wakeWaiters } from '../tree/reservations.ts'
import { createTree } from '../tree/run-tree.ts'
import type { Inbox, InboxReader, PendingInputs } from '../types/inputs.ts'
import type { EventBus, Lease, LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { AbortControl, InboxStart, RunContext, RunHandle, RunStart, SessionBinding } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { ParentRun } from '../types/run-tree.ts'
import type { SessionState } from '../types/session-state.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import type { SendMode } from '../types/stream.ts'
import { createRunContext } from './create-run-context.ts'
import { driveRun } from './drive-run.ts'
import { forceCloseRun, leaveRun } from './force-close.ts'
import { runHandle } from './run-handle.ts'

/** The parents of a root run, shared by all of its events. */
const noParents: readonly string[] = Object.freeze([])

/**
 * Starts a run at once, in the async context of the caller. The result never rejects: errors of the model, a tool or a
 * store are in the result.
 *
 * @param watched keeps the events for an iterator.
 * @param host the session object that starts the run.
 * @param parentRun the context that a child has from its parent run.
 */
export function startRun<Output>(
  agent: ResolvedAgent,
  start: RunStart<Output> | InboxStart,
  options: UntypedRunOptions,
  watched: boolean,
  host?: SessionBinding<Output>,
  parentRun?: ParentRun,
): RunHandle<Output> {
  const within = parentRun?.within
  const runId = parentRun?.runId ?? ('resume' in start ? start.resume.cursor.runId : uuidv7())
  const eventBus = createEventBus(parentRun?.parents ?? noParents, within?.events)
  const events = watched ? eventBus.subscribe() : undefined
  const begun = 'resume' in start ? start.resume.cursor.sessionId : (options.sessionId ?? uuidv7())
  const sessionId = parentRun?.sessionId ?? begun
  const snapshot = within?.snapshot ?? host?.snapshot ?? logSnapshot(sessionId, clockOf(agent.store))
  const fresh = !('resume' in start) && options.sessionId === undefined
  const inbox =
    within?.inbox ??
    host?.inbox ??
    openInbox({
      store: agent.store,
      log: sessionId,
      scrubber: agent.secrets.scrubber,
      by: options.principal?.id ?? 'run',
      // Other senders cannot know a new id in a store that lives in this process.
      isShared: !agent.store.ephemeral || !fresh,
      isTaken: (token) => snapshot.state.resolvedWaits.has(token),
    })
  const pendingInputs = host?.pendingInputs ?? createPendingInputs()
  const control = createAbortControl(pendingInputs)
  const unlink = linkSignal(options.signal, control)
  const place = { sessionId, snapshot, inbox, fresh, runId, eventBus, pendingInputs, control, watched }
  const result = perform(agent, start, options, place, host, parentRun)
    .then((settled) => {
      host?.settle(settled)
      return settled
    })
    .finally(() => {
      unlink()
      control.release()
      eventBus.close()
    })
  function send(input: Input, mode: SendMode): void {
    const token = newSendToken()
    inbox.send(token, { input: messagesOf(input, token, agent), mode }).catch((thrown: unknown) => {
      const source = { kind: 'store', name: 'inbox' } as const
      const emit = unloggedFailure(agent, eventBus, { sessionId, runId })
      emit('agent.error', { error: toErrorInfo(thrown), source })
    })
  }
  return runHandle(runId, result, { pendingInputs, send, control, eventBus, events })
}

/** What a run has from its start. */
interface RunPlace {
  readonly sessionId: string
  readonly snapshot: LogSnapshot
  readonly inbox: Inbox
  /** Its log is new. */
  readonly fresh: boolean
  readonly runId: string
  readonly eventBus: EventBus
  readonly pendingInputs: PendingInputs
  readonly control: AbortControl
  readonly watched: boolean
}

async function perform<Output>(
  agent: ResolvedAgent,
  start: RunStart<Output> | InboxStart,
  options: UntypedRunOptions,
  { sessionId, snapshot, inbox, fresh, runId, eventBus, pendingInputs, control, watched }: RunPlace,
  host: SessionBinding<Output> | undefined,
  parentRun: ParentRun | undefined,
): Promise<RunResult<Output>> {
  const log = parentRun?.log ?? sessionId
  const within = parentRun?.within
  const inTime = <T>(work: Promise<T>): Promise<T> => Promise.race([work, control.overdue])
  let leasing: Promise<Lease | undefined> | undefined
  let lease: Lease | undefined
  let ctx: RunContext | undefined
  let unfollow: (() => void) | undefined
  let unlink: (() => void) | undefined
  let error: unknown
  let done = false
  /** The store did not answer in time when the run was closed. One that refuses, as at a shutdown, wants it to go on elsewhere. */
  let stalled = false
  try {
    const writing = host?.ready()
    if (writing) await inTime(writing)
    // The owner of the lease reads its inbox once more after it has released the lease.
    if ('fromInbox' in start) await inTime(Promise.resolve(inbox.arriving()))
    leasing = within ? awaitLease(agent, log, control.signal) : holdLease(agent.store, log, agent.leaseMs)
    lease = await inTime(leasing.catch((thrown: unknown) => Promise.reject(storeFailure(thrown, 'lease'))))
    if (!lease) throw storeFailure(new SessionBusyError(sessionId), 'lease')
    const { store, name } = agent
    const secrets = parentRun?.secrets ?? agent.secrets
    const stored = (): Promise<readonly Entry[]> =>
      readLog(store, log, snapshot.state.offset).catch((thrown: unknown) =>
        Promise.reject(storeFailure(thrown, 'read')),
      )
    const entries = fresh ? [] : await inTime(stored())
    const tree = within?.tree ?? host?.tree ?? createTree()
    const { meter } = tree
    if (!within) meter.begin({ ...agent.byteLimits, ...byteLimitsIn(options) })
    // Other runs of its tree may have open effects, too.
    if ('resume' in start || parentRun?.origin) tree.hasOpenEffects = true
    const follow = followed(store, parentRun, snapshot.state)
    const logWriter = openLogWriter(
      {
        store,
        log,
        sessionId,
        lease: within ? childLease(lease, within) : lease,
        eventBus,
        runId,
        agent: name,
        scrubber: secrets.scrubber,
        meter,
        handedOver: () => ctx?.updateAgent(),
        committed(entry) {
          if (entry.type === 'resolved') inbox.answers.delete(entry.token)
          follow?.(entry)
        },
        written: () => wakeWaiters(tree),
      },
      entries,
      snapshot,
    )
    if (!within) tree.effectSession = parentRun?.origin?.effectSession ?? snapshot.state.forkedFrom ?? sessionId
    const place = { eventBus, log, startRun, parentRun, tree, inbox, peers: host?.peers }
    const { run } = logWriter.state
    if (run?.id === runId) meter.count(runId, run.bytes)
    ctx = createRunContext(agent, options, runId, sessionId, logWriter, pendingInputs, control, place, secrets)
    ctx.observed = watched || within?.canAsk === true
    ctx.tree.children.set(runId, ctx.children)
    ctx.tree.reservations.set(runId, ctx.reservations)
    const ready = agent.ready()
    if (isPromise(ready)) await inTime(Promise.resolve(ready))
    observeWithHooks(ctx, eventBus)
    if (host) followWithListeners(ctx, eventBus, host.hasListener)
    const active = ctx.agent === agent ? undefined : ctx.agent.ready()
    if (isPromise(active)) await inTime(Promise.resolve(active))
    unfollow = inbox.serve(readerOf(ctx, control))
    if (!fresh) await inTime(inbox.sync())
    // Awaited with the first step: the child may have been addressed before it began.
    else if (within && inbox.isShared) inbox.sync().catch(() => {})
    if (host && host.pendingEdits.length > 0) {
      const edits = host.pendingEdits.splice(0)
      if (entries.length > 0) throw staleEdits(sessionId)
      await inTime(logWriter.copy(edits))
    }
    const entered = ctx
    const input = 'fromInbox' in start ? firstInput(inbox, agent) : start
    if (!input) throw nothingUnread()
    if ('signal' in input) unlink = linkSignal(input.signal, control)
    await inTime(withinRun(entered, () => driveRun(entered, input)))
    done = true
  } catch (thrown) {
    error = thrown
    if (ctx) stalled = !(await withinClosing(close(ctx, causeOf(thrown, control))))
  } finally {
    unfollow?.()
    unlink?.()
    // Before the lease is released, so that the next driver finds it.
    if (ctx && stalled && !within && isLeftAborted(ctx)) await withinClosing(leaveAbort(ctx, inbox))
    if (ctx) detachCalls(ctx)
    if (ctx) {
      ctx.tree.children.delete(runId)
      ctx.tree.reservations.delete(runId)
      wakeWaiters(ctx.tree)
    }
    // The run ended or is suspended, so earlier takeovers no longer count against the session.
    if (lease && lease.takeovers > 0 && ctx && ctx.state.run?.status !== 'running') await withinClosing(lease.steady())
    if (lease) await withinClosing(lease.release())
    // A lease that arrives too late is released for other processes.
    else leasing?.then((late) => late?.release()).catch(() => {})
    if (ctx && parentRun?.origin && ctx.state.run?.status !== 'running')
      await withinClosing(
        reportRest({ store: agent.store, id: log, origin: parentRun.origin, state: ctx.state, seen: inbox.lastRead() }),
      )
    // Other processes may have put input into the inbox while the session was busy.
    if (host && ctx) await withinClosing(inbox.sync())
  }
  const ids = { sessionId, runId }
  const thrown = error instanceof RunEnding ? error.thrown : error
  const own = ctx && (done || ctx.ownershipEntries?.length === 0) ? ctx.state : emptySessionState(clockOf(agent.store))
  if (own.run?.id === runId && own.run.status !== 'running')
    return runResult<Output>(agent, own, { ...ids, thrown, ...(ctx && { children: ctx.tree.childLogs }) })
  return cutOffMessage(agent, ctx?.logWriter.seal().emit ?? unloggedFailure(agent, eventBus, ids), ids, own, error)
}

/** Returns what the run above has to know of each entry of a child. */
function followed(
  store: SessionStore,
  parentRun: ParentRun | undefined,
  state: SessionState,
): ((entry: Entry) => void) | undefined {
  const { within, origin } = parentRun ?? {}
  if (within) return (entry) => within.committed(state, entry)
  if (!origin) return undefined
  return (entry) => {
    // The run above lists the question, which is closed. If the letter is lost, the next one says so, too.
    if (entry.type === 'resolved' && answersWait(entry.token)) sendLetter(store, origin, entry.offset).catch(() => {})
  }
}

function readerOf(ctx: RunContext, control: AbortControl): InboxReader {
  const { id, state, pendingInputs, logWriter } = ctx
  const failed = (thrown: unknown): void => report(ctx, thrown, { kind: 'store', name: 'inbox' })
  return {
    runId: id,
    pendingInputs,
    failed,
    abort(token, options) {
      control.isRequested ||= options?.drain !== true
      // Recorded as taken first, so that it does not abort the run again after it is resumed.
      const taken = logWriter.append([takenAbort(state, token, options)]).catch(failed)
      void taken.then(() => control.abort(options))
    },
  }
}

/** The error of a run that finds its inbox empty: another process has taken the input. */
function nothingUnread(): ProvostError {
  return new ProvostError('already-taken', 'The input of this run has already entered the session.', {
    hint: 'Do nothing: another run has taken the input.',
  })
}

/** Returns whether the run was aborted, and the store has not taken its end. */
function isLeftAborted({ control, ownershipEntries, state, id }: RunContext): boolean {
  if (!control.isAborted || control.failure !== undefined || !ownershipEntries) return false
  return state.run?.id === id && state.run.status === 'running'
}

/** Leaves the abort in the inbox: the next driver of the session ends the run, and continues none of its work. */
async function leaveAbort({ control, id }: RunContext, inbox: Inbox): Promise<void> {
  const { graceMs, pendingPolicy } = control
  await inbox.put(`${abortToken}${uuidv7()}`, { runId: id, options: { graceMs, onPendingApprovals: pendingPolicy } })
}

const closingMs = 1000

/**
 * Waits for work of the store, at most {@link closingMs}, so that a stalled store cannot block the end of a run.
 *
 * @returns whether the work has ended.
 */
function withinClosing(work: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, closingMs, false)
    const settled = (): void => {
      clearTimeout(timer)
      resolve(true)
    }
    work.then(settled, settled)
  })
}

/** Closes the run in the log, or leaves it if the store is away. If that fails, the log is unchanged and the run can be resumed. */
async function close(ctx: RunContext, error: unknown): Promise<void> {
  const ending =
    error instanceof RunEnding ? error : new RunEnding('failed', toErrorInfo(error), error, sourceOf(error))
  try {
    await (isStoreAway(error) ? leaveRun(ctx, ending) : forceCloseRun(ctx, ending))
  } catch (closing) {
    const info = toErrorInfo(closing)
    // The same failure is reported with the end of the run.
    if (sourceOf(error)?.kind === 'store' || ending.info?.code === info.code) return
    const source = sourceOf(closing) ?? { kind: 'store', name: 'append' }
    ctx.logWriter.seal().emit('agent.error', { error: info, source }, ctx.step)
  }
}
