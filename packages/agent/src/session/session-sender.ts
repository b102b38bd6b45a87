import type { Input, SessionStore } from '@provost/core'
import { toJson } from '@provost/core'

import { checkDeliverOptions, checkSendOptions } from '../definition/known-options.ts'
import { readLog } from '../log/log-snapshot.ts'
import type { ChildStatus } from '../messages/child-message.ts'
import {
  childLog,
  childStatusOf,
  childToward,
  isPart,
  isRunId,
  newSendToken,
  sendToken,
} from '../messages/child-message.ts'
import type { Recipient } from '../messages/read-input.ts'
import { messagesOf } from '../messages/read-input.ts'
import { foldLog } from '../reducers/reducer.ts'
import { dataBelow, unknownMode, unknownRun } from '../result/session-error.ts'
import type { Inbox, SentInput } from '../types/inputs.ts'
import type { SessionState } from '../types/session-state.ts'
import type { Session } from '../types/session.ts'
import type { SendMode } from '../types/stream.ts'
import type { Background } from './background.ts'
import { findBelow } from './find-child-run.ts'
import type { SessionRuns } from './session-runs.ts'

/** Sends input to a session: to its open run, to a child run, or to a new run. */
export type SessionSender = Pick<Session, 'send' | 'deliver'>

/** The parameters of a sender. */
export interface SenderSetup {
  readonly id: string
  readonly agent: Recipient
  readonly store: SessionStore
  readonly state: SessionState
  readonly runs: SessionRuns<unknown>
  readonly inbox: Inbox
  readonly background: Background
  readonly sendMode: SendMode
  /** Opens the inbox of a child that does not run in this process. */
  inboxOf(log: string): Inbox
}

/** Creates the sender of a session object. */
export function createSender({
  id,
  agent,
  store,
  state,
  runs,
  inbox,
  background,
  sendMode,
  inboxOf,
}: SenderSetup): SessionSender {
  /** Returns whether the recipient is a child of the open run. */
  function isBelow(to: string | undefined): to is string {
    return to !== undefined && to !== (runs.activeRun()?.runId ?? runs.openRun()?.id)
  }

  /** Returns the mode in which input enters. A suspended run cannot be steered. */
  function entering(mode: SendMode): SendMode {
    return runs.activeRun() || runs.openRun()?.status === 'running' ? mode : 'queue'
  }

  /** Sends to a child of the active run. The recipient is checked at once. */
  function sendBelow(input: Input, to: string, mode: SendMode, token: string, signal: AbortSignal | undefined): void {
    const tree = runs.tree()
    const found = childStatusOf(state, to, tree.childLogs)
    if (!found) throw unknownRun(id, to)
    // The log of a child elsewhere says where its own children are.
    if ('unread' in found && isPart(found.unread)) {
      background.watch(deliverBelow(input, to, mode, token, signal))
      return
    }
    const own = tree.inboxes.get(to) ?? inboxOf('log' in found ? found.log : childLog(id, to))
    background.watch(own.send(token, { ...childInput(input, mode, token, found), signal }))
  }

  /** Sends to a child of a run that is suspended or active elsewhere. The logs are read to find the recipient. */
  async function deliverBelow(
    input: Input,
    to: string,
    mode: SendMode,
    token: string,
    signal?: AbortSignal,
  ): Promise<'accepted' | 'duplicate'> {
    await runs.refresh()
    const open = runs.activeRun() ? state.run : runs.openRun()
    if (open?.id === to) return inbox.send(token, { mode, input: messagesOf(input, token, agent) })
    const found = open && (await findBelow(store, state, to))
    const child = childToward(open, to)
    const log = found?.log ?? (child?.callId === to ? child.log : childLog(id, to))
    if (!found && (await hasTaken(log, token))) return 'duplicate'
    if (!found) throw unknownRun(id, to)
    if (signal?.aborted) return 'accepted'
    const outcome = await inboxOf(log).send(token, childInput(input, mode, token, found))
    await runs.refresh()
    // The child may have ended before it read the input.
    if (!(await findBelow(store, state, to)) && !(await hasTaken(log, token))) throw unknownRun(id, to)
    return outcome
  }

  async function hasTaken(log: string, token: string): Promise<boolean> {
    return foldLog(await readLog(store, log)).resolvedWaits.has(token)
  }

  /** Returns the input of a child run. A suspended run reads it at its end. */
  function childInput(input: Input, mode: SendMode, token: string, found: ChildStatus): SentInput {
    const target = 'agent' in found ? found.agent : agent.name
    const waits = 'isPaused' in found && (found.isPaused || (!runs.activeRun() && state.run?.status === 'suspended'))
    const { allowSystemMessages } = agent
    return {
      mode: waits ? 'queue' : mode,
      input: messagesOf(input, token, { name: target, allowSystemMessages, store }),
    }
  }

  /** Starts a run with input that no run has taken. */
  async function startIfUnread(): Promise<void> {
    if (runs.activeRun()) return
    await Promise.all([runs.refresh(), inbox.sync()])
    if (!runs.activeRun()) runs.startNext()
  }

  return {
    send(input, options = {}) {
      checkSendOptions(options)
      const { mode = sendMode, signal, to } = options
      checkMode(mode)
      const token = newSendToken()
      // Validated here, so that the caller receives the error, not the run.
      const messages = messagesOf(input, token, agent)
      if (isBelow(to)) {
        if (!isRunId(to)) throw unknownRun(id, to)
        if (runs.activeRun()) sendBelow(input, to, mode, token, signal)
        else background.watch(deliverBelow(input, to, mode, token, signal))
        return
      }
      const atRest = !runs.activeRun() && !runs.openRun()
      const sent = inbox.send(token, { mode: atRest ? mode : entering(mode), input: messages, signal, atRest })
      background.watch(sent.then(startIfUnread))
      if (atRest) runs.startFromInbox()
    },

    async deliver(input, options = {}) {
      checkDeliverOptions(options)
      const { mode = sendMode, key, maxSteps, to } = options
      const data = options.data === undefined ? {} : { data: toJson(options.data) }
      checkMode(mode)
      const token = key === undefined ? newSendToken() : `${sendToken}${key}`
      const messages = messagesOf(input, token, agent)
      if (isBelow(to) && options.data !== undefined) throw dataBelow(to)
      if (isBelow(to)) return deliverBelow(input, to, mode, token)
      const outcome = await inbox.send(token, { mode: entering(mode), input: messages, ...data })
      // An active run reads its inbox. Otherwise a run starts here, also if the first sender crashed before it did.
      if (!runs.activeRun()) await runs.refresh()
      if (!runs.activeRun() && !runs.isClosed() && !runs.openRun() && !state.resolvedWaits.has(token))
        runs.startFromInbox(maxSteps === undefined ? {} : { maxSteps })
      return outcome
    },
  }
}

function checkMode(mode: unknown): void {
  if (mode !== 'steer' && mode !== 'queue') throw unknownMode(mode)
}
