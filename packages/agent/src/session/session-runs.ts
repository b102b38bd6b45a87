import type { ClockTimer, NewEntry, RunResult } from '@provost/core'

import { dueDecisions } from '../entries/decision-entries.ts'
import { firstInput } from '../inbox/drain.ts'
import { createPendingInputs } from '../inbox/pending-inputs.ts'
import { applyEntries, readLog } from '../log/log-snapshot.ts'
import { isAwaited } from '../messages/child-message.ts'
import { localState } from '../result/run-state-data.ts'
import { nothingToResume, runElsewhere } from '../result/session-error.ts'
import { startRun } from '../run/start-run.ts'
import { expiredWaits, nextDeadline, timerMs } from '../state/wait-deadlines.ts'
import { budgetExceeded } from '../tree/budget-extension.ts'
import { grantTimer } from '../tree/grant-timer.ts'
import { createTree } from '../tree/run-tree.ts'
import type { Inbox, PendingInputs } from '../types/inputs.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { InboxStart, Peers, RunHandle, RunStart, SessionBinding } from '../types/run-context.ts'
import type { ParentRun, RunTree } from '../types/run-tree.ts'
import type { RunProgress } from '../types/session-state.ts'
import type { UntypedRunOptions } from '../types/session.ts'
import type { Background } from './background.ts'
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
  start(begin: RunStart<Output>, options: UntypedRunOptions, watched: boolean): RunHandle<Output>
  /** @throws ProvostError `nothing-to-resume` */
  resume(options: UntypedRunOptions, watched?: boolean): RunHandle<Output>
  /** Starts a run with the first unread input of the inbox. */
  startFromInbox(options?: UntypedRunOptions): void
  /** Does the same if such input was read and no run is open in the log. */
  startNext(): void
  /** Whether a decision on what the open run waits for has arrived. */
  hasDueWork(): boolean
  /** Reads entries that other processes wrote. Does nothing while a run is active here. */
  refresh(): Promise<void>
  /** Sets a timer that resumes a suspended run when a wait expires. The timer does not keep the process alive. */
  scheduleWake(): void
  /** Stops the timer until the next run. */
  stopWaking(): void
  /** Stops the timer. No run resumes by itself after that. */
  close(): void
  isClosed(): boolean
}

/** The parameters shared by the runs of a session. */
export interface RunsSetup<Output> {
  readonly id: string
  readonly agent: ResolvedAgent
  readonly snapshot: LogSnapshot
  /** Options for each run. */
  readonly options: UntypedRunOptions
  readonly inbox: Inbox
  readonly pendingEdits: NewEntry[]
  readonly background: Background
  readonly writer: SessionWriter
  hasListener(): boolean
  /** Absent in a session whose children run in its process. */
  readonly peers: Peers | undefined
  /** Of the session of a child: its parent runs elsewhere. */
  readonly parentRun: ParentRun | undefined
  track(handle: RunHandle<Output>): void
}

/** Milliseconds before a process that found the session busy tries again. */
const busyMs = 1000

