import { setTimeout as delay } from 'node:timers/promises'

import type {
  AgentEvent,
  ErrorInfo,
  Extension,
  HookContext,
  Input,
  NewEntry,
  RunResult,
  RunState,
  RunStatus,
} from '@provost/core'
import {
  fromErrorInfo,
  isPromise,
  liveFields,
  ProvostError,
  SessionBusyError,
  toErrorInfo,
  uuidv7,
} from '@provost/core'

import type { AbortControl } from './abort-control.ts'
import { createAbortControl, linkSignal } from './abort-control.ts'
import type { AgentPlan } from './agent-plan.ts'
import type { AgentStream, Given } from './agent.ts'
import { closeRun } from './close-run.ts'
import { createScope } from './create-scope.ts'
import { withinRun } from './current-run.ts'
import { placeOf } from './entry.ts'
import type { EventHub, Reaction } from './event-hub.ts'
import { createEventHub } from './event-hub.ts'
import { observing } from './hook-context.ts'
import type { Inbox, InboxCursor } from './inbox.ts'
import { inboxCursor, openInbox } from './inbox.ts'
import type { Journal } from './journal.ts'
import { openJournal } from './journal.ts'
import type { KnownLog } from './known-log.ts'
import { knownLog, readLog } from './known-log.ts'
import type { Lease } from './lease.ts'
import { holdLease } from './lease.ts'
import type { Lineage, RunTree } from './lineage.ts'
import { createTree } from './lineage.ts'
import { leaveCalls } from './live-calls.ts'
import type { LogState } from './log-state.ts'
import { emptyLog, offsetOf } from './log-state.ts'
import type { Mailbox } from './mailbox.ts'
import { createMailbox, wake } from './mailbox.ts'
import { endPayload } from './projection.ts'
import { driveRun } from './run-driver.ts'
import { brokenResult, runResult } from './run-result.ts'
import type { RunScope } from './run-scope.ts'
import { observe, report, RunEnding } from './run-scope.ts'
import { staleEdits } from './session/session-log.ts'
import { takenEntry } from './wait-entries.ts'
import type { HookedEvent } from './watchers.ts'

/** A run of this process, for its agent. */
export interface RunHandle<Output> extends AgentStream<Output> {
  /** Resolves when the run has ended, in whatever way. */
  readonly ended: Promise<void>
  /** Aborts the run, which then has failed. */
  fail(error: ErrorInfo): void
}

/** Of a root run: its events share it. */
const noParents: readonly string[] = Object.freeze([])

/** A run begins with an input, or goes on from a state. */
export type RunStart<Output> =
  | { readonly input: Input; /** Of the inbox, if it came from there. */ readonly token?: string }
  | {
      readonly resume: RunState<Output>
      /** Made here, from the log itself: there is nothing to check. */ readonly own?: true
    }

