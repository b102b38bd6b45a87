import type { RunResult } from '@provost/core'
import { SessionBusyError, isPromise, toErrorInfo, uuidv7 } from '@provost/core'

import { awaitLease, leaseBelow } from '../children/child-lease.ts'
import { leaveCalls } from '../composite/active-calls.ts'
import type { AbortControl } from '../control/abort-control.ts'
import { createAbortControl, linkSignal } from '../control/abort-control.ts'
import { report } from '../control/report.ts'
import { takenEntry } from '../entries/wait-entries.ts'
import { createEventBus } from '../events/event-bus.ts'
import { followWithListeners, observeWithHooks } from '../hooks/event-hooks.ts'
import { inboxCursor, openInbox } from '../inbox/inbox.ts'
import { createPendingInputs } from '../inbox/pending-inputs.ts'
import { holdLease } from '../log/lease.ts'
import { logSnapshot, readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { staleEdits } from '../log/session-log.ts'
import { causeOf } from '../result/run-error.ts'
import { runResult } from '../result/run-result.ts'
import { cutOffMessage, unloggedFailure } from '../result/unlogged-failure.ts'
import { placeOf } from '../state/entry.ts'
import { emptyLog, offsetOf } from '../state/session-state.ts'
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
import type { Given } from '../types/session.ts'
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
 * @param lineage the context that a child has from its parent run.
 */
export function startRun<Output>(
  plan: ResolvedAgent,
  start: RunStart<Output>,
  given: Given,
  watched: boolean,
  host?: SessionBinding<Output>,
  lineage?: ParentRun,
): RunHandle<Output> {
  const runId = lineage?.runId ?? ('resume' in start ? start.resume.cursor.runId : uuidv7())
  const hub = createEventBus(lineage?.parents ?? noParents, lineage?.above)
  const events = watched ? hub.subscribe() : undefined
  const mailbox = lineage?.mailbox ?? host?.mailbox ?? createPendingInputs()
  const control = createAbortControl(mailbox)
  const unlink = linkSignal(given.signal, control)
  const result = perform(plan, start, given, runId, hub, mailbox, control, host, watched, lineage)
    .then((settled) => {
      host?.settle(settled)
      return settled
    })
    .finally(() => {
      unlink()
      control.release()
      hub.close()
    })
  return runHandle(runId, result, { mailbox, control, hub, events })
}

async function perform<Output>(
  plan: ResolvedAgent,
  start: RunStart<Output>,
  given: Given,
  runId: string,
  hub: EventBus,
  mailbox: PendingInputs,
  control: AbortControl,
  host: SessionBinding<Output> | undefined,
  watched: boolean,
  lineage: ParentRun | undefined,
): Promise<RunResult<Output>> {
  const begun = 'resume' in start ? start.resume.cursor.sessionId : (given.sessionId ?? uuidv7())
  const sessionId = lineage?.sessionId ?? begun
  const log = lineage?.log ?? sessionId
  const inTime = <T>(work: Promise<T>): Promise<T> => Promise.race([work, control.overdue])
  let leasing: Promise<Lease | undefined> | undefined
  let lease: Lease | undefined
  let scope: RunContext | undefined
  let unfollow: (() => void) | undefined
  let error: unknown
  let done = false
  try {
    const ready = plan.ready()
    if (isPromise(ready)) await inTime(Promise.resolve(ready))
    const writing = host?.ready()
    if (writing) await inTime(writing)
    leasing = lineage ? awaitLease(plan, log, control.controller.signal) : holdLease(plan.store, log, plan.leaseMs)
    lease = await inTime(leasing)
    if (!lease) throw new SessionBusyError(sessionId)
    const fresh = !('resume' in start) && given.sessionId === undefined
    const { store, name } = plan
    const secrets = lineage?.secrets ?? plan.secrets
    const known = lineage?.known ?? host?.known ?? logSnapshot(sessionId)
    const entries = fresh ? [] : await inTime(readLog(store, log, offsetOf(known.state)))
    const tree = lineage?.tree ?? host?.tree ?? createTree()
    const { meter } = tree
    if (!lineage) meter.begin({ ...plan.byteLimits, ...byteLimitsIn(given) })
    const journal = openLogWriter(
      {
        store,
        log,
        sessionId,
        lease: lineage ? leaseBelow(lease, lineage) : lease,
        hub,
        runId,
        agent: name,
        scrubber: secrets.scrubber,
        meter,
        committed(entry) {
          lineage?.committed(known.state, entry)
          wakeWaiters(tree)
        },
      },
      entries,
      known,
    )
    const place = { hub, log, startRun, lineage, tree }
    const { run } = journal.state
    if (run?.id === runId) meter.count(runId, run.bytes)
    scope = createRunContext(plan, given, runId, sessionId, journal, mailbox, control, place, secrets)
    scope.watched = watched || lineage?.asks === true
    scope.tree.children.set(runId, scope.children)
    scope.tree.reservations.set(runId, scope.reservations)
    observeWithHooks(scope, hub)
    if (host) followWithListeners(scope, hub, host.isHeard)
    const active = scope.plan === plan ? undefined : scope.plan.ready()
    if (isPromise(active)) await inTime(Promise.resolve(active))
    // Other writers cannot know a new id in a store that lives in this process, so it needs no inbox.
    if (!lineage && (host || !store.ephemeral || !fresh)) {
      scope.inbox = inboxOf(scope, control, host?.cursor ?? inboxCursor())
      unfollow = scope.inbox.follow()
      if (!fresh) await inTime(scope.inbox.sync())
    }
    if (host && host.edits.length > 0) {
      const edits = host.edits.splice(0)
      if (entries.length > 0) throw staleEdits(sessionId)
      await inTime(journal.copy(edits))
    }
    const entered = scope
    await inTime(withinRun(entered, () => driveRun(entered, start)))
    done = true
  } catch (thrown) {
    error = thrown
    if (scope) await within(close(scope, causeOf(thrown, control)))
  } finally {
    unfollow?.()
    if (scope) leaveCalls(scope)
    if (scope) {
      scope.tree.children.delete(runId)
      scope.tree.reservations.delete(runId)
      wakeWaiters(scope.tree)
    }
    // The run ended or is suspended, so earlier takeovers no longer count against the session.
    if (lease && lease.takeovers > 0 && scope && scope.state.run?.status !== 'running') await within(lease.steady())
    if (lease) await within(lease.release())
    // A lease that arrives too late is released for other processes.
    else leasing?.then((late) => late?.release()).catch(() => {})
    // Other processes may have put input into the inbox while the session was busy.
    if (host && scope?.inbox) await within(scope.inbox.sync())
  }
  const ids = { sessionId, runId }
  const thrown = error instanceof RunEnding ? error.thrown : error
  const own = scope && (done || scope.claim?.length === 0) ? scope.state : emptyLog()
  if (own.run?.id === runId && own.run.status !== 'running')
    return runResult<Output>(plan, own, { ...ids, thrown, ...(scope && { children: scope.tree.logs }) })
  return cutOffMessage(plan, scope?.journal.seal().emit ?? unloggedFailure(plan, hub, ids), ids, own, error)
}

function inboxOf(scope: RunContext, control: AbortControl, cursor: InboxCursor): Inbox {
  const { plan, sessionId, id, state, mailbox, journal } = scope
  const failed = (thrown: unknown): void => report(scope, thrown, { kind: 'store', name: 'inbox' })
  return openInbox({
    store: plan.store,
    sessionId,
    runId: id,
    state,
    mailbox,
    cursor,
    failed,
    abort(token, options) {
      // Recorded as taken first, so that it does not abort the run again after it is resumed.
      const taken = journal.append([takenEntry(placeOf(state), token)]).catch(failed)
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
async function close(scope: RunContext, error: unknown): Promise<void> {
  const ending = error instanceof RunEnding ? error : new RunEnding('failed', toErrorInfo(error), error)
  try {
    await forceCloseRun(scope, ending)
  } catch (closing) {
    const source = { kind: 'store', name: 'append' } as const
    scope.journal.seal().emit('agent.error', { error: toErrorInfo(closing), source }, scope.step)
  }
}
