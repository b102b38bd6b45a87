import { createServer } from 'node:http2'
import type { Http2Server, ServerHttp2Session } from 'node:http2'

import type { DurableEngine, EngineOptions, EngineService, Rest } from '@provost/core'
import { isRecord } from '@provost/core'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { createEndpointHandler, object, service as plainService, TerminalError } from '@restatedev/restate-sdk'

import type { RestateClient } from './restate-client.ts'
import { restateClient } from './restate-client.ts'
import type { Checked, RestateEngineOptions } from './restate-options.ts'
import { checkRestateOptions } from './restate-options.ts'

/** An invocation advances a session until it rests, which takes as long as its model and tools. */
const longest = { hours: 2 }
/** After these attempts the store's own index takes over. */
const retries = { maxAttempts: 8, onMaxAttempts: 'kill', initialInterval: 250, maxInterval: 15_000 } as const
/** Codes of sessions that no process can advance. */
const gone: readonly unknown[] = ['unknown-session', 'session-quarantined', 'session-erased', 'wrong-agent']
const busyMs = 100

/**
 * Returns the engine `restate`, for `createServer` and `createWorker`: a Restate server queues the sessions that are due,
 * sets their timers, and hands each one to a process with room. Each wake is a short invocation, which ends as the session
 * rests: a run that waits for days holds nothing. The state stays in the store, and the server receives ids and times only.
 *
 * Wakes are hints. If the server is away, the store's own index finds what is due.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`; `engine-unreachable` from `wake`
 *
 * @example
 * const engine = restateEngine({ ingress: 'http://127.0.0.1:8080', admin: 'http://127.0.0.1:9070' })
 * const worker = createWorker({ agents: [desk], store: postgresStore(url), engine })
 */
export function restateEngine(options: RestateEngineOptions): DurableEngine {
  const checked = checkRestateOptions(options)
  const client = restateClient(checked)
  return {
    name: 'restate',
    wake: (sessionId, wake = {}) => client.send(sessionId, wake, Date.now()),
    serve: (advance, limits) => serve(checked, client, advance, limits),
  }
}

async function serve(
  options: Checked,
  client: RestateClient,
  advance: (sessionId: string) => Promise<Rest>,
  { room }: EngineOptions,
): Promise<EngineService> {
  const { service, host, port, identityKeys, admin, onFault } = options
  const slots = createSlots(room)
  const ending = new AbortController()

  async function advanced(sessionId: string): Promise<Rest> {
    const leave = await slots.enter()
    try {
      return await advance(sessionId)
    } catch (error) {
      if (isRecord(error) && gone.includes(error['code'])) throw new TerminalError(String(error['code']))
      throw error
    } finally {
      leave()
    }
  }

  const settings = { inactivityTimeout: longest, abortTimeout: longest, retryPolicy: retries } as const
  const sessions = object({
    name: service,
    options: { ...settings, enableLazyState: true },
    handlers: {
      // Nothing is journaled: the log is the journal, and a crash repeats the handler in another process.
      async advance(ctx: ObjectContext): Promise<void> {
        const rest = await advanced(ctx.key)
        const delay = againIn(rest)
        if (delay === undefined) return
        ctx.genericSend({
          service,
          key: ctx.key,
          method: 'advance',
          parameter: new Uint8Array(),
          delay,
        })
      },
    },
  })
  // Limits are not for objects. Two wakes may meet here: the lease of the store lets one of them in.
  const limited = plainService({
    name: `${service}-limited`,
    options: settings,
    handlers: {
      async advance(_, { id }: { readonly id: string }): Promise<void> {
        // The store's index finds a session that rested for others, or whose other writer dies.
        await advanced(id)
      },
    },
  })

  const handler = createEndpointHandler({
    services: [sessions, limited],
    ...(identityKeys && { identityKeys: [...identityKeys] }),
    // The server logs what fails, and this process reports failures of its sessions.
    logger: () => {},
  })
  const server = createServer(handler)
  const connections = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    connections.add(session)
    session.on('close', () => connections.delete(session))
  })
  await listening(server, port, host)
  const address = server.address()
  const own = typeof address === 'object' && address ? address.port : port
  const url = options.advertise ?? `http://${host.includes(':') ? `[${host}]` : host}:${own}`
  if (admin !== undefined) void client.register(url, ending.signal, onFault)

  return {
    async drain(ms) {
      ending.abort()
      slots.close()
      server.close()
      // Tells the server to send nothing more over them; what is in progress goes on.
      for (const session of connections) session.close()
      await slots.idle(ms)
      for (const session of connections) session.destroy()
    },
  }
}

/** Returns the milliseconds after which a session has to be advanced again; undefined for one that waits for a wake. */
function againIn(rest: Rest): number | undefined {
  if (rest.rest === 'yielded') return 0
  if (rest.rest === 'busy') return Math.max(busyMs, rest.until - Date.now()) + Math.ceil(Math.random() * busyMs)
  // The run has set its own timer as it was suspended.
  return undefined
}

function listening(server: Http2Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

interface Slots {
  /** Resolves when there is room, and rejects once the slots are closed. @returns leaves it. */
  enter(): Promise<() => void>
  /** Turns away what waits for room: another process of the deployment gets its next attempt. */
  close(): void
  /** Resolves when nothing is inside, or after `ms` milliseconds. */
  idle(ms: number): Promise<void>
}

function createSlots(room: number): Slots {
  let taken = 0
  let closed = false
  const waiting: PromiseWithResolvers<void>[] = []
  const idle = new Set<() => void>()
  const turnedAway = (): Error => new Error('This process takes no further sessions.')

  function leave(): void {
    const next = waiting.shift()
    if (next) return next.resolve()
    taken--
    if (taken === 0) for (const resolve of idle) resolve()
  }

  return {
    async enter() {
      if (closed) throw turnedAway()
      if (taken < room) taken++
      else {
        const turn = Promise.withResolvers<void>()
        waiting.push(turn)
        await turn.promise
      }
      return leave
    },
    close() {
      closed = true
      for (const { reject } of waiting.splice(0)) reject(turnedAway())
    },
    async idle(ms) {
      if (taken === 0) return
      const over = Promise.withResolvers<void>()
      idle.add(over.resolve)
      const timer = setTimeout(over.resolve, ms)
      await over.promise
      clearTimeout(timer)
    },
  }
}
