import type { RunResult } from '@provost/core'
import { SessionBusyError, isPromise, toErrorInfo, uuidv7 } from '@provost/core'

import { awaitLease, childLease } from '../children/child-lease.ts'
import { detachCalls } from '../composite/active-calls.ts'
import type { AbortControl } from '../control/abort-control.ts'
import { createAbortControl, linkSignal } from '../control/abort-control.ts'
import { report } from '../control/report.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { createEventBus } from '../events/event-bus.ts'
import { followWithListeners, observeWithHooks } from '../hooks/event-hooks.ts'
import { inboxCursor, openInboxReader } from '../inbox/inbox-reader.ts'
import { createPendingInputs } from '../inbox/pending-inputs.ts'
import { holdLease } from '../log/lease.ts'
import { logSnapshot, readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { staleEdits } from '../log/session-log.ts'
import { causeOf } from '../result/run-error.ts'
import { runResult } from '../result/run-result.ts'
import { cutOffMessage, unloggedFailure } from '../result/unlogged-failure.ts'
import { placeOf } from '../state/entry.ts'
import { emptySessionState, offsetOf } from '../state/session-state.ts'
import { withinRun } from '../tree/async-context.ts'
import { byteLimitsIn } from '../tree/byte-meter.ts'
import { wakeWaiters } from '../tree/reservations.ts'
import { createTree } from '../tree/run-tree.ts'
import type { Inbox, InboxCursor, PendingInputs } from '../types/inputs.ts'
import type { EventBus, Lease } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext, RunHandle, RunStart, SessionBinding } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { ParentRun } from '../types/run-tree.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import { createRunContext } from './create-run-context.ts'
import { forceCloseRun } from './force-close.ts'
import { runHandle } from './run-handle.ts'
import { driveRun } from './run-loop.ts'

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
  start: RunStart<Output>,
  options: UntypedRunOptions,
  watched: boolean,
  host?: SessionBinding<Output>,
  parentRun?: ParentRun,
): RunHandle<Output> {
  const runId = parentRun?.runId ?? ('resume' in start ? start.resume.cursor.runId : uuidv7())
  const eventBus = createEventBus(parentRun?.parents ?? noParents, parentRun?.parentEvents)
  const events = watched ? eventBus.subscribe() : undefined
  const pendingInputs = parentRun?.pendingInputs ?? host?.pendingInputs ?? createPendingInputs()
  const control = createAbortControl(pendingInputs)
  const unlink = linkSignal(options.signal, control)
  const result = perform(agent, start, options, runId, eventBus, pendingInputs, control, host, watched, parentRun)
    .then((settled) => {
      host?.settle(settled)
      return settled
    })
    .finally(() => {
      unlink()
      control.release()
      eventBus.close()
    })
  return runHandle(runId, result, { pendingInputs, control, eventBus, events })
}

