import type { MCPTransport } from '@ai-sdk/mcp'
import { ProvostError } from '@provost/core'

import { createLines } from './lines.ts'
import type { Line } from './lines.ts'
import type { McpTransport } from './mcp-options.ts'
import { answeredId, cancelled, failureOf, listChanged, notificationOf, requestId } from './protocol.ts'
import type { AddMeta, McpListener, McpMessage } from './protocol.ts'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { serverText } from './server-text.ts'

/** The transport of a server process, and what is known of the process. */
export interface StdioTransport extends MCPTransport {
  /** The exit of the process; undefined while it runs. */
  exitReason(): string | undefined
  /** Returns the last line on stdout that was not a message. */
  strayLine(): string | undefined
}

const inherited = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR']

/**
 * Returns a transport to a server process. The one of `@ai-sdk/mcp` does not bound its buffer, does not ensure that the
 * process ends, and does not notify the server of cancelled calls.
 */
export function stdioTransport(
  { command, args = [], env, cwd }: Extract<McpTransport, { type: 'stdio' }>,
  maxMessageBytes: number,
  validate: (message: unknown) => McpMessage,
  listener: McpListener,
  addMeta: AddMeta = (message) => message,
): StdioTransport {
  let server: ServerProcess | undefined
  let starting: Promise<ServerProcess> | undefined
  let stray: string | undefined
  /** Requests without an answer, and how to stop listening to their signals. */
  const pending = new Map<string | number, () => void>()

  const hear = (message: McpMessage): void => {
    const id = answeredId(message)
    if (id !== undefined) settle(id)
    const notification = notificationOf(message)
    if (notification === listChanged) listener.onListChanged()
    if (notification !== undefined) return
    try {
      transport.onmessage?.(message)
    } catch {
      // A response to a request that is no longer open.
    }
  }
  const settle = (id: string | number): void => {
    pending.get(id)?.()
    pending.delete(id)
  }
  const read = (line: Line): void => {
    if (line.text === undefined) return drop(line.head, line.tail)
    if (line.text.trim() === '') return
    const message = parsed(line.text, validate)
    if (message) hear(message)
    else stray = serverText(line.text, 200)
  }
  /** A response that is too long fails its request. If its request is unknown, all open requests fail. */
  const drop = (head: string, tail: string): void => {
    const match = /"id":(\d{1,15})\s*\}?\s*$/.exec(tail) ?? /^\s*\{(?:"jsonrpc":"2\.0",)?"id":(\d{1,15}),/.exec(head)
    const id = match ? Number(match[1]) : undefined
    const failed = id !== undefined && pending.has(id) ? [id] : [...pending.keys()]
    for (const each of failed) hear(failureOf(each, tooLong(maxMessageBytes)))
  }

  const transport: StdioTransport = {
    supportsProtocolVersionDiscovery: true,
    async start() {
      starting = startServer(
        { command, args, env: { ...handedDown(), ...env }, ...(cwd !== undefined && { cwd }) },
        createLines(maxMessageBytes, read),
      )
      const started = await starting
      server = started
      void started.ended.then(() => transport.onclose?.())
    },
    async send(message, options) {
      if (!server || server.ending() !== undefined)
        throw new ProvostError('mcp-closed', 'The server does not run.', { hint: 'Connect again with mcpTools().' })
      const id = requestId(message)
      const signal = options?.signal
      if (id !== undefined) {
        const cancel = (): void => {
          settle(id)
          server?.write(`${JSON.stringify(cancelled(id))}\n`)
        }
        pending.set(id, () => signal?.removeEventListener('abort', cancel))
        // The greeting may not be cancelled: the process is ended instead.
        if (!('method' in message && message.method === 'initialize'))
          signal?.addEventListener('abort', cancel, { once: true })
      }
      server.write(`${JSON.stringify(addMeta(message))}\n`)
    },
    async close() {
      const started = await starting?.catch(() => undefined)
      await started?.kill()
    },
    exitReason: () => server?.ending(),
    strayLine: () => stray,
  }
  return transport
}

/** Returns the error for a message that is too long. */
export function tooLong(maxMessageBytes: number): string {
  return `The server sent a message of more than ${maxMessageBytes} bytes (maxMessageBytes), which was dropped.`
}

function parsed(text: string, validate: (message: unknown) => McpMessage): McpMessage | undefined {
  try {
    return validate(JSON.parse(text))
  } catch {
    return undefined
  }
}

function handedDown(): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  return env
}
