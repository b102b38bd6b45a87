import { logEvents } from '@provost/agent'
import type { Json, Principal, SessionStore } from '@provost/core'
import { clockOf, isRecord, toJson } from '@provost/core'

import { ownership } from '../sessions/ownership.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import { compare } from '../stream/event-position.ts'
import type { SessionTurn } from '../turns/session-turn.ts'
import { sessionTurns } from '../turns/session-turn.ts'
import type { ResponseRef } from './response-id.ts'
import { unknownResponse, writeResponseId } from './response-id.ts'
import type { ResponseMapper } from './response-mapper.ts'
import { createResponseMapper } from './response-mapper.ts'
import type { ResponseRequest } from './response-resource.ts'

/** What the inbox of a session keeps of a request, for later reads of its response. */
export interface KeptRequest {
  readonly previous: string | null
  readonly instructions: string | null
  readonly background: boolean
  readonly metadata: Readonly<Record<string, string>>
}

const keptPrefix = 'response/'

/** Records what a response repeats of its request. The first record of a response applies. */
export async function keepRequest(
  { store }: SessionHost,
  principal: Principal,
  ref: ResponseRef,
  kept: KeptRequest,
): Promise<void> {
  await store.deliver(ref.sessionId, `${keptPrefix}${writeResponseId(ref)}`, toJson(kept), principal.id)
}

/** Returns what a response repeats of its request. */
export async function requestOf({ store }: SessionHost, ref: ResponseRef): Promise<ResponseRequest> {
  const { sessionId } = ref
  const id = writeResponseId(ref)
  const owner = await ownership(store, sessionId)
  const tools = (owner?.tools ?? []).map(({ name, description, inputSchema }): Json => ({
    type: 'function',
    name,
    description: description ?? null,
    parameters: toJson(inputSchema),
    strict: null,
  }))
  return { id, sessionId, model: owner?.agent ?? '', tools, ...(await keptRequest(store, sessionId, id)) }
}

async function keptRequest(store: SessionStore, sessionId: string, id: string): Promise<KeptRequest> {
  for await (const { token, value } of store.inbox(sessionId)) {
    if (token !== `${keptPrefix}${id}` || !isRecord(value)) continue
    const { previous, instructions, background, metadata } = value
    return {
      previous: typeof previous === 'string' ? previous : null,
      instructions: typeof instructions === 'string' ? instructions : null,
      background: background === true,
      metadata: isRecord(metadata)
        ? Object.fromEntries(
            Object.entries(metadata).flatMap(([key, one]) => (typeof one === 'string' ? [[key, one]] : [])),
          )
        : {},
    }
  }
  return { previous: null, instructions: null, background: false, metadata: {} }
}

/** A response in the log of its session. */
export interface RecordedResponse {
  readonly mapper: ResponseMapper
  /** The turn that the response continues; undefined if a message begins it. */
  readonly turn: SessionTurn | undefined
  /** It has ended, or waits for the client. */
  readonly over: boolean
  /** Nothing follows it in the session. */
  readonly isLast: boolean
  /** Its last message: a fork begins after it. */
  readonly lastMessageId: string | undefined
}

/**
 * Reads a response from the log of its session. The session was opened by the principal.
 *
 * @throws HttpError 404
 */
export async function readResponse(host: SessionHost, ref: ResponseRef): Promise<RecordedResponse> {
  const { store, redaction } = host
  const { sessionId, after, messageId } = ref
  const mapper = createResponseMapper(await requestOf(host, ref), clockOf(store).now)
  const log = logEvents(sessionId)
  const turns = sessionTurns()
  let before: SessionTurn | undefined
  let begun = false
  let over = false
  let isLast = true
  let lastMessageId: string | undefined
  for await (const entry of store.read(sessionId)) {
    for (const { event, offset, n } of log.take(entry)) {
      const turn = turns.take(event)
      if (compare({ offset, n, passing: false }, after) <= 0) {
        before = turn
        continue
      }
      if (over) {
        isLast = false
        continue
      }
      const isOwn = messageId === undefined ? turn?.id === before?.id : turn?.messageIds.includes(messageId)
      if (!turn || !isOwn) {
        over = begun
        isLast = !begun
        if (begun) mapper.finish()
        continue
      }
      begun = true
      mapper.take(redaction.event(event))
      if (event.type === 'message.end' && event.parents.length === 0 && !event.discarded)
        lastMessageId = event.messageId
      if (event.type === 'agent.end' && event.parents.length === 0) over = true
    }
  }
  const isQueued = messageId !== undefined && (await isSent(store, sessionId, messageId))
  if (!begun && !isQueued && log.state.run?.status !== 'running') throw unknownResponse(writeResponseId(ref))
  return { mapper, turn: messageId === undefined ? before : undefined, over, isLast, lastMessageId }
}

/** Whether a message waits in the inbox of a session. */
async function isSent(store: SessionStore, sessionId: string, messageId: string): Promise<boolean> {
  for await (const { token } of store.inbox(sessionId)) if (token === `send/message/${messageId}`) return true
  return false
}
