import type { NewEntry, RunResult } from '@provost/core'
import { toJson, uuidv7 } from '@provost/core'

import { dueDecisions } from '../entries/decision-entries.ts'
import { createPendingInputs, takeNext } from '../inbox/pending-inputs.ts'
import { applyEntries, readLog } from '../log/log-snapshot.ts'
import { sendToken } from '../messages/child-message.ts'
import { localState } from '../result/run-state-data.ts'
import { nothingToResume } from '../result/session-error.ts'
import { startRun } from '../run/start-run.ts'
import { offsetOf } from '../state/session-state.ts'
import { expiredWaits, nextDeadline, timerMs } from '../state/wait-deadlines.ts'
import { createTree } from '../tree/run-tree.ts'
import type { InboxCursor, PendingInputs, QueuedInput } from '../types/inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunHandle, RunStart, SessionBinding } from '../types/run-context.ts'
import type { RunTree } from '../types/run-tree.ts'
import type { RunProgress } from '../types/session-state.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import type { SendMode } from '../types/stream.ts'
import type { Outbox } from './outbox.ts'
import type { SessionWriter } from './session-writer.ts'

/** The runs of a session object. One runs at a time; queued input starts the next. */
export interface SessionRuns<Output> {
  /** The active run of this process. */
  activeRun(): RunHandle<Output> | undefined
  /** The run that is open in the log, if no run is active here. */
  openRun(): RunProgress | undefined
  /** The pending inputs of the active run, or of the next one. */
  pendingInputs(): PendingInputs
  /** The tree of the active run, or of the last one. */
  tree(): RunTree
  /** The result of the last run here. */
  last(): RunResult<Output> | undefined
  /** @param watched keeps the events for an iterator. */
  start(begin: RunStart<Output>, options: UntypedRunOptions, watched: boolean, cause?: RunCause): RunHandle<Output>
  /** @throws ProvostError `nothing-to-resume` */
  resume(options: UntypedRunOptions, watched?: boolean): RunHandle<Output>
  /** Starts a run with the next queued input, unless a run is open in the log. */
  startNext(): void
  /** Reads entries that other processes wrote. Does nothing while a run is active here. */
  refresh(): Promise<void>
  /** Sets a timer that resumes a suspended run when a wait expires. The timer does not keep the process alive. */
  scheduleWake(): void
  /** Stops the timer. No run resumes by itself after that. */
  close(): void
  isClosed(): boolean
}

/** Why a run was started. */
export interface RunCause {
  /** The input that started the run. It is handed over if another process has the session. */
  readonly sent?: (QueuedInput & { readonly mode: SendMode }) | undefined
  /** No caller requested the run, so a busy session is no failure. */
  readonly isAutomatic?: boolean
}

/** The parameters shared by the runs of a session. */
export interface RunsSetup<Output> {
  readonly id: string
  readonly agent: ResolvedAgent
  readonly snapshot: LogSnapshot
  /** Options for each run. */
  readonly options: UntypedRunOptions
  readonly sendMode: SendMode
  readonly cursor: InboxCursor
  readonly pendingEdits: NewEntry[]
  readonly outbox: Outbox
  readonly writer: SessionWriter
  hasListener(): boolean
  track(handle: RunHandle<Output>): void
}

/** Milliseconds before a process that found the session busy tries again. */
const busyMs = 1000

