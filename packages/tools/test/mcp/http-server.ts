import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { onTestFinished } from 'vitest'

/** A message of a client. */
export interface Asked {
  readonly id?: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Misbehaves in place of a normal response. Returns false for a normal response. */
export type Misdeed = (asked: Asked, response: ServerResponse, request: IncomingMessage) => boolean

/** A server in this process and its requests. */
export interface HttpServer {
  readonly transport: { readonly type: 'http'; readonly url: string }
  readonly asked: readonly Asked[]
}

/** One tool definition. */
export function definition(name: string, more: object = {}): object {
  return { name, inputSchema: { type: 'object' }, ...more }
}

/**
 * Starts an MCP server over streamable HTTP, which is closed after the test.
 *
 * @param misdeed receives each message first; a GET has the method `GET`.
 */
export async function httpServer(tools: readonly object[], misdeed: Misdeed = () => false): Promise<HttpServer> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const message: Asked = request.method === 'POST' ? JSON.parse(body) : { method: request.method ?? '' }
      asked.push(message)
      if (misdeed(message, response, request)) return
      if (message.id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end()
      const result = resultOf(message, tools)
      const error = { code: -32_601, message: `no ${message.method}` }
      json(response, { id: message.id, ...(result ? { result } : { error }) })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The server has no port.')
  return { transport: { type: 'http', url: `http://127.0.0.1:${address.port}/mcp` }, asked }
}

function resultOf({ method, params }: Asked, tools: readonly object[]): object | undefined {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true }, resources: {} },
        serverInfo: { name: 'fake', version: '1' },
      }
    case 'tools/list':
      return { tools }
    case 'tools/call':
      return { content: [{ type: 'text', text: `did ${String(params?.['name'])}` }] }
    default:
      return undefined
  }
}

/** Responds with one message. */
export function json(response: ServerResponse, message: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...message }))
}

/** Begins an event stream. */
export function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  return response
}

/** An event with a message. */
export function event(message: object, id = ''): string {
  return `event: message\n${id && `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}