/** Creates the runs of a session object, with no active run. */
export function createRuns<Output>(setup: RunsSetup<Output>): SessionRuns<Output> {
  const { id, agent, snapshot, inbox, pendingEdits, background, writer, hasListener, track, peers, parentRun } = setup
  const { state } = snapshot
  const { clock } = state
  let pendingInputs = createPendingInputs()
  let tree = createTree()
  /** No caller requested an automatic run, so a busy session is no failure. */
  let underway: { readonly handle: RunHandle<Output>; readonly isAutomatic: boolean } | undefined
  let last: RunResult<Output> | undefined
  let alarm: ClockTimer | undefined
  let closed = false

  function openRun(): RunProgress | undefined {
    const { run } = state
    return !underway && (run?.status === 'suspended' || run?.status === 'running') ? run : undefined
  }

  function start(
    begin: RunStart<Output> | InboxStart,
    options: UntypedRunOptions,
    watched: boolean,
    isAutomatic = false,
  ): RunHandle<Output> {
    if (parentRun && !('resume' in begin) && (state.run || !('fromInbox' in begin))) throw runElsewhere(id)
    alarm?.cancel()
    pendingInputs = createPendingInputs(pendingInputs)
    tree = createTree()
    const host: SessionBinding<Output> = {
      snapshot,
      inbox,
      pendingInputs,
      tree,
      pendingEdits,
      ready: writer.underway,
      hasListener,
      peers,
      settle,
    }
    const handle = startRun<Output>(
      agent,
      begin,
      { ...setup.options, ...options, sessionId: id },
      watched,
      host,
      parentRun,
    )
    const timer = grantTimer(parentRun?.grant, state, (ms) =>
      handle.fail({ code: budgetExceeded, message: `The grant of ${ms} ms is used up.` }),
    )
    if (timer) void handle.ended.then(() => timer.cancel())
    underway = { handle, isAutomatic }
    track(handle)
    return handle
  }

  /** Handles the end of a run. Input that it did not take starts the next one. */
  function settle(result: RunResult<Output>): void {
    const { isAutomatic = false } = underway ?? {}
    underway = undefined
    const code = result.status === 'failed' ? result.error.code : undefined
    if (code === undefined) scheduleWake()
    // The process with the lease handles the wait. If it dies, its lease expires before the retry.
    else if (code === 'session-busy') scheduleWake(busyMs)
    // A retry may fail again, so the run is not resumed for deadlines that have passed.
    else if (nextDeadline(state) > clock.now()) scheduleWake()
    // The process with the lease takes the input from the inbox.
    if (isAutomatic && (code === 'session-busy' || code === 'already-taken')) return
    last = result
    // A run that has ended has no waits.
    if (result.status !== 'suspended') pendingInputs.decisions.length = 0
    if (result.status === 'completed') startNext()
    else if (result.status === 'suspended' && hasDueWork()) resume({})
  }

  function scheduleWake(afterMs = 0): void {
    alarm?.cancel()
    const first = openRun()?.status === 'suspended' ? nextDeadline(state) : Number.POSITIVE_INFINITY
    if (closed || !Number.isFinite(first)) return
    const deadline = Math.max(first, clock.now() + afterMs)
    const due = (): void => background.watch(resumeWhenDue())
    alarm = clock.timer(due, timerMs(clock, deadline), { background: true })
  }

  async function resumeWhenDue(): Promise<void> {
    await refresh()
    if (closed || underway) return
    // Another process may have resumed the run, and it may wait again.
    if (openRun()?.status === 'suspended' && expiredWaits(state).length > 0) resume({})
    else scheduleWake()
  }

  function startFromInbox(options: UntypedRunOptions = {}): void {
    // A child has one run.
    if (parentRun && state.run) return
    start({ fromInbox: true }, options, false, true)
  }

  function startNext(): void {
    if (!openRun() && firstInput(inbox, agent)) startFromInbox()
  }

  function hasDueWork(): boolean {
    for (const token of inbox.answers.keys()) if (isAwaited(state, token)) return true
    return pendingInputs.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
  }

  function resume(options: UntypedRunOptions, watched = false): RunHandle<Output> {
    const { run } = state
    if (!run || run.status === 'completed') throw nothingToResume(id)
    const at = { sessionId: id, runId: run.id, offset: state.offset }
    return start({ resume: localState<Output>(run.manifest, at), fromOwnLog: true }, options, watched, !watched)
  }

  async function refresh(): Promise<void> {
    if (underway || writer.underway()) return
    const news = await readLog(agent.store, id, state.offset)
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
    startFromInbox,
    startNext,
    hasDueWork,
    refresh,
    scheduleWake: () => scheduleWake(),
    stopWaking: () => alarm?.cancel(),
    close() {
      alarm?.cancel()
      closed = true
    },
    isClosed: () => closed,
  }
}
