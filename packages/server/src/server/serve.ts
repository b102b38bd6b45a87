import type { AddressInfo } from 'node:net'

import { createAdaptorServer } from '@hono/node-server'
import { ProvostError } from '@provost/core'

import { isLocal } from '../http/local-request.ts'
import type { ServeOptions } from '../options/serve-options.ts'
import type { Server } from '../options/server.ts'
import { checkCloseOptions, checkServeOptions } from './known-server-options.ts'

/** A listening server. */
export interface Listening {
  readonly url: string
  readonly port: number
  /** Address of the console for a browser. Without `authenticate` it contains the token: do not write it into a shared log. */
  readonly consoleUrl?: string
  /** Stops taking requests, closes the server, then the socket. See {@link Server.close}. */
  close(options?: { graceMs?: number }): Promise<void>
}

/**
 * Serves over HTTP with Node.
 *
 * @throws ProvostError `public-without-authentication`; `listen-failed` if the address is not available.
 *
 * @example
 * const listening = await serve(server, { port: 8080 })
 * process.once('SIGTERM', () => void listening.close())
 */
export async function serve(server: Server, options: ServeOptions = {}): Promise<Listening> {
  checkServeOptions(options)
  const { port = 8080, hostname = '127.0.0.1', keepAliveMs = 65_000, stalledMs = 60_000 } = options
  if (!server.authenticated && !isLocal(hostname)) {
    throw new ProvostError(
      'public-without-authentication',
      `A server without \`authenticate\` cannot listen at ${hostname}: any client could run its agents.`,
      {
        hint: 'Give createServer an `authenticate`, or listen at 127.0.0.1.',
      },
    )
  }
  const http = createAdaptorServer({
    overrideGlobalObjects: false,
    serverOptions: { keepAliveTimeout: keepAliveMs, requestTimeout: requestMs },
    async fetch(request, env) {
      const response = await server.fetch(request, env)
      const { outgoing } = env
      // With an empty send buffer the response is slow, not the client.
      outgoing.setTimeout(stalledMs, () => {
        if (outgoing.writableLength > 0) outgoing.destroy()
      })
      return response
    },
  })
  const answers = new WeakMap<object, Answer>()
  http.on('request', ({ socket }: { socket: object }, answer: Answer) => answers.set(socket, answer))
  http.on('clientError', (error: RequestError, socket: Refusable) => {
    const answer = answers.get(socket)
    // A second response must not be written into one that is being sent.
    if (answer?.headersSent && !answer.writableFinished) socket.destroy()
    else refuse(error, socket)
  })
  await new Promise<void>((resolve, reject) => {
    http.once('error', (cause) =>
      reject(
        new ProvostError('listen-failed', `The server cannot listen at ${hostname}:${port}.`, {
          hint: 'Choose another port or hostname, or stop the process that uses this one.',
          cause,
        }),
      ),
    )
    http.listen(port, hostname, resolve)
  })
  const address = http.address()
  const bound = isInternet(address) ? address.port : port
  const name = hostname.includes(':') ? `[${hostname.replaceAll(/[[\]]/gu, '')}]` : hostname
  const url = `http://${name}:${bound}`
  return {
    url,
    port: bound,
    ...(server.consolePath !== undefined && { consoleUrl: url + server.consolePath }),
    async close(ending) {
      checkCloseOptions(ending, 'close of serve')
      const ended = new Promise<void>((resolve) => http.close(() => resolve()))
      await server.close(ending)
      if ('closeAllConnections' in http) http.closeAllConnections()
      await ended
    },
  }
}

function isInternet(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null
}

type RequestError = Error & { readonly code?: string }

interface Answer {
  readonly headersSent: boolean
  readonly writableFinished: boolean
}

interface Refusable {
  readonly writable: boolean
  end(text: string): unknown
  destroy(): unknown
}

/** Milliseconds for a whole request, with its body. Node's default of 300,000 lets one client keep thousands open. */
const requestMs = 60_000
/** Milliseconds for which a rejected client may read the response. */
const refusedMs = 1_000

const refusals = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: { code: 'headers-too-large', message: 'The headers are too large.', hint: 'Send fewer or shorter ones.' },
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: {
      code: 'request-timeout',
      message: 'The request was not complete in time.',
      hint: 'Send it without pauses.',
    },
  },
}
const noHttp = {
  status: '400 Bad Request',
  error: { code: 'invalid-http', message: 'The request is not valid HTTP.', hint: 'Send a well-formed request.' },
}

/** Rejects invalid HTTP, oversized headers and incomplete requests in the form of all other errors. */
function refuse({ code }: RequestError, socket: Refusable): void {
  if (!socket.writable || code === 'ECONNRESET') return
  const { status, error } =
    code === 'HPE_HEADER_OVERFLOW' || code === 'ERR_HTTP_REQUEST_TIMEOUT' ? refusals[code] : noHttp
  const body = JSON.stringify({ error })
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  // Otherwise the peer decides how long the connection stays.
  setTimeout(() => socket.destroy(), refusedMs).unref()
}
