import type { MCPTransport } from '@ai-sdk/mcp'
import { isRecord } from '@provost/core'

import type { McpOptions, McpTransport } from './mcp-options.ts'

/** A message of the protocol, as `@ai-sdk/mcp` has it. */
export type McpMessage = Parameters<MCPTransport['send']>[0]

/** Receives messages of a server other than responses. */
export interface McpListener {
  /** Its tools may have changed. */
  onListChanged(): void
}

/** Returns the id of a request. */
export function requestId(message: unknown): string | number | undefined {
  if (!isRecord(message) || typeof message['method'] !== 'string') return undefined
  return idOf(message)
}

/** Returns the id that a response belongs to. */
export function answeredId(message: unknown): string | number | undefined {
  return isRecord(message) && message['method'] === undefined ? idOf(message) : undefined
}

function idOf({ id }: Record<string, unknown>): string | number | undefined {
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Adds to the `_meta` of a call. */
export type AddMeta = (message: McpMessage) => McpMessage

/** Returns a function that adds the `_meta` of the application to tool calls, and leaves other messages unchanged. */
export function metaAdder(
  server: string,
  transport: McpTransport['type'],
  meta: NonNullable<McpOptions['meta']>,
): AddMeta {
  return (message) => {
    if (!('method' in message) || message.method !== 'tools/call' || !('id' in message)) return message
    const params: Record<string, unknown> = message.params ?? {}
    const known = isRecord(params['_meta']) ? params['_meta'] : {}
    const tool = String(params['name'])
    const added = meta({ method: 'tools/call', server, tool, requestId: message.id, transport })
    return { ...message, params: { ...params, _meta: { ...known, ...added } } }
  }
}

/** Returns the name of a notification. */
export function notificationOf(message: unknown): string | undefined {
  if (!isRecord(message) || message['id'] !== undefined) return undefined
  return typeof message['method'] === 'string' ? message['method'] : undefined
}

export const listChanged = 'notifications/tools/list_changed'

/** Returns the error response for a server that did not respond. */
export function failureOf(id: string | number, message: string): McpMessage {
  return { jsonrpc: '2.0', id, error: { code: -32_000, message } }
}

/** Returns the notification that cancels a request. */
export function cancelled(id: string | number): McpMessage {
  return {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: id, reason: 'The caller waits no longer.' },
  }
}