/** What a session object lends its runs, so that none of them reads again what another has read. */
export interface RunHost<Output> {
  readonly known: KnownLog
  readonly cursor: InboxCursor
  readonly mailbox: Mailbox
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

/**
 * Starts a run at once, in the async context of the caller. Nothing that the model, a tool or a store does makes it
 * reject: whatever goes wrong is in the result.
 *
 * @param watched keeps the events for an iterator.
 * @param host the session object that the run is of.
 * @param lineage what a child has of the run that spawned it.
 */
export function startRun<Output>(
  plan: AgentPlan,
  start: RunStart<Output>,
  given: Given,
  watched: boolean,
  host?: RunHost<Output>,
  lineage?: Lineage,
): RunHandle<Output> {
  const runId = lineage?.runId ?? ('resume' in start ? start.resume.cursor.runId : uuidv7())
  const hub = createEventHub(lineage?.parents ?? noParents, lineage?.above)
  let events = watched ? hub.subscribe() : undefined
  const mailbox = lineage?.mailbox ?? host?.mailbox ?? createMailbox()
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
  const ended = result.then(() => {})

  const handle: Omit<RunHandle<Output>, 'output'> = {
    runId,
    result,
    ended,
    steer: (input) => void mailbox.steers.push({ input }),
    followUp: (input) => void mailbox.followUps.push({ input }),
    async resolve(decisions) {
      mailbox.decisions.push(decisions)
      wake(mailbox)
    },
    abort(options) {
      control.abort(options)
      return ended
    },
    fail(error) {
      control.failure ??= error
      control.abort()
    },
    [Symbol.asyncIterator](): AsyncIterator<AgentEvent> {
      // The first reader gets everything from the start; each further one is a subscriber of its own.
      const queue = events ?? hub.subscribe()
      events = undefined
      return queue[Symbol.asyncIterator]()
    },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what all handles share cannot know of what type this one's output is
  return withOutput(handle, () => result.then(outputOf)) as RunHandle<Output>
}

// It rejects where the run did not complete: made only for those who ask.
const withOutput = liveFields<() => Promise<unknown>, { readonly output: Promise<unknown> }>({
  output: (made) => made(),
})

function outputOf<Output>(result: RunResult<Output>): Output {
  if (result.status === 'completed') return result.output
  throw result.status === 'failed'
    ? result.error
    : new ProvostError(`run-${result.status}`, `The run has no output: it was ${result.status}.`, {
        hint: result.status === 'suspended' ? 'Resume result.state with decisions on result.pending.' : 'Run it again.',
      })
}

async function perform<Output>(
  plan: AgentPlan,
  start: RunStart<Output>,
  given: Given,
  runId: string,
  hub: EventHub,
  mailbox: Mailbox,
  control: AbortControl,
  host: RunHost<Output> | undefined,
  watched: boolean,
  lineage: Lineage | undefined,
): Promise<RunResult<Output>> {
  const begun = 'resume' in start ? start.resume.cursor.sessionId : (given.sessionId ?? uuidv7())
  const sessionId = lineage?.sessionId ?? begun
  const log = lineage?.log ?? sessionId
  const inTime = <T>(work: Promise<T>): Promise<T> => Promise.race([work, control.overdue])
  let leasing: Promise<Lease | undefined> | undefined
  let lease: Lease | undefined
  let scope: RunScope | undefined
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
    const known = lineage?.known ?? host?.known ?? knownLog(sessionId)
    const entries = fresh ? [] : await inTime(readLog(store, log, offsetOf(known.state)))
    const journal = openJournal(
      {
        store,
        log,
        sessionId,
        lease: lineage ? leaseBelow(lease, lineage) : lease,
        hub,
        runId,
        agent: name,
        scrubber: secrets.scrubber,
        ...(lineage && { committed: (entry) => lineage.committed(known.state, entry) }),
      },
      entries,
      known,
    )
    const place = { hub, log, startRun, lineage, tree: lineage?.tree ?? host?.tree ?? createTree() }
    scope = createScope(plan, given, runId, sessionId, journal, mailbox, control, place, secrets)
    scope.watched = watched || lineage?.asks === true
    scope.tree.children.set(runId, scope.children)
    hearWithHooks(scope, hub)
    if (host) followWithListeners(scope, hub, host.isHeard)
    const active = scope.plan === plan ? undefined : scope.plan.ready()
    if (isPromise(active)) await inTime(Promise.resolve(active))
    // In a store that ends with the process, only those who hold the session can reach it.
    if (!lineage && (host || !store.ephemeral)) {
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
    scope?.tree.children.delete(runId)
    if (lease) await within(lease.release())
    // One that comes too late is of no use to this run, and not to be kept from others.
    else leasing?.then((late) => late?.release()).catch(() => {})
    // Whoever found the session busy until now may have left something behind.
    if (host && scope?.inbox) await within(scope.inbox.sync())
  }
  const ids = { sessionId, runId }
  const thrown = error instanceof RunEnding ? error.thrown : error
  const own = scope && (done || scope.claim?.length === 0) ? scope.state : emptyLog()
  if (own.run?.id === runId && own.run.status !== 'running')
    return runResult<Output>(plan, own, { ...ids, thrown, ...(scope && { children: scope.tree.logs }) })
  return brokenOff(plan, scope?.journal.seal().emit ?? unlogged(plan, hub, ids), ids, own, error)
}

/** A child's log is written by whoever writes its parent's: one who died, or was overtaken, only has to be outlived. */
async function awaitLease(plan: AgentPlan, log: string, signal: AbortSignal): Promise<Lease | undefined> {
  for (;;) {
    const lease = await holdLease(plan.store, log, plan.leaseMs)
    if (lease || signal.aborted) return lease
    await delay(leaseWaitMs, undefined, { signal }).catch(() => {})
  }
}

const leaseWaitMs = 100

/** Whoever has lost a log above has lost this one, too. */
function leaseBelow(lease: Lease, lineage: Lineage): Lease {
  return {
    ...lease,
    confirm() {
      const [above, own] = [lineage.confirm(), lease.confirm()]
      return above || own ? Promise.all([above, own]).then(() => {}) : undefined
    },
  }
}

/** A run that was aborted for a reason has failed for it. */
function causeOf(thrown: unknown, { failure }: AbortControl): unknown {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  return aborted && failure ? new RunEnding('failed', failure) : thrown
}

function inboxOf(scope: RunScope, control: AbortControl, cursor: InboxCursor): Inbox {
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
      // First that it was taken: a run that goes on later is not to be aborted by it again.
      const taken = journal.append([takenEntry(placeOf(state), token)]).catch(failed)
      void taken.then(() => control.abort(options))
    },
  })
}