async function perform<Output>(
  agent: ResolvedAgent,
  start: RunStart<Output>,
  options: UntypedRunOptions,
  runId: string,
  eventBus: EventBus,
  pendingInputs: PendingInputs,
  control: AbortControl,
  host: SessionBinding<Output> | undefined,
  watched: boolean,
  parentRun: ParentRun | undefined,
): Promise<RunResult<Output>> {
  const begun = 'resume' in start ? start.resume.cursor.sessionId : (options.sessionId ?? uuidv7())
  const sessionId = parentRun?.sessionId ?? begun
  const log = parentRun?.log ?? sessionId
  const inTime = <T>(work: Promise<T>): Promise<T> => Promise.race([work, control.overdue])
  let leasing: Promise<Lease | undefined> | undefined
  let lease: Lease | undefined
  let ctx: RunContext | undefined
  let unfollow: (() => void) | undefined
  let error: unknown
  let done = false
  try {
    const ready = agent.ready()
    if (isPromise(ready)) await inTime(Promise.resolve(ready))
    const writing = host?.ready()
    if (writing) await inTime(writing)
    leasing = parentRun ? awaitLease(agent, log, control.controller.signal) : holdLease(agent.store, log, agent.leaseMs)
    lease = await inTime(leasing)
    if (!lease) throw new SessionBusyError(sessionId)
    const fresh = !('resume' in start) && options.sessionId === undefined
    const { store, name } = agent
    const secrets = parentRun?.secrets ?? agent.secrets
    const snapshot = parentRun?.snapshot ?? host?.snapshot ?? logSnapshot(sessionId)
    const entries = fresh ? [] : await inTime(readLog(store, log, offsetOf(snapshot.state)))
    const tree = parentRun?.tree ?? host?.tree ?? createTree()
    const { meter } = tree
    if (!parentRun) meter.begin({ ...agent.byteLimits, ...byteLimitsIn(options) })
    const logWriter = openLogWriter(
      {
        store,
        log,
        sessionId,
        lease: parentRun ? childLease(lease, parentRun) : lease,
        eventBus,
        runId,
        agent: name,
        scrubber: secrets.scrubber,
        meter,
        committed(entry) {
          parentRun?.committed(snapshot.state, entry)
          wakeWaiters(tree)
        },
      },
      entries,
      snapshot,
    )
    const place = { eventBus, log, startRun, parentRun, tree }
    const { run } = logWriter.state
    if (run?.id === runId) meter.count(runId, run.bytes)
    ctx = createRunContext(agent, options, runId, sessionId, logWriter, pendingInputs, control, place, secrets)
    ctx.observed = watched || parentRun?.canAsk === true
    ctx.tree.children.set(runId, ctx.children)
    ctx.tree.reservations.set(runId, ctx.reservations)
    observeWithHooks(ctx, eventBus)
    if (host) followWithListeners(ctx, eventBus, host.hasListener)
    const active = ctx.agent === agent ? undefined : ctx.agent.ready()
    if (isPromise(active)) await inTime(Promise.resolve(active))
    // Other writers cannot know a new id in a store that lives in this process, so it needs no inbox.
    if (!parentRun && (host || !store.ephemeral || !fresh)) {
      ctx.inbox = inboxOf(ctx, control, host?.cursor ?? inboxCursor())
      unfollow = ctx.inbox.follow()
      if (!fresh) await inTime(ctx.inbox.sync())
    }
    if (host && host.pendingEdits.length > 0) {
      const edits = host.pendingEdits.splice(0)
      if (entries.length > 0) throw staleEdits(sessionId)
      await inTime(logWriter.copy(edits))
    }
    const entered = ctx
    await inTime(withinRun(entered, () => driveRun(entered, start)))
    done = true
  } catch (thrown) {
    error = thrown
    if (ctx) await within(close(ctx, causeOf(thrown, control)))
  } finally {
    unfollow?.()
    if (ctx) detachCalls(ctx)
    if (ctx) {
      ctx.tree.children.delete(runId)
      ctx.tree.reservations.delete(runId)
      wakeWaiters(ctx.tree)
    }
    // The run ended or is suspended, so earlier takeovers no longer count against the session.
    if (lease && lease.takeovers > 0 && ctx && ctx.state.run?.status !== 'running') await within(lease.steady())
    if (lease) await within(lease.release())
    // A lease that arrives too late is released for other processes.
    else leasing?.then((late) => late?.release()).catch(() => {})
    // Other processes may have put input into the inbox while the session was busy.
    if (host && ctx?.inbox) await within(ctx.inbox.sync())
  }
  const ids = { sessionId, runId }
  const thrown = error instanceof RunEnding ? error.thrown : error
  const own = ctx && (done || ctx.ownershipEntries?.length === 0) ? ctx.state : emptySessionState()
  if (own.run?.id === runId && own.run.status !== 'running')
    return runResult<Output>(agent, own, { ...ids, thrown, ...(ctx && { children: ctx.tree.childLogs }) })
  return cutOffMessage(agent, ctx?.logWriter.seal().emit ?? unloggedFailure(agent, eventBus, ids), ids, own, error)
}

function inboxOf(ctx: RunContext, control: AbortControl, cursor: InboxCursor): Inbox {
  const { agent, sessionId, id, state, pendingInputs, logWriter } = ctx
  const failed = (thrown: unknown): void => report(ctx, thrown, { kind: 'store', name: 'inbox' })
  return openInboxReader({
    store: agent.store,
    sessionId,
    runId: id,
    state,
    pendingInputs,
    cursor,
    failed,
    abort(token, options) {
      // Recorded as taken first, so that it does not abort the run again after it is resumed.
      const taken = logWriter.append([takenEntry(placeOf(state), token)]).catch(failed)
      void taken.then(() => control.abort(options))
    },
  })
}

const closingMs = 1000

/** Waits for work of the store, at most {@link closingMs}, so that a stalled store cannot block the end of a run. */
function within(work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, closingMs)
    const settled = (): void => {
      clearTimeout(timer)
      resolve()
    }
    work.then(settled, settled)
  })
}

/** Closes the run in the log. If that fails, the log is unchanged and the run can be resumed. */
async function close(ctx: RunContext, error: unknown): Promise<void> {
  const ending = error instanceof RunEnding ? error : new RunEnding('failed', toErrorInfo(error), error)
  try {
    await forceCloseRun(ctx, ending)
  } catch (closing) {
    const source = { kind: 'store', name: 'append' } as const
    ctx.logWriter.seal().emit('agent.error', { error: toErrorInfo(closing), source }, ctx.step)
  }
}
