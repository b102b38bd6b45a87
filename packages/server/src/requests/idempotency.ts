import { createHash } from 'node:crypto'

import type { Decisions, Input, Principal, SessionStore } from '@provost/core'
import { canonicalJson, isRecord, toJson } from '@provost/core'
import { z } from 'zod'

import { HttpError, responseStatus } from '../http/http-error.ts'
import { badRequest, busy, isCode, waits } from '../http/request-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf, inputCursor } from '../sessions/session-end.ts'
import type { RunRequest, SessionHost } from '../sessions/session-host.ts'
import type { Cursor } from '../stream/cursor.ts'

/** The description of the header, for operations that read it. */
export const keyHeader = { 'Idempotency-Key': 'A repeated request with the same key has no further effect.' }

/**
 * Returns the idempotency key of a request.
 *
 * @throws HttpError 400
 */
export function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key') ?? undefined
  if (key !== undefined && (key === '' || key.length > 200))
    throw badRequest('The Idempotency-Key does not have 1 to 200 characters.')
  return key
}

/** Returns the inbox token of a principal's key. Keys of different principals never collide. */
export function keyToken(principal: Principal, key: string): string {
  return `key/${digestOf(principal, key)}`
}

/** Returns the id of the session that a key creates: the same in every process. */
export function idFor(principal: Principal, key: string): string {
  const hex = digestOf(principal, key)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function digestOf({ id }: Principal, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([id, key]))
    .digest('hex')
}

/** A request with an idempotency key. */
export interface IdempotentRequest {
  readonly host: SessionHost
  readonly live: LiveSession
  readonly principal: Principal
  readonly key: string
  /** The whole request: a repeated key must come with the same body. */
  readonly body: unknown
}

/** Scope of a key: a new session, or input to one. */
type KeyScope = 'begin' | 'say'

/**
 * Binds a key to the body of its first request.
 *
 * @throws HttpError 422 if the key was used with another body
 */
export async function bindKey(
  store: SessionStore,
  sessionId: string,
  { principal, key, body }: Pick<IdempotentRequest, 'principal' | 'key' | 'body'>,
  scope: KeyScope,
): Promise<void> {
  const token = `body/${scope}/${digestOf(principal, key)}`
  const hash = bodyHash(body)
  if ((await store.deliver(sessionId, token, hash, principal.id)) === 'accepted') return
  const first = await valueUnder(store, sessionId, token)
  if (first !== undefined && first !== hash) throw reusedKey()
}

function bodyHash(body: unknown): string {
  return createHash('sha256')
    .update(canonicalJson(toJson(body)))
    .digest('hex')
}

async function valueUnder(store: SessionStore, sessionId: string, token: string): Promise<unknown> {
  for await (const delivery of store.inbox(sessionId)) if (delivery.token === token) return delivery.value
  return undefined
}

function reusedKey(): HttpError {
  return new HttpError(422, {
    code: 'key-reused',
    message: 'The Idempotency-Key was used with another body.',
    hint: 'Use a new key for each request, and repeat a request with the same body.',
  })
}

/**
 * Starts a run once for each key, in any process. Repeated requests read the events of the first run.
 *
 * @param ready is called before the run starts the first time.
 * @returns the cursor at which its events begin.
 * @throws HttpError
 */
export async function beginOnce(
  keyed: IdempotentRequest,
  input: Input,
  { maxSteps, ...requested }: RunRequest = {},
  ready?: () => Promise<void>,
): Promise<Cursor> {
  const { host, live, principal, key } = keyed
  const token = keyToken(principal, key)
  const known = await inputCursor(host.store, live.id, token)
  if (known) {
    await bindKey(host.store, live.id, keyed, 'say')
    return known
  }
  const admitted = host.admit(principal)
  try {
    await ready?.()
    const after = await endOf(host.store, live.id)
    if (live.session.status === 'suspended') throw waits(live.id)
    if (live.session.status === 'running') throw busy(live.id)
    await bindKey(host.store, live.id, keyed, 'say')
    await host.send(live, input, { mode: 'queue', key: token, maxSteps, requested })
    return after
  } finally {
    admitted()
  }
}

/** Codes of decisions that were made or are no longer needed. */
const settled = ['already-decided', 'unknown-wait', 'wait-expired']

/**
 * Delivers decisions once for each key. A repeated request has no effect and returns the first response. A request whose
 * process died is completed by its repetition.
 *
 * @throws HttpError, ProvostError
 */
export async function decideOnce(
  { host, live, principal, key }: Omit<IdempotentRequest, 'body'>,
  decisions: Decisions,
): Promise<void> {
  const { store } = host
  const token = `decide/${keyToken(principal, key)}`
  // Hashes only the decisions, since several routes accept them.
  const body = bodyHash(decisions)
  const first = (await store.deliver(live.id, token, { body }, principal.id)) === 'accepted'
  const before = first ? undefined : await valueUnder(store, live.id, token)
  if (isRecord(before) && before['body'] !== undefined && before['body'] !== body) throw reusedKey()
  const refused = first ? undefined : await refusalUnder(host, live, token)
  if (refused) throw refused
  try {
    await host.decide(live, decisions)
  } catch (thrown) {
    if (!first && settled.some((code) => isCode(thrown, code))) return
    if (first && settled.some((code) => isCode(thrown, code))) {
      const { status, error } = responseStatus(thrown)
      const { code, message, hint = '' } = error
      await store.deliver(live.id, `${token}/refused`, { status, code, message, hint }, principal.id)
    }
    throw thrown
  }
}

const refusalSchema = z.object({ status: z.number(), code: z.string(), message: z.string(), hint: z.string() })

async function refusalUnder({ store }: SessionHost, live: LiveSession, token: string): Promise<HttpError | undefined> {
  for await (const { token: its, value } of store.inbox(live.id)) {
    if (its !== `${token}/refused`) continue
    const { status, ...error } = refusalSchema.parse(value)
    return new HttpError(status, error)
  }
  return undefined
}
