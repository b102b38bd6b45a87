import type { Compensation, Extension, Input, NewEntry, Principal, SessionStatus, SessionStore } from '@provost/core'
import { SessionBusyError, checkOptions, uuidv7 } from '@provost/core'
import { forkSession } from '@provost/sessions'

import {
  checkAbortOptions,
  checkCompensateOptions,
  checkDecisions,
  checkStreamOptions,
} from '../definition/known-options.ts'
import { createMessageEdits } from '../editing/message-edits.ts'
import { hookTable } from '../hooks/hook-table.ts'
import { abortToken } from '../inbox/abort-delivery.ts'
import { openInbox } from '../inbox/inbox.ts'
import { runElsewhere, sessionClosed, sessionOpen } from '../result/session-error.ts'
import { pendingWork } from '../state/next-action.ts'
import { lastModel } from '../state/run-summary.ts'
import { sessionCost, sessionUsage } from '../state/usage.ts'
import { nextDeadline } from '../state/wait-deadlines.ts'
import type { Inbox } from '../types/inputs.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunHandle } from '../types/run-context.ts'
import type { ParentRun } from '../types/run-tree.ts'
import type { CompensateOptions, UntypedRunOptions, Session, SessionOptions } from '../types/session.ts'
import { advanceSession, restOf } from './advance-session.ts'
import { createBackground } from './background.ts'
import { createCompactor } from './compact-session.ts'
import { createListeners } from './listeners.ts'
import type { Opened } from './open-session.ts'
import { reopenSession } from './open-session.ts'
import { deliverDecisions } from './resolve-waits.ts'
import { keepRunner } from './session-runner.ts'
import { createRuns } from './session-runs.ts'
import { createSender } from './session-sender.ts'
import { createWriter } from './session-writer.ts'
import { runStopHooks } from './stop-hooks.ts'

/** The parameters of a session object. */
export interface SessionSetup<Output> {
  readonly agent: ResolvedAgent
  /** The agent's own plan. The plan of the session may have more extensions. */
  readonly ownAgent: ResolvedAgent
  readonly options: SessionOptions & { readonly context?: unknown }
  /** Of the session of a child: its parent runs elsewhere. */
  readonly parentRun?: ParentRun | undefined
  /** Registers a run with the agent, which can abort all of its runs. */
  track(handle: RunHandle<Output>): void
  /** Undoes effects of the session. */
  compensate(work: CompensationWork): Promise<Compensation>
}

/** What a compensation needs to know of its session. */
export interface CompensationWork extends CompensateOptions {
  readonly session: Session<unknown, never>
  readonly agent: ResolvedAgent
  readonly store: SessionStore
  readonly principal: Principal | undefined
  readonly context: unknown
}

