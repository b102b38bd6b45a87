import { fileURLToPath } from 'node:url'

import type { Json, Tool } from '@provost/core'
import { mcpTools } from '@provost/tools'
import type { McpOptions, McpTools, ToolOutcome, ToolRun } from '@provost/tools'
import { onTestFinished } from 'vitest'

import { call } from '../executor/call.ts'

const script = fileURLToPath(new URL('stdio-server.ts', import.meta.url))

/** A server gets few variables. This one lets all servers share compiled code. */
const compiled = process.env['NODE_COMPILE_CACHE']

/** Returns the command of a server that Node runs. */
export function node(...args: readonly string[]): McpOptions['transport'] {
  return {
    type: 'stdio',
    command: process.execPath,
    args,
    ...(compiled !== undefined && { env: { NODE_COMPILE_CACHE: compiled } }),
  }
}

/** Returns the command of the misbehaving server. */
export function fake(...modes: readonly string[]): McpOptions['transport'] {
  return node(script, ...modes)
}

/** Returns a connection that ends with the test. */
export async function connected(options: Partial<McpOptions> & Pick<McpOptions, 'transport'>): Promise<McpTools> {
  const connection = await mcpTools({ name: 'fake', ...options })
  onTestFinished(() => connection.close())
  return connection
}

/** The tool of this name. */
export function toolOf({ tools }: McpTools, name: string): Tool {
  const found = tools.find((tool) => tool.name === name)
  if (!found) throw new Error(`There is no ${name} among ${tools.map((tool) => tool.name).join(', ')}.`)
  return found
}

/** Calls a tool as the loop does. */
export function callTo(
  connection: McpTools,
  name: string,
  input: Json = {},
  more: Partial<ToolRun> = {},
): Promise<ToolOutcome> {
  return call(toolOf(connection, name), input, more)
}