const closingMs = 1000

/** A store that does not answer does not keep a run from ending. */
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

/** Brings the log to a good end; where even that fails, the log stays as it is and can be resumed. */
async function close(scope: RunScope, error: unknown): Promise<void> {
  const ending = error instanceof RunEnding ? error : new RunEnding('failed', toErrorInfo(error), error)
  try {
    await closeRun(scope, ending)
  } catch (closing) {
    const source = { kind: 'store', name: 'append' } as const
    scope.journal.seal().emit('agent.error', { error: toErrorInfo(closing), source }, scope.step)
  }
}

/** Emits events of a run that never got as far as its log. */
function unlogged(plan: AgentPlan, hub: EventHub, { runId, sessionId }: RunIds): Journal['emit'] {
  let passing = 0
  return (type, payload) => {
    const place = { runId, step: 0, agent: plan.name, at: Date.now() }
    hub.emit(`${sessionId}:0~${passing++}`, place, type, payload)
  }
}

interface RunIds {
  readonly sessionId: string
  readonly runId: string
}

/** A run that its log does not see end: the store failed, or it never got to write. */
async function brokenOff<Output>(
  plan: AgentPlan,
  emit: Journal['emit'],
  ids: RunIds,
  state: LogState,
  thrown: unknown,
): Promise<RunResult<Output>> {
  const aborted = thrown instanceof RunEnding && thrown.status === 'aborted'
  const error = aborted ? undefined : asError(thrown)
  if (error) emit('agent.error', { error: error.toJSON(), source: { kind: 'loop', name: plan.name } })
  const status: RunStatus = aborted ? 'aborted' : 'failed'
  const { error: _, output: __, ...payload } = endPayload(state)
  emit('agent.end', { ...payload, status, ...(error && { error: error.toJSON() }) })
  return brokenResult<Output>(plan, state, ids, error)
}

/** What a run's error says of whatever ended it. */
export function asError(thrown: unknown): ProvostError {
  if (thrown instanceof ProvostError) return thrown
  if (thrown instanceof RunEnding && thrown.status === 'aborted') {
    return new ProvostError('aborted', 'It was aborted before it was done.', {
      hint: 'Nothing has changed: do it again.',
    })
  }
  if (thrown instanceof RunEnding)
    return thrown.info ? fromErrorInfo(thrown.info, thrown.thrown) : asError(thrown.thrown)
  return fromErrorInfo(toErrorInfo(thrown), thrown)
}

/** Whoever listens to the session hears of children as well; extensions that govern children hear of them there. */
function followWithListeners(scope: RunScope, hub: EventHub, isHeard: () => boolean): void {
  for (const extension of scope.entry.listeners) {
    const hook = extension.hooks.event
    if (!hook) continue
    hub.follow((event, by) => {
      const chain = [...by, extension]
      const ctx = observing(scope, extension, chain, event.type === 'agent.error' ? chain : by)
      observe(scope, extension, chain, () => hook(event, ctx))
    }, isHeard)
  }
}

/** Lets the extensions hear of what happens. */
export function hearWithHooks(scope: RunScope, hub: EventHub): void {
  const hearing = new Map<Extension, () => void>()
  const hear = (): void => {
    const hooks = new Map(scope.watchers.event.map((hooked) => [hooked.extension, hooked]))
    for (const [extension, leave] of hearing) {
      if (hooks.has(extension)) continue
      leave()
      hearing.delete(extension)
    }
    for (const [extension, hooked] of hooks) {
      if (!hearing.has(extension)) hearing.set(extension, hearWith(scope, hub, hooked))
    }
  }
  scope.hear = hear
  hear()
}

function hearWith(scope: RunScope, hub: EventHub, { extension, hook, types }: HookedEvent): () => void {
  const alone = [extension]
  let ctx: HookContext | undefined
  const receive = (event: AgentEvent, by: Reaction): void => {
    const chain = by.length === 0 ? alone : [...by, extension]
    const own =
      by.length === 0 && event.type !== 'agent.error'
        ? (ctx ??= observing(scope, extension, alone, by))
        : observing(scope, extension, chain, event.type === 'agent.error' ? chain : by)
    observe(scope, extension, chain, () => hook(event, own))
  }
  return hub.listen(extension, receive, types)
}
