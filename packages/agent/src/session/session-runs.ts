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
import type { Given } from '../types/session.ts'
import type { SendMode } from '../types/stream.ts'
import type { Outbox } from './outbox.ts'
import type { SessionWriter } from './session-writer.ts'

/** The runs of a session object: one at a time, and the next where something is left to do. */
export interface SessionRuns<Output> {
  /** The run that goes on here. */
  underway(): RunHandle<Output> | undefined
  /** The run that the log leaves open, if no run goes on here. */
  open(): RunProgress | undefined
  /** Of the run that goes on, or of the next. */
  mailbox(): PendingInputs
  /** Of the run that goes on, or of the last. */
  tree(): RunTree
  /** The result of the last run here. */
  last(): RunResult<Output> | undefined
  /** @param watched keeps the events for an iterator. */
  start(begin: RunStart<Output>, given: Given, watched: boolean, cause?: Cause): RunHandle<Output>
  /** @throws ProvostError `nothing-to-resume` */
  resume(given: Given, watched?: boolean): RunHandle<Output>
  /** Starts a run with what was said and not taken, unless the log leaves one open. */
  goOn(): void
  /** Brings in what other processes wrote; while a run goes on here, there is nothing of the kind. */
  refresh(): Promise<void>
  /** A run that waits here goes on by itself when the time of something is over. The process is not kept for it. */
  wakeInTime(): void
  /** No run goes on by itself any more. */
  close(): void
  isClosed(): boolean
}

/** Why a run was started. */
export interface Cause {
  /** What was sent, where the run began with it: it is not lost when somebody else has the session. */
  readonly sent?: (QueuedInput & { readonly mode: SendMode }) | undefined
  /** Nobody asked for it in so many words: that somebody else has the session is as good. */
  readonly quiet?: boolean
}

/** What the runs of a session share. */
export interface RunsSetup<Output> {
  readonly id: string
  readonly plan: ResolvedAgent
  readonly known: LogSnapshot
  /** What each of them is given. */
  readonly given: Given
  readonly sendMode: SendMode
  readonly cursor: InboxCursor
  readonly edits: NewEntry[]
  readonly outbox: Outbox
  readonly writer: SessionWriter
  isHeard(): boolean
  track(handle: RunHandle<Output>): void
}

/** Milliseconds until one who found the session busy looks again. */
const busyMs = 1000

/** No run goes on yet. */
export function createRuns<Output>(setup: RunsSetup<Output>): SessionRuns<Output> {
  const { id, plan, known, sendMode, cursor, edits, outbox, writer, isHeard, track } = setup
  const { state } = known
  let mailbox = createPendingInputs()
  let tree = createTree()
  let underway: (Cause & { readonly handle: RunHandle<Output> }) | undefined
  let last: RunResult<Output> | undefined
  let alarm: NodeJS.Timeout | undefined
  let closed = false

  function open(): RunProgress | undefined {
    const { run } = state
    return !underway && (run?.status === 'suspended' || run?.status === 'running') ? run : undefined
  }

  function start(begin: RunStart<Output>, given: Given, watched: boolean, cause: Cause = {}): RunHandle<Output> {
    clearTimeout(alarm)
    mailbox = createPendingInputs(mailbox)
    tree = createTree()
    const host: SessionBinding<Output> = {
      known,
      cursor,
      mailbox,
      tree,
      edits,
      ready: writer.underway,
      isHeard,
      settle,
    }
    const handle = startRun<Output>(plan, begin, { ...setup.given, ...given, sessionId: id }, watched, host)
    underway = { handle, ...cause }
    track(handle)
    return handle
  }

  /** A run is over: what came too late for it goes on with the next. */
  function settle(result: RunResult<Output>): void {
    const { sent, quiet = false } = underway ?? {}
    underway = undefined
    const code = result.status === 'failed' ? result.error.code : undefined
    if (code === undefined) wakeInTime()
    // Whoever has it sees to it; should they die, their lease runs out.
    else if (code === 'session-busy') wakeInTime(busyMs)
    // What made it fail may do so again: it is not tried for what is over already.
    else if (nextDeadline(state) > Date.now()) wakeInTime()
    if (code === 'session-busy' && sent) return handOver(sent)
    if (code === 'session-busy' && quiet) return
    // Whoever took it says what came of it.
    if (code === 'already-taken' && sent?.token !== undefined) return goOn()
    last = result
    // Nothing of a run that ended waits any more.
    if (result.status !== 'suspended') mailbox.decisions.length = 0
    if (result.status === 'completed') goOn()
    else if (result.status === 'suspended' && somethingDue()) resume({})
  }

  function wakeInTime(afterMs = 0): void {
    clearTimeout(alarm)
    const first = open()?.status === 'suspended' ? nextDeadline(state) : Number.POSITIVE_INFINITY
    if (closed || !Number.isFinite(first)) return
    const deadline = Math.max(first, Date.now() + afterMs)
    alarm = setTimeout(() => outbox.watch(goOnInTime()), timerMs(deadline))
    alarm.unref()
  }

  async function goOnInTime(): Promise<void> {
    await refresh()
    if (closed || underway) return
    // Somebody else may have gone on with it, and it may wait again.
    if (open()?.status === 'suspended' && expiredWaits(state).length > 0) resume({})
    else wakeInTime()
  }

  function goOn(): void {
    if (open()) return
    const next = takeNext(mailbox.steers, state.resolved) ?? takeNext(mailbox.followUps, state.resolved)
    if (!next) return
    const { input, token, signal } = next
    const sent = { ...next, mode: sendMode }
    start({ input, ...(token !== undefined && { token }) }, signal ? { signal } : {}, false, { sent })
  }

  function somethingDue(): boolean {
    for (const token of mailbox.deliveries.keys()) if (state.waits.has(token)) return true
    return mailbox.decisions.some((decisions) => dueDecisions(state, decisions).due !== undefined)
  }

  function resume(given: Given, watched = false): RunHandle<Output> {
    const { run } = state
    if (!run || run.status === 'completed') throw nothingToResume(id)
    const at = { sessionId: id, runId: run.id, offset: offsetOf(state) }
    return start({ resume: localState<Output>(run.manifest, at), own: true }, given, watched, { quiet: !watched })
  }

  /** Somebody else runs the session: it is said to them. Should they be gone by then, it is said here after all. */
  function handOver(sent: NonNullable<Cause['sent']>): void {
    const { mode, ...said } = sent
    const { input, signal } = said
    if (said.token !== undefined) {
      // Delivered, it is with whoever has the session. Should they die of it, the next run here says it, once.
      cursor.own.add(said.token)
      if (mode === 'steer') mailbox.steers.unshift(said)
      else mailbox.followUps.unshift(said)
      return
    }
    const token = `${sendToken}${uuidv7()}`
    const again = (): void => {
      if (!underway && !open()) start({ input, token }, signal ? { signal } : {}, false, { sent: { ...sent, token } })
    }
    outbox.send(token, { mode, input: toJson(input) }, again)
  }

  async function refresh(): Promise<void> {
    if (underway || writer.underway()) return
    const news = await readLog(plan.store, id, offsetOf(state))
    if (!underway && !writer.underway()) applyEntries(known, news)
  }

  return {
    underway: () => underway?.handle,
    open,
    mailbox: () => mailbox,
    tree: () => tree,
    last: () => last,
    start,
    resume,
    goOn,
    refresh,
    wakeInTime: () => wakeInTime(),
    close() {
      clearTimeout(alarm)
      closed = true
    },
    isClosed: () => closed,
  }
}
