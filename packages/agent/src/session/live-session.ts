import type { Decisions, Extension, Input, NewEntry, RunResult, SessionStatus, SessionStore } from '@provost/core'
import { SessionBusyError, toJson, uuidv7 } from '@provost/core'
import { forkSession } from '@provost/sessions'

import type { AbortControl } from '../abort-control.ts'
import { createAbortControl } from '../abort-control.ts'
import type { SendMode } from '../agent-options.ts'
import type { AgentPlan } from '../agent-plan.ts'
import type { Given } from '../agent.ts'
import { expiredWaits, nextDeadline, timerMs } from '../deadline.ts'
import { hookTable } from '../hook-table.ts'
import { abortToken, inboxCursor } from '../inbox.ts'
import { messagesOf } from '../input.ts'
import { learn, readLog } from '../known-log.ts'
import { isRunId, letterValue, sendToken, standingOf } from '../letter.ts'
import type { Letter, Standing } from '../letter.ts'
import { createTree } from '../lineage.ts'
import type { RunFold } from '../log-state.ts'
import { offsetOf } from '../log-state.ts'
import type { Sent } from '../mailbox.ts'
import { createMailbox, takeNext, wake } from '../mailbox.ts'
import { pendingWork } from '../position.ts'
import { sendOff } from '../post.ts'
import { dueDecisions, resolvedEntries } from '../resolution.ts'
import { asError } from '../run-error.ts'
import type { RunHandle } from '../run-handle.ts'
import type { RunHost } from '../run-host.ts'
import type { RunStart } from '../run-start.ts'
import { localState } from '../run-state.ts'
import { startRun } from '../run.ts'
import { compactSession } from './compact-session.ts'
import { findBelow } from './find-below.ts'
import { createLedger } from './ledger.ts'
import { createListeners } from './listeners.ts'
import { createMessageEdits } from './message-edits.ts'
import type { Opened } from './origin.ts'
import { reopenSession } from './origin.ts'
import { createOutbox } from './outbox.ts'
import {
  alreadyDecided,
  nothingCompacts,
  nothingToResume,
  sessionClosed,
  sessionOpen,
  unknownMode,
  unknownRun,
  waitExpired,
} from './session-error.ts'
import { staleEdits, writeBetweenRuns } from './session-log.ts'
import { keepRunner } from './session-runner.ts'
import { runStopHooks } from './session-stop.ts'
import type { Session, SessionOptions } from './session.ts'

/** What a session is opened with. */
export interface SessionSetup<Output> {
  readonly plan: AgentPlan
  /** The agent's own plan: that of the session may have more extensions. */
  readonly agentPlan: AgentPlan
  readonly options: SessionOptions & { readonly context?: unknown }
  /** The agent keeps count of its runs, to abort them. */
  track(handle: RunHandle<Output>): void
}

interface Underway<Output> {
  readonly handle: RunHandle<Output>
  /** What was sent, where the run began with it: it is not lost when somebody else has the session. */
  readonly sent?: (Sent & { readonly mode: SendMode }) | undefined
  /** Nobody asked for it in so many words: that somebody else has the session is as good. */
  readonly quiet: boolean
}

/** Milliseconds until one who found the session busy looks again. */
const busyMs = 1000