/** Creates the runs of a session object, with no active run. */
export function createRuns<Output>(setup: RunsSetup<Output>): SessionRuns<Output> {
  const { id, agent, snapshot, sendMode, cursor, pendingEdits, outbox, writer, hasListener, track } = setup
  const { state } = snapshot
  let pendingInputs = createPendingInputs()
  let tree = createTree()
  let underway: (RunCause & { readonly handle: RunHandle<Output> }) | undefined
  let last: RunResult<Output> | undefined
  let alarm: NodeJS.Timeout | undefined
  let closed = false

  function openRun(): RunProgress | undefined {
    const { run } = state
    return !underway && (run?.status === 'suspended' || run?.status === 'running') ? run : undefined
  }

  function start(
    begin: RunStart<Output>,
    options: UntypedRunOptions,
    watched: boolean,
    cause: RunCause = {},
  ): RunHandle<Output> {
    clearTimeout(alarm)
    pendingInputs = createPendingInputs(pendingInputs)
    tree = createTree()
    const host: SessionBinding<Output> = {
      snapshot,
      cursor,
      pendingInputs,
      tree,
      pendingEdits,
      ready: writer.underway,
      hasListener,
      settle,
    }
    const handle = startRun<Output>(agent, begin, { ...setup.options, ...options, sessionId: id }, watched, host)
    underway = { handle, ...cause }
    track(handle)
    return handle
  }

  /** Handles the end of a run. Input that arrived too late starts the next one. */
  function settle(result: RunResult<Output>): void {
    const { sent, isAutomatic = false } = underway ?? {}
    underway = undefined
    const code = result.status === 'failed' ? result.error.code : undefined
    if (code === undefined) scheduleWake()
    // The process with the lease handles the wait. If it dies, its lease expires before the retry.
    else if (code === 'session-busy') scheduleWake(busyMs)
    // A retry may fail again, so the run is not resumed for deadlines that have passed.
    else if (nextDeadline(state) > Date.now()) scheduleWake()
    if (code === 'session-busy' && sent) return deliverToOwner(sent)
    if (code === 'session-busy' && isAutomatic) return
    // The run that took the input reports its result.
    if (code === 'already-taken' && sent?.token !== undefined) return startNext()
    last = result
    // A run that has ended has no waits.
    if (result.status !== 'suspended') pendingInputs.decisions.length = 0
    if (result.status === 'completed') startNext()
    else if (result.status === 'suspended' && hasDueWork()) resume({})
  }

  function scheduleWake(afterMs = 0): void {
    clearTimeout(alarm)
    const first = openRun()?.status === 'suspended' ? nextDeadline(state) : Number.POSITIVE_INFINITY
    if (closed || !Number.isFinite(first)) return
    const deadline = Math.max(first, Date.now() + afterMs)
    alarm = setTimeout(() => outbox.watch(resumeWhenDue()), timerMs(deadline))
    alarm.unref()
  }

  async function resumeWhenDue(): Promise<void> {
    await refresh()
    if (closed || underway) return
    // Another process may have resumed the run, and it may wait again.
    if (openRun()?.status === 'suspended' && expiredWaits(state).length > 0) resume({})
    else scheduleWake()
  }

  function startNext(): void {
    if (openRun()) return
    const next =
      takeNext(pendingInputs.steering, state.resolvedWaits) ?? takeNext(pendingInputs.followUps, state.resolvedWaits)
    if (!next) return
    const { input, token, signal } = next
    const sent = { ...next, mode: sendMode }
    start({ input, ...(token !== undefined && { token }) }, signal ? { signal } : {}, false, { sent })
  }

  function hasDueWork(): boolean {
    for (const token of pendingInputs.deliveries.keys()) if (state.waits.has(token)) return true
    return pendingInputs.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
  }

  function resume(options: UntypedRunOptions, watched = false): RunHandle<Output> {
    const { run } = state
    if (!run || run.status === 'completed') throw nothingToResume(id)
    const at = { sessionId: id, runId: run.id, offset: offsetOf(state) }
    return start({ resume: localState<Output>(run.manifest, at), fromOwnLog: true }, options, watched, {
      isAutomatic: !watched,
    })
  }

  /** Delivers input to the process that has the session. If that process has gone, the input starts a run here. */
  function deliverToOwner(sent: NonNullable<RunCause['sent']>): void {
    const { mode, ...queued } = sent
    const { input, signal } = queued
    if (queued.token !== undefined) {
      // The inbox already has the input. If the other process dies, the next run here takes it, once.
      cursor.ownTokens.add(queued.token)
      if (mode === 'steer') pendingInputs.steering.unshift(queued)
      else pendingInputs.followUps.unshift(queued)
      return
    }
    const token = `${sendToken}${uuidv7()}`
    const again = (): void => {
      if (!underway && !openRun())
        start({ input, token }, signal ? { signal } : {}, false, { sent: { ...sent, token } })
    }
    outbox.send(token, { mode, input: toJson(input) }, again)
  }

  async function refresh(): Promise<void> {
    if (underway || writer.underway()) return
    const news = await readLog(agent.store, id, offsetOf(state))
    if (!underway && !writer.underway()) applyEntries(snapshot, news)
  }

  return {
    activeRun: () => underway?.handle,
    openRun,
    pendingInputs: () => pendingInputs,
    tree: () => tree,
    last: () => last,
    start,
    resume,
    startNext,
    refresh,
    scheduleWake: () => scheduleWake(),
    close() {
      clearTimeout(alarm)
      closed = true
    },
    isClosed: () => closed,
  }
}
