import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Json } from '@provost/core'
import { ProvostError, checkOptions, isRecord, toJson } from '@provost/core'
import type { KnownKeys } from '@provost/core'

/**
 * What goes wrong with one request that asks for an effect:
 *
 * - `drop`: the connection breaks before the effect takes place.
 * - `lose-reply`: the effect takes place, and the connection breaks before the reply.
 * - `hang`: the effect takes place, and the reply never comes.
 * - `double`: the network delivers the request twice. A server that knows the key performs it once.
 * - `reject`: status 422, no effect.
 * - `error`: status 500, no effect.
 * - `error-after`: status 500 although the effect took place.
 * - `{ delayMs }`: the effect takes place at once, and the reply comes after this number of milliseconds.
 * - `{ lateMs }`: the effect and the reply come after this number of milliseconds, even if the client has left.
 */
export type EffectFault =
  | 'drop'
  | 'lose-reply'
  | 'hang'
  | 'double'
  | 'reject'
  | 'error'
  | 'error-after'
  | { readonly delayMs: number }
  | { readonly lateMs: number }

/** An effect that took place. */
export interface PerformedEffect {
  /** Counts from 1; the server returns it as `id`. */
  readonly id: number
  /** The `idempotency-key` header; empty when the request had none. */
  readonly key: string
  /** The body of the request. */
  readonly body: Json
}

/** Options of {@link effectServer}. */
export interface EffectServerOptions {
  /** Whether a request with a known key returns the first effect instead of performing another. Default true. */
  readonly knowsKeys?: boolean
  /** Faults of the first requests, in order; `undefined` for none. */
  readonly faults?: readonly (EffectFault | undefined)[]
}

/** A server that stands for a bank, a mail service or a shop. */
export interface EffectServer {
  /** The address of the server, such as `http://127.0.0.1:40123`. */
  readonly url: string
  /** What really happened, in order. */
  readonly effects: readonly PerformedEffect[]
  /** The number of requests that asked for an effect, including those that failed. */
  readonly requests: number
  /** The number of requests that asked whether an effect took place. */
  readonly lookups: number
  /** Appends faults: each request that asks for an effect takes the next one. */
  fail(...faults: readonly (EffectFault | undefined)[]): void
  /**
   * Resolves when each request that was sent has had its effect, or will have none. A test waits for it before it looks at
   * `effects`.
   */
  settled(): Promise<void>
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

const optionKeys = { knowsKeys: true, faults: true } satisfies KnownKeys<EffectServerOptions>
const longestBody = 1_048_576

/**
 * Starts a server on this machine whose effects are counted, and which loses, delays, repeats and rejects requests on
 * demand. `POST /effects` with a JSON body and an `idempotency-key` header performs an effect and returns `{ id }`.
 * `GET /effects/KEY` returns `{ id }` of the effect with this key, or status 404.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * const bank = await effectServer({ faults: ['lose-reply'] })
 * const pay = () => fetch(`${bank.url}/effects`, { method: 'POST', headers: { 'idempotency-key': 'k' }, body: '{"amount":80}' })
 * await pay().catch(() => {}) // the connection breaks…
 * bank.effects.length // 1: …after the payment
 */
export async function effectServer(options: EffectServerOptions = {}): Promise<EffectServer> {
  checkOptions(options, optionKeys, 'effectServer')
  const { knowsKeys = true } = options
  const faults = [...(options.faults ?? [])]
  const effects: PerformedEffect[] = []
  let requests = 0
  let lookups = 0
  /** Requests that may still have an effect. */
  let undecided = 0

  function effectOf(key: string): PerformedEffect | undefined {
    return key === '' ? undefined : effects.find((effect) => effect.key === key)
  }

  function perform(key: string, body: Json): PerformedEffect {
    const known = knowsKeys ? effectOf(key) : undefined
    if (known) return known
    const effect = Object.freeze({ id: effects.length + 1, key, body })
    effects.push(effect)
    return effect
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = faults[requests++]
    undecided++
    const taken = await take(request, fault).finally(() => undecided--)
    if (taken === 'invalid') return reply(response, 400, { error: 'The body is not JSON.' })
    if (fault === 'drop' || fault === 'lose-reply') return void request.socket.destroy()
    if (fault === 'hang') return
    if (fault === 'reject') return reply(response, 422, { error: 'The request was rejected.' })
    if (taken === 'refused' || fault === 'error-after') return reply(response, 500, { error: 'The server failed.' })
    if (isRecord(fault) && 'delayMs' in fault) await pause(fault.delayMs)
    reply(response, 201, { id: taken.id })
  }

  /** Performs the effect of a request, unless its fault prevents it. */
  async function take(
    request: IncomingMessage,
    fault: EffectFault | undefined,
  ): Promise<PerformedEffect | 'invalid' | 'refused'> {
    const body = await bodyOf(request)
    if (body === undefined) return 'invalid'
    if (fault === 'drop' || fault === 'reject' || fault === 'error') return 'refused'
    if (isRecord(fault) && 'lateMs' in fault) await pause(fault.lateMs)
    const header = request.headers['idempotency-key']
    const key = typeof header === 'string' ? header : ''
    const effect = perform(key, body)
    if (fault === 'double') perform(key, body)
    return effect
  }

  function get(key: string, response: ServerResponse): void {
    lookups++
    const effect = effectOf(key)
    if (effect) reply(response, 200, { id: effect.id })
    else reply(response, 404, { error: 'There is no effect with this key.' })
  }

  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (request.method === 'POST' && path === '/effects') post(request, response).catch(() => request.socket.destroy())
    else if (request.method === 'GET' && path.startsWith('/effects/')) get(decoded(path.slice(9)), response)
    else reply(response, 404, { error: 'Use POST /effects or GET /effects/KEY.' })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })

  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    effects,
    get requests() {
      return requests
    },
    get lookups() {
      return lookups
    },
    fail(...more) {
      // Requests that came before these faults had none.
      while (faults.length < requests) faults.push(undefined)
      faults.push(...more)
    },
    async settled() {
      // What the operating system has received arrives within a few turns of the event loop.
      for (let calm = 0; calm < 10; calm++) {
        await (undecided > 0 ? pause(5) : nextTurn())
        if (undecided > 0) calm = 0
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address === 'object' && address) return address.port
  throw new ProvostError('unexpected', 'The server of effects has no port.')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function bodyOf(request: IncomingMessage): Promise<Json | undefined> {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) {
    text += String(piece)
    if (text.length > longestBody) return undefined
  }
  try {
    return toJson(JSON.parse(text === '' ? 'null' : text))
  } catch {
    return undefined
  }
}

function reply(response: ServerResponse, status: number, body: Json): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
