import type { Decisions, Message, Principal } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { busy } from '../http/request-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf } from '../sessions/session-end.ts'
import type { Cursor } from '../stream/cursor.ts'
import { cursorAt } from '../stream/cursor.ts'
import type { SessionTurn } from './session-turn.ts'
import { readTurns } from './session-turn.ts'

/** Where the events of a turn begin, and how it is recognised. */
export interface BegunTurn {
  readonly live: LiveSession
  readonly after: Cursor
  /** The turn of the first event. */
  readonly turn?: SessionTurn | undefined
  isAsked(turn: SessionTurn): boolean
}

/**
 * Sends a user message to a session, and follows its turn. The pending calls of a suspended run never start. A message
 * whose id the session has is sent once: its turn is followed again.
 *
 * @param isRepeated the message may have been sent before.
 * @param context what the client tells beside the message, labelled as untrusted.
 * @throws HttpError 409 while a run is active
 */
export async function beginTurn(
  setup: OperationSetup,
  live: LiveSession,
  message: Message,
  isRepeated: boolean,
  context?: Message,
): Promise<BegunTurn> {
  const { host } = setup
  const isAsked = ({ messageIds }: SessionTurn): boolean => messageIds.includes(message.id)
  const { asked } = isRepeated ? await readTurns(host.store, live.id, message.id) : {}
  if (asked) return { live, after: asked.begin, isAsked }
  if (live.session.status === 'running') throw busy(live.id)
  if (live.session.status === 'suspended') await live.session.abort()
  const after = await endNow(setup, live)
  await host.send(live, [...(context ? [context] : []), message], { mode: 'queue', key: `message/${message.id}` })
  return { live, after, isAsked }
}

/**
 * Delivers answers to a suspended run, and follows the rest of its turn.
 *
 * @throws HttpError 403, 404; ProvostError `unknown-wait`, `already-decided`
 */
export async function continueTurn(
  { host, decisionService }: OperationSetup,
  principal: Principal,
  live: LiveSession,
  decisions: Decisions,
): Promise<BegunTurn> {
  const { last, end } = await readTurns(host.store, live.id)
  await host.decide(live, await decisionService.check(principal, { live, requester: principal }, decisions, 'http'))
  return { live, after: end, turn: last?.turn, isAsked: ({ id }) => id === last?.turn.id }
}

/** Returns the end of a session's events. The feed of this process has it, unless it has just opened the session. */
export async function endNow({ host }: OperationSetup, { id, feed }: LiveSession): Promise<Cursor> {
  const last = feed.retained().findLast(({ log, position }) => log === id && position !== undefined)
  return last?.position ? cursorAt(last.position) : endOf(host.store, id)
}