/** A session over its log. Everything that outlives this object is in the log or in the store's inbox. */
export function liveSession<Output, App>(setup: SessionSetup<Output>, opened: Opened): Session<Output, App> {
  const { options, track } = setup
  const { id, known, origin } = opened
  const { state } = known
  const store = options.store ?? setup.plan.store
  const listeners = createListeners()
  const { scrubber } = setup.plan.secrets
  const plan = governedBy(setup.plan, store, [listeners.hearer, listeners.judge])
  const sendMode = options.sendMode ?? plan.sendMode
  const principal = options.principal ?? origin.principal
  const base: Given = {
    sessionId: id,
    ...(principal && { principal }),
    ...(options.onApproval && { onApproval: options.onApproval }),
    ...(options.onInput && { onInput: options.onInput }),
    ...('context' in options && { context: options.context }),
  }
  const cursor = inboxCursor()
  const edits = createMessageEdits(id, plan.name, state, mayEdit)
  const ledger = createLedger(state)
  const outbox = createOutbox(store, id, scrubber, principal?.id ?? 'session')
  let mailbox = createMailbox()
  let tree = createTree()
  let underway: Underway<Output> | undefined
  let writing: Promise<void> | undefined
  let compacting: AbortControl | undefined
  let last: RunResult<Output> | undefined
  let closing: Promise<void> | undefined
  let alarm: NodeJS.Timeout | undefined

  function alive(): void {
    if (closing) throw sessionClosed(id)
  }

  /** The run that the log leaves open, if no run goes on here. */
  function openRun(): RunFold | undefined {
    const { run } = state
    return run?.status === 'suspended' || run?.status === 'running' ? run : undefined
  }

  function mayEdit(): void {
    alive()
    if (underway || openRun()) throw sessionOpen(id, underway ? 'goes on' : 'waits')
  }

  function start(
    begin: RunStart<Output>,
    given: Given,
    watched: boolean,
    { sent, quiet = false }: Partial<Omit<Underway<Output>, 'handle'>> = {},
  ): RunHandle<Output> {
    clearTimeout(alarm)
    mailbox = createMailbox(mailbox)
    tree = createTree()
    const host: RunHost<Output> = {
      known,
      cursor,
      mailbox,
      tree,
      edits: edits.entries,
      ready: () => writing,
      isHeard: listeners.isHeard,
      settle,
    }
    const handle = startRun<Output>(plan, begin, { ...base, ...given, sessionId: id }, watched, host)
    underway = { handle, sent, quiet }
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
    if (code === 'session-busy' && sent) return handOver(sent)
    if (code === 'session-busy' && quiet) return
    // Whoever took it says what came of it.
    if (code === 'already-taken' && sent?.token !== undefined) return goOn()
    last = result
    // Nothing of a run that ended waits any more.
    if (result.status !== 'suspended') mailbox.decisions.length = 0
    if (result.status === 'completed') goOn()
    else if (result.status === 'suspended' && somethingDue()) goOnWithRun()
  }

  /** A run that waits here goes on by itself when the time of something is over. The process is not kept for it. */
  function wakeInTime(afterMs = 0): void {
    clearTimeout(alarm)
    const first = openRun()?.status === 'suspended' ? nextDeadline(state) : Number.POSITIVE_INFINITY
    if (closing || underway || !Number.isFinite(first)) return
    const deadline = Math.max(first, Date.now() + afterMs)
    alarm = setTimeout(() => outbox.watch(goOnInTime()), timerMs(deadline))
    alarm.unref()
  }

  async function goOnInTime(): Promise<void> {
    await refresh()
    if (closing || underway) return
    // Somebody else may have gone on with it, and it may wait again.
    if (openRun()?.status === 'suspended' && expiredWaits(state).length > 0) goOnWithRun()
    else wakeInTime()
  }

  function goOn(): void {
    if (openRun()) return
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

  function resumeHere(given: Given, watched = false): RunHandle<Output> {
    const { run } = state
    if (!run || run.status === 'completed') throw nothingToResume(id)
    const at = { sessionId: id, runId: run.id, offset: offsetOf(state) }
    return start({ resume: localState<Output>(run.manifest, at), own: true }, given, watched, { quiet: !watched })
  }

  function goOnWithRun(): void {
    resumeHere({})
  }

  /** Somebody else runs the session: it is said to them. Should they be gone by then, it is said here after all. */
  function handOver(sent: Sent & { readonly mode: SendMode }): void {
    // Once delivered it is with whoever has the session, and looks there for it before letting go.
    if (sent.token !== undefined) return
    const token = `${sendToken}${uuidv7()}`
    const again = (): void => {
      cursor.own.delete(token)
      if (!underway && !openRun()) start({ input: sent.input, token }, {}, false, { sent: { ...sent, token } })
    }
    deliver(token, { mode: sent.mode, input: toJson(sent.input) }, again)
  }

  function deliver(token: string, value: unknown, then: () => void | Promise<void>): void {
    outbox.watch(outbox.put(token, value).then(then))
  }

  /** To a run that goes on here: whether it is there is known at once. */
  function sendBelow(input: Input, to: string, mode: SendMode, token: string, signal: AbortSignal | undefined): void {
    const found = standingOf(state, to, tree.logs)
    if (!found) throw unknownRun(id, to)
    const letter = letterTo(input, to, mode, token, found)
    sendOff(tree, { to, token, signal })
    mailbox.letters.push({ ...letter, token, ...(principal && { by: principal.id }), ...(signal && { signal }) })
    cursor.own.add(token)
    wake(mailbox)
    deliver(token, letterValue(letter), () => {})
  }

  /** To one that goes on elsewhere, or waits: its logs have to be read. */
  async function deliverBelow(
    input: Input,
    to: string,
    mode: SendMode,
    token: string,
    signal?: AbortSignal,
  ): Promise<'accepted' | 'duplicate'> {
    await refresh()
    if (state.resolved.has(token)) return 'duplicate'
    const open = underway ? state.run : openRun()
    if (open?.id === to) return outbox.put(token, { mode, input: messagesOf(input, token, plan.name) })
    const found = open && (await findBelow(store, state, to))
    if (!found) throw unknownRun(id, to)
    if (signal?.aborted) return 'accepted'
    return outbox.put(token, letterValue(letterTo(input, to, mode, token, found)))
  }

  /** One that waits reads it when it would end. */
  function letterTo(input: Input, to: string, mode: SendMode, token: string, found: Standing): Omit<Letter, 'token'> {
    const agent = 'agent' in found ? found.agent : plan.name
    const waits = 'isPaused' in found && (found.isPaused || (!underway && state.run?.status === 'suspended'))
    return { to, mode: waits ? 'queue' : mode, input: messagesOf(input, token, agent) }
  }

  /** The run that this object takes for open may have ended elsewhere: then nobody is there to take what was sent. */
  async function goOnIfEnded(): Promise<void> {
    if (underway) return
    await refresh()
    if (!underway) goOn()
  }

  /** Brings in what other processes wrote; while a run goes on here, there is nothing of the kind. */
  async function refresh(): Promise<void> {
    if (underway || writing) return
    const news = await readLog(store, id, offsetOf(state))
    if (!underway && !writing) learn(known, news)
  }

  function write(draft: () => readonly NewEntry[]): Promise<void> {
    return betweenRuns(() =>
      writeBetweenRuns(store, id, known, scrubber, (news) => {
        const drafts = [...edits.entries.splice(0), ...draft()]
        if (drafts.length > 0 && news.length > 0) throw staleEdits(id)
        return drafts
      }),
    )
  }

  /** One after the other, and none while a run goes on. */
  function betweenRuns(task: () => Promise<void>): Promise<void> {
    const before = writing ?? Promise.resolve()
    const work = before.then(task).finally(() => {
      if (writing === settled) writing = undefined
    })
    // Whoever waits for the lease only wants it to be free.
    const settled = work.catch(() => {})
    writing = settled
    return work
  }

  async function compactHere(): Promise<void> {
    const control = createAbortControl(createMailbox())
    compacting = control
    try {
      await compactSession({ plan, id, known, given: base, edits: edits.entries, control })
    } finally {
      compacting = undefined
      control.release()
    }
  }

  async function idle(): Promise<void> {
    for (;;) {
      const busy = underway?.handle.ended ?? writing ?? outbox.underway()
      const answers = busy ? undefined : listeners.answering()
      if (busy) await busy
      else if (answers) await answers
      else if (edits.entries.length > 0) await write(() => [])
      else return
    }
  }

  function startHere(input: Input, given: Given, watched: boolean): RunHandle<Output> {
    alive()
    if (underway) throw new SessionBusyError(id)
    return start({ input }, given, watched)
  }

  const session: Session<Output, App> = {
    id,
    messages: edits.messages,
    repairs: origin.repairs,
    get status(): SessionStatus {
      if (closing) return 'closed'
      if (underway) return 'running'
      if (openRun()) return 'suspended'
      return (last ?? state.run)?.status === 'failed' ? 'failed' : 'idle'
    },
    get model() {
      return state.run?.lastAttempt?.model ?? plan.modelName
    },
    get usage() {
      return ledger.usage()
    },
    get cost() {
      return ledger.cost()
    },
    get pending() {
      return pendingWork(state)
    },

    send(input, { mode = sendMode, signal, to } = {}) {
      alive()
      if (mode !== 'steer' && mode !== 'queue') throw unknownMode(mode)
      const token = `${sendToken}${uuidv7()}`
      // What cannot be said is refused to whoever says it, not to the run.
      const messages = messagesOf(input, token, plan.name)
      if (to !== undefined && to !== (underway?.handle.runId ?? openRun()?.id)) {
        if (!isRunId(to)) throw unknownRun(id, to)
        if (underway) sendBelow(input, to, mode, token, signal)
        else outbox.watch(deliverBelow(input, to, mode, token, signal))
        return
      }
      const aside = signal ? { signal } : {}
      if (!underway && !openRun()) {
        start({ input }, aside, false, { sent: { input: messages, mode, ...aside } })
        return
      }
      // One that goes on elsewhere is steered there.
      const entering = underway || openRun()?.status === 'running' ? mode : 'queue'
      const sent: Sent = { input: messages, token, ...(principal && { by: principal.id }), ...aside }
      if (entering === 'steer') mailbox.steers.push(sent)
      else mailbox.followUps.push(sent)
      // In the store too: a process that dies now takes nothing of it along.
      cursor.own.add(token)
      deliver(token, { mode: entering, input: messages }, goOnIfEnded)
    },

    async deliver(input, { mode = sendMode, key, maxSteps, to } = {}) {
      alive()
      if (mode !== 'steer' && mode !== 'queue') throw unknownMode(mode)
      const token = `${sendToken}${key ?? uuidv7()}`
      const messages = messagesOf(input, token, plan.name)
      if (to !== undefined && to !== (underway?.handle.runId ?? openRun()?.id))
        return deliverBelow(input, to, mode, token)
      const entering = underway || openRun()?.status === 'running' ? mode : 'queue'
      const said = await outbox.put(token, { mode: entering, input: messages })
      // A run that goes on looks there for it. Where none does, it starts one, also if whoever said it first died before.
      if (!underway) await refresh()
      if (!underway && !closing && !openRun() && !state.resolved.has(token)) {
        start({ input: messages, token }, maxSteps === undefined ? {} : { maxSteps }, false, {
          sent: { input: messages, token, mode },
        })
      }
      return said
    },

    stream: (input: Input, given: Given = {}) => startHere(input, given, true),

    resume(decisions = {}) {
      alive()
      if (underway) throw new SessionBusyError(id)
      return resumeHere(decisions, true)
    },

    async resolve(decisions: Decisions) {
      alive()
      if (!underway) await refresh()
      const { due = {}, early } = underway ? dueDecisions(state, decisions) : { due: decisions }
      // The run that is alive may get to ask for them.
      if (early && underway) await underway.handle.resolve(early)
      const entries = resolvedEntries(state, due).entries
      const over = new Set(expiredWaits(state).map(({ token }) => token))
      const inTime = entries.filter((entry) => entry.type === 'resolved' && !over.has(entry.token))
      const work = outbox.decide(inTime)
      const arriving = work.then(
        () => {},
        () => {},
      )
      mailbox.arriving.add(arriving)
      void arriving.then(() => mailbox.arriving.delete(arriving))
      const tooLate = entries.length - inTime.length
      const late = countOf(due) - tooLate - (await work)
      // Where somebody else has the run, it is delivered to them.
      if (!underway && openRun()) resumeHere({})
      if (tooLate > 0) throw waitExpired(entries.flatMap((one) => (inTime.includes(one) ? [] : [tokenOf(one)])))
      if (late > 0) throw alreadyDecided(late)
    },

    async waitForIdle() {
      alive()
      await idle()
      const fault = outbox.takeFault()
      if (fault !== undefined) throw fault
      if (last?.status === 'failed') throw last.error
      return last
    },

    on(type, listener) {
      alive()
      listeners.add(type, listener)
      return session
    },
    off(type, listener) {
      listeners.remove(type, listener)
      return session
    },

    async fork({ at } = {}) {
      alive()
      // The log is what is copied: what was edited has to be in it.
      if (!underway && edits.entries.length > 0) await write(() => [])
      const { sessionId } = await forkSession(store, id, at === undefined ? {} : { at })
      const { principal: _, onApproval: __, onInput: ___, ...rest } = options
      const branch = await reopenSession(plan, store, sessionId)
      return liveSession<Output, App>({ ...setup, options: { ...rest, store } }, branch)
    },

    async compact() {
      alive()
      if (plan.hooks.context.length === 0) throw nothingCompacts(id, plan.name)
      for (;;) {
        if (!underway) return betweenRuns(compactHere)
        const asked = Promise.withResolvers<void>()
        const { compactions } = mailbox
        compactions.push(asked)
        const ended = underway.handle.ended.then(() => true)
        const over = await Promise.race([asked.promise, ended]).catch((thrown: unknown) => {
          throw asError(thrown)
        })
        // The run has asked no model any more: it is done without it.
        if (!over || !compactions.includes(asked)) return
        compactions.splice(compactions.indexOf(asked), 1)
      }
    },

    async reset() {
      edits.reset()
      await write(() => [])
    },

    async abort(abortOptions) {
      alive()
      compacting?.abort()
      await refresh()
      if (underway) return underway.handle.abort(abortOptions)
      const run = openRun()
      if (!run) return
      const handle = resumeHere({})
      await handle.abort(abortOptions)
      const result = await handle.result
      if (result.status !== 'failed' || result.error.code !== 'session-busy') return
      const value = { runId: run.id, options: { ...abortOptions } }
      await outbox.put(`${abortToken}${uuidv7()}`, value)
    },

    close() {
      clearTimeout(alarm)
      closing ??= (async () => {
        await idle()
        await runStopHooks({
          plan,
          id,
          principal,
          context: options.context,
          known,
          write: (entries) => write(() => entries),
        })
      })()
      return closing
    },
  }
  wakeInTime()
  Object.freeze(session)
  const { extensions = [] } = options
  keepRunner(session, { plan: setup.agentPlan, judge: listeners.judge, extensions, start: startHere })
  return session
}

function tokenOf(entry: NewEntry): string {
  return entry.type === 'resolved' ? entry.token : entry.id
}

function countOf({ approvals, toolResults, uncertain, inputs }: Decisions): number {
  return [approvals, toolResults, uncertain, inputs].reduce((sum, list) => sum + (list?.length ?? 0), 0)
}

/** The plan with the session's listeners behind the agent's own extensions, and the session's store. */
function governedBy(plan: AgentPlan, store: SessionStore, listeners: readonly Extension[]): AgentPlan {
  const governed: AgentPlan = Object.create(plan, {
    store: { value: store, enumerable: true },
    hooks: { value: hookTable([...plan.extensions, ...listeners]), enumerable: true },
    listeners: { value: listeners, enumerable: true },
  })
  return governed
}
