import { createHash } from 'node:crypto'

import type { Decisions, Input, Principal, SessionStore } from '@provost/core'
import { canonicalJson, isRecord, toJson } from '@provost/core'
import { z } from 'zod'

import { HttpError, responseStatus } from '../http/http-error.ts'
import { badRequest, busy, isCode, waits } from '../http/request-error.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { endOf, whereSaid } from '../sessions/session-end.ts'
import type { SessionHost } from '../sessions/session-host.ts'
import type { Cursor } from '../stream/cursor.ts'

/** The description of the header, for operations that heed it. */
export const keyHeader = { 'Idempotency-Key': 'The same key again, and the same thing is not done again.' }

/**
 * The key of a request.
 *
 * @throws HttpError 400
 */
export function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key') ?? undefined
  if (key !== undefined && (key === '' || key.length > 200))
    throw badRequest('An Idempotency-Key has 1 to 200 characters.')
  return key
}

/** What a principal says under a key, in the inbox of a session: nobody else's key is the same. */
export function keyToken(principal: Principal, key: string): string {
  return `key/${digestOf(principal, key)}`
}

/** The id of a session that a key stands for: the same in every process. */
export function idFor(principal: Principal, key: string): string {
  const hex = digestOf(principal, key)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function digestOf({ id }: Principal, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([id, key]))
    .digest('hex')
}

/** What somebody asks for under a key. */
export interface Keyed {
  readonly host: SessionHost
  readonly live: LiveSession
  readonly principal: Principal
  readonly key: string
  /** All that was asked: under the same key only the same may be asked again. */
  readonly body: unknown
}

/** Where a key counts: for a new session, for what is said in one. */
type KeyScope = 'begin' | 'say'

/**
 * Binds a key to the body that came with it first.
 *
 * @throws HttpError 422 where the key came with another one
 */
export async function bindKey(
  store: SessionStore,
  sessionId: string,
  { principal, key, body }: Pick<Keyed, 'principal' | 'key' | 'body'>,
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
    message: 'This Idempotency-Key came with another body before.',
    hint: 'Send each request under a key of its own, and repeat it with the same body.',
  })
}

/**
 * Begins a run under a key, in whatever process and however often it is asked for: the first time counts.
 *
 * @param ready is called before it begins the first time.
 * @returns where its events begin.
 * @throws HttpError
 */
export async function beginOnce(
  keyed: Keyed,
  input: Input,
  options: { readonly maxSteps?: number | undefined } = {},
  ready?: () => Promise<void>,
): Promise<Cursor> {
  const { host, live, principal, key } = keyed
  const token = keyToken(principal, key)
  const known = await whereSaid(host.store, live.id, token)
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
    await host.send(live, input, { mode: 'queue', key: token, maxSteps: options.maxSteps })
    return after
  } finally {
    admitted()
  }
}

/** Errors that say that nothing is left to decide. */
const settled = ['already-decided', 'unknown-wait', 'wait-expired']

/**
 * Answers what a run waits for, under a key: asked again, it does nothing and says what it said the first time. One that
 * died in the middle is done the second time.
 *
 * @throws HttpError, ProvostError
 */
export async function decideOnce(
  { host, live, principal, key }: Omit<Keyed, 'body'>,
  decisions: Decisions,
): Promise<void> {
  const { store } = host
  const token = `decide/${keyToken(principal, key)}`
  // The answers alone: they may come by more than one route.
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
