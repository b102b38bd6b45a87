import type { Input, SessionStore } from '@provost/core'
import { uuidv7 } from '@provost/core'

import { checkDeliverOptions, checkSendOptions } from '../definition/known-options.ts'
import { trackDelivery } from '../inbox/child-routing.ts'
import { notify } from '../inbox/pending-inputs.ts'
import type { ChildStatus } from '../messages/child-message.ts'
import { childMessageValue, isRunId, sendToken, childStatusOf } from '../messages/child-message.ts'
import type { Recipient } from '../messages/read-input.ts'
import { messagesOf } from '../messages/read-input.ts'
import { unknownMode, unknownRun } from '../result/session-error.ts'
import type { ChildMessage, InboxCursor, QueuedInput } from '../types/inputs.ts'
import type { SessionState } from '../types/session-state.ts'
import type { Session } from '../types/session.ts'
import type { SendMode } from '../types/stream.ts'
import { findBelow } from './find-child-run.ts'
import type { Outbox } from './outbox.ts'
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
  readonly outbox: Outbox
  readonly cursor: InboxCursor
  readonly sendMode: SendMode
  /** The sender, if known. */
  readonly by: string | undefined
}

/** Creates the sender of a session object. */
export function createSender({
  id,
  agent,
  store,
  state,
  runs,
  outbox,
  cursor,
  sendMode,
  by,
}: SenderSetup): SessionSender {
  const signed = by === undefined ? {} : { by }

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
    const pendingInputs = runs.pendingInputs()
    const tree = runs.tree()
    const found = childStatusOf(state, to, tree.childLogs)
    if (!found) throw unknownRun(id, to)
    const message = childMessage(input, to, mode, token, found)
    trackDelivery(tree, { to, token, signal })
    pendingInputs.childMessages.push({ ...message, token, ...signed, ...(signal && { signal }) })
    cursor.ownTokens.add(token)
    notify(pendingInputs)
    outbox.send(token, childMessageValue(message))
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
    if (state.resolvedWaits.has(token)) return 'duplicate'
    const open = runs.activeRun() ? state.run : runs.openRun()
    if (open?.id === to) return outbox.put(token, { mode, input: messagesOf(input, token, agent) })
    const found = open && (await findBelow(store, state, to))
    if (!found) throw unknownRun(id, to)
    if (signal?.aborted) return 'accepted'
    return outbox.put(token, childMessageValue(childMessage(input, to, mode, token, found)))
  }

  /** Returns the message to a child run. A suspended run reads it at its end. */
  function childMessage(
    input: Input,
    to: string,
    mode: SendMode,
    token: string,
    found: ChildStatus,
  ): Omit<ChildMessage, 'token'> {
    const target = 'agent' in found ? found.agent : agent.name
    const waits = 'isPaused' in found && (found.isPaused || (!runs.activeRun() && state.run?.status === 'suspended'))
    return {
      to,
      mode: waits ? 'queue' : mode,
      input: messagesOf(input, token, { name: target, allowSystemMessages: agent.allowSystemMessages }),
    }
  }

  /** Starts a run if the open run has ended in another process, because that run cannot take the input. */
  async function goOnIfEnded(): Promise<void> {
    if (runs.activeRun()) return
    await runs.refresh()
    if (!runs.activeRun()) runs.startNext()
  }

  return {
    send(input, options = {}) {
      checkSendOptions(options)
      const { mode = sendMode, signal, to } = options
      checkMode(mode)
      const token = `${sendToken}${uuidv7()}`
      // Validated here, so that the caller receives the error, not the run.
      const messages = messagesOf(input, token, agent)
      if (isBelow(to)) {
        if (!isRunId(to)) throw unknownRun(id, to)
        if (runs.activeRun()) sendBelow(input, to, mode, token, signal)
        else outbox.watch(deliverBelow(input, to, mode, token, signal))
        return
      }
      const aside = signal ? { signal } : {}
      if (!runs.activeRun() && !runs.openRun()) {
        runs.start({ input }, aside, false, { sent: { input: messages, mode, ...aside } })
        return
      }
      const enters = entering(mode)
      const sent: QueuedInput = { input: messages, token, ...signed, ...aside }
      const { steering, followUps } = runs.pendingInputs()
      if (enters === 'steer') steering.push(sent)
      else followUps.push(sent)
      // Stored as well, so that a crash does not lose the input.
      cursor.ownTokens.add(token)
      outbox.send(token, { mode: enters, input: messages }, goOnIfEnded)
    },

    async deliver(input, options = {}) {
      checkDeliverOptions(options)
      const { mode = sendMode, key, maxSteps, to } = options
      checkMode(mode)
      const token = `${sendToken}${key ?? uuidv7()}`
      const messages = messagesOf(input, token, agent)
      if (isBelow(to)) return deliverBelow(input, to, mode, token)
      const outcome = await outbox.put(token, { mode: entering(mode), input: messages })
      // An active run reads its inbox. Otherwise a run starts here, also if the first sender crashed before it did.
      if (!runs.activeRun()) await runs.refresh()
      if (!runs.activeRun() && !runs.isClosed() && !runs.openRun() && !state.resolvedWaits.has(token)) {
        const bounds = maxSteps === undefined ? {} : { maxSteps }
        runs.start({ input: messages, token }, bounds, false, { sent: { input: messages, token, mode } })
      }
      return outcome
    },
  }
}

function checkMode(mode: unknown): void {
  if (mode !== 'steer' && mode !== 'queue') throw unknownMode(mode)
}