/** Creates a session over its log. All durable state is in the log or in the store's inbox. */
export function liveSession<Output, App>(setup: SessionSetup<Output>, opened: Opened): Session<Output, App> {
  const { options, track } = setup
  const { id, snapshot, origin } = opened
  const { state } = snapshot
  const store = options.store ?? setup.agent.store
  const { scrubber } = setup.agent.secrets
  const listeners = createListeners(scrubber)
  const agent = withListeners(setup.agent, store, [listeners.observer, listeners.judge])
  const sendMode = options.sendMode ?? agent.sendMode
  const principal = options.principal ?? origin.principal
  const given: UntypedRunOptions = {
    sessionId: id,
    ...(principal && { principal }),
    ...(options.onApproval && { onApproval: options.onApproval }),
    ...(options.onBatch && { onBatch: options.onBatch }),
    ...(options.onInput && { onInput: options.onInput }),
    ...(options.followUps && { followUps: options.followUps }),
    ...('context' in options && { context: options.context }),
  }
  const messageEdits = createMessageEdits(id, agent.name, state, assertEditable)
  const { entries: pendingEdits, messages } = messageEdits
  const inboxOf = (log: string, isTaken: (token: string) => boolean = () => false): Inbox =>
    openInbox({ store, log, scrubber, by: principal?.id ?? 'session', isShared: true, isTaken })
  const inbox = inboxOf(id, (token) => state.resolvedWaits.has(token))
  const background = createBackground()
  const writer = createWriter(store, id, agent.leaseMs, snapshot, scrubber, pendingEdits)
  const { hasListener, isJudging } = listeners
  const { parentRun } = setup
  const peers = options.agents && {
    agents: new Map(options.agents.map((one) => [one.name, one])),
    isJudged: isJudging,
  }
  const runs = createRuns<Output>({
    id,
    agent,
    snapshot,
    options: given,
    inbox,
    pendingEdits,
    background,
    writer,
    hasListener,
    peers,
    parentRun,
    track,
  })
  const sender = createSender({
    id,
    agent,
    store,
    state,
    runs,
    inbox,
    background,
    sendMode,
    inboxOf,
  })
  const compactor = createCompactor({ agent, id, snapshot, options: given, inbox, edits: pendingEdits }, runs, writer)
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (runs.isClosed()) throw sessionClosed(id)
  }

  function assertEditable(): void {
    assertOpen()
    if (runs.activeRun()) throw sessionOpen(id, 'goes on')
    if (runs.openRun()) throw sessionOpen(id, 'waits')
  }

  /** A child has one run, which begins with the input of its parent. */
  function assertTakesInput(): void {
    assertOpen()
    if (parentRun && !runs.activeRun() && !runs.openRun()) throw runElsewhere(id)
  }

  function start(input: Input, more: UntypedRunOptions, watched: boolean): RunHandle<Output> {
    assertOpen()
    if (runs.activeRun()) throw new SessionBusyError(id)
    return runs.start({ input }, more, watched)
  }

  async function idle(): Promise<void> {
    for (;;) {
      const busy = runs.activeRun()?.ended ?? writer.underway() ?? background.underway()
      const answers = busy ? undefined : listeners.answering()
      if (busy) await busy
      else if (answers) await answers
      else if (pendingEdits.length > 0) await writer.write()
      else return
    }
  }

  async function stop(): Promise<void> {
    await idle()
    const write = (entries: readonly NewEntry[]): Promise<void> => writer.write(() => entries)
    await runStopHooks({ agent, id, principal, context: options.context, snapshot, write })
  }

  const session: Session<Output, App> = {
    id,
    messages,
    repairs: origin.repairs,
    get status(): SessionStatus {
      if (runs.isClosed()) return 'closed'
      if (runs.activeRun()) return 'running'
      if (runs.openRun()) return 'suspended'
      return (runs.last() ?? state.run)?.status === 'failed' ? 'failed' : 'idle'
    },
    get rest() {
      return restOf(state, runs)
    },
    get nextDeadline() {
      const first = nextDeadline(state)
      return Number.isFinite(first) ? first : undefined
    },
    get model() {
      return lastModel(state) ?? agent.modelName
    },
    get usage() {
      return sessionUsage(state)
    },
    get cost() {
      return sessionCost(state)
    },
    get pending() {
      return pendingWork(state)
    },

    send(input, sending) {
      assertTakesInput()
      sender.send(input, sending)
    },
    async deliver(input, sending) {
      if (parentRun) await runs.refresh()
      assertTakesInput()
      return sender.deliver(input, sending)
    },

    stream(input: Input, more: UntypedRunOptions = {}) {
      checkStreamOptions(more)
      return start(input, more, true)
    },
    resume(decisions = {}) {
      checkDecisions(decisions, 'session.resume')
      assertOpen()
      if (runs.activeRun()) throw new SessionBusyError(id)
      return runs.resume(decisions, true)
    },
    async advance() {
      assertOpen()
      return advanceSession({ id, store, agent, state, runs, inbox, origin: parentRun?.origin })
    },
    yield() {
      if (runs.activeRun()) runs.pendingInputs().yielding = true
    },
    async resolve(decisions) {
      checkDecisions(decisions, 'session.resolve')
      assertOpen()
      await deliverDecisions(decisions, state, runs, inbox, scrubber)
    },

    async waitForIdle() {
      assertOpen()
      await idle()
      const fault = background.takeError()
      if (fault !== undefined) throw fault
      const last = runs.last()
      if (last?.status === 'failed') throw last.error
      return last
    },

    on(type, listener) {
      assertOpen()
      listeners.add(type, listener)
      return session
    },
    off(type, listener) {
      listeners.remove(type, listener)
      return session
    },

    async fork(forking = {}) {
      checkOptions(forking, { at: true }, 'session.fork')
      const { at } = forking
      assertOpen()
      if (parentRun) throw runElsewhere(id)
      // A fork copies the log, so pending edits are written first.
      if (!runs.activeRun() && pendingEdits.length > 0) await writer.write()
      const { sessionId } = await forkSession(store, id, at === undefined ? {} : { at })
      const { principal: _, onApproval: __, onBatch: ___, onInput: ____, ...rest } = options
      const branch = await reopenSession(agent, store, sessionId)
      return liveSession<Output, App>({ ...setup, options: { ...rest, store } }, branch)
    },

    async compact() {
      assertOpen()
      await compactor.compact()
    },
    async compensate(compensating = {}) {
      checkCompensateOptions(compensating)
      assertOpen()
      await runs.refresh()
      if (runs.activeRun()) throw new SessionBusyError(id)
      if (runs.openRun()) throw sessionOpen(id, 'waits')
      const { onApproval } = options
      return setup.compensate({
        ...(onApproval && { onApproval }),
        ...compensating,
        session,
        agent,
        store,
        principal,
        context: options.context,
      })
    },
    async reset() {
      messageEdits.reset()
      await writer.write()
    },

    async abort(abortOptions) {
      checkAbortOptions(abortOptions, 'session.abort')
      assertOpen()
      compactor.abort()
      await runs.refresh()
      const underway = runs.activeRun()
      if (underway) return underway.abort(abortOptions)
      const run = runs.openRun()
      if (!run) return
      const handle = runs.resume({})
      await handle.abort(abortOptions)
      const result = await handle.result
      if (result.status !== 'failed' || result.error.code !== 'session-busy') return
      const value = { runId: run.id, options: { ...abortOptions } }
      await inbox.put(`${abortToken}${uuidv7()}`, value)
    },
    close() {
      runs.close()
      closing ??= stop()
      return closing
    },
  }
  runs.scheduleWake()
  Object.freeze(session)
  const { extensions = [] } = options
  keepRunner(session, { agent: setup.ownAgent, judge: listeners.judge, extensions, start, stopWaking: runs.stopWaking })
  return session
}

/** Returns the plan with the session's store, and its listeners after the agent's extensions. */
function withListeners(agent: ResolvedAgent, store: SessionStore, listeners: readonly Extension[]): ResolvedAgent {
  const governed: ResolvedAgent = Object.create(agent, {
    store: { value: store, enumerable: true },
    hooks: { value: hookTable([...agent.extensions, ...listeners]), enumerable: true },
    listeners: { value: listeners, enumerable: true },
  })
  return governed
}
