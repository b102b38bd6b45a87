import type { IncomingMessage, Server, ServerResponse } from 'node:http'

import type { ChatCompletionRequest, Fixture } from '@copilotkit/aimock'
import { ProvostError } from '@provost/core'

import { fixtureOf } from './wire-fixture.ts'
import { checkWireSteps } from './wire-step.ts'
import type { WireStep } from './wire-step.ts'

/** A request as rules receive it: in the form of OpenAI's chat completions, whatever its protocol. */
export interface WirePrompt {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

/** A request as the server received it. */
export interface WireRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The parsed JSON body; its text when it is not JSON. */
  readonly body: unknown
}

/** A running provider server. */
export interface Aimock {
  /** The address of the server, such as `http://127.0.0.1:40123`. */
  readonly url: string
  /** The `baseURL` for an AI SDK provider. */
  readonly baseURL: string
  /** All requests so far, retries included. */
  readonly requests: readonly WireRequest[]
  /** Appends responses to the script. Each request without a matching rule takes the next one. */
  play(...steps: readonly WireStep[]): void
  /** Answers every request that `matches`. The first matching rule wins. */
  on(matches: (prompt: WirePrompt) => boolean, step: WireStep): void
  /** Closes open connections and stops listening. */
  close(): Promise<void>
}

function parsed(body: Buffer): unknown {
  const text = body.toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Records the bodies of requests without consuming the stream that the server reads. */
function record(server: Server, requests: WireRequest[]): void {
  server.prependListener('request', (request: IncomingMessage) => {
    const pieces: Buffer[] = []
    const push = request.push.bind(request)
    request.push = (piece: unknown, encoding?: BufferEncoding): boolean => {
      if (Buffer.isBuffer(piece)) pieces.push(piece)
      else if (piece === null && request.method === 'POST') {
        requests.push({ path: request.url ?? '', headers: request.headers, body: parsed(Buffer.concat(pieces)) })
      }
      return push(piece, encoding)
    }
  })
}

/** Gives a client time to read the data before the break. */
const breakAfterMs = 20

/**
 * Repairs two behaviours of the server. It destroys a cut response with its last bytes still in the socket's buffer,
 * which looks like a refused connection: here they are flushed first. It continues a slow response after the client has
 * left: here the response ends.
 */
function repair(server: Server): void {
  server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
    response.destroy = () => {
      setTimeout(() => response.socket?.destroySoon(), breakAfterMs)
      return response
    }
    response.once('close', () => response.end())
  })
}

/**
 * Starts a local server that speaks the wire formats of real providers (OpenAI Responses and Chat, Anthropic Messages,
 * Ollama). It listens on a free port of the loopback interface, so that real provider packages run against a script.
 *
 * The server is aimock, an optional peer (`@copilotkit/aimock`) that is loaded by this call. A request without a
 * remaining response gets a 404. The server cannot report cached tokens, nor stall for ever (a {@link scriptedModel}
 * can).
 *
 * @param script responses in the order of the requests; `play` adds more.
 * @throws ProvostError `missing-package` when aimock is not installed.
 *
 * @example
 * const server = await startAimock([
 *   { failure: { status: 429, retryAfterSeconds: 0 } },
 *   { toolCalls: [{ name: 'lookup', input: { order: 17 } }, { name: 'lookup', input: { order: 18 } }] },
 *   { text: 'Both are on their way.', usage: { inputTokens: 40, outputTokens: 6 } },
 * ])
 * const model = createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5')
 * // …
 * await server.close()
 */
export async function startAimock(script: readonly WireStep[] = []): Promise<Aimock> {
  checkWireSteps(script)
  const { createServer } = await load()
  const fixtures: Fixture[] = []
  const rules: { readonly matches: (prompt: WirePrompt) => boolean; readonly fixture: Fixture }[] = []
  const queue: Fixture[] = []
  const requests: WireRequest[] = []
  const routed = new WeakMap<ChatCompletionRequest, Fixture | undefined>()

  /** The server asks every fixture about a request; the first one decides. */
  function route(request: ChatCompletionRequest): Fixture | undefined {
    if (!routed.has(request)) {
      routed.set(request, rules.find((rule) => rule.matches(request))?.fixture ?? queue.shift())
    }
    return routed.get(request)
  }

  function add(step: WireStep): Fixture {
    const fixture: Fixture = { match: { predicate: (request) => route(request) === fixture }, ...fixtureOf(step) }
    fixtures.push(fixture)
    return fixture
  }

  const { server, url } = await createServer(fixtures, { host: '127.0.0.1', port: 0 })
  record(server, requests)
  repair(server)

  const aimock: Aimock = {
    url,
    baseURL: `${url}/v1`,
    requests,
    play(...steps) {
      checkWireSteps(steps)
      for (const step of steps) queue.push(add(step))
    },
    on(matches, step) {
      checkWireSteps([step])
      rules.push({ matches, fixture: add(step) })
    },
    close() {
      return new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      })
    },
  }
  aimock.play(...script)
  return aimock
}

async function load(): Promise<typeof import('@copilotkit/aimock')> {
  try {
    return await import('@copilotkit/aimock')
  } catch (cause) {
    throw new ProvostError('missing-package', 'startAimock needs the package @copilotkit/aimock.', {
      hint: 'Install it: npm install --save-dev @copilotkit/aimock',
      cause,
    })
  }
}
