import { checkChoice, checkOptions } from '@provost/core'
import type { KnownKeys, MovedKeys } from '@provost/core'

import { movedToolKeys, toolKeys } from '../definition/known-tool-options.ts'
import type { McpOptions, McpToolSettings, McpTransport } from '../mcp-transport/mcp-options.ts'

const optionKeys = {
  name: true,
  transport: true,
  timeoutMs: true,
  connectTimeoutMs: true,
  elicitation: true,
  maxMessageBytes: true,
  accept: true,
  unaccepted: true,
  onRefused: true,
  meta: true,
  configure: true,
} satisfies KnownKeys<McpOptions>

const movedOptions: MovedKeys = {
  command: "Write transport: { type: 'stdio', command }.",
  args: "Write transport: { type: 'stdio', command, args }.",
  url: "Write transport: { type: 'http', url }.",
  headers: "Write transport: { type: 'http', url, headers }.",
  effect: 'Return it from "configure", for each tool.',
  needsApproval: 'Return it from "configure", for each tool.',
}

const transportKeys = {
  stdio: { type: true, command: true, args: true, env: true, cwd: true },
  http: { type: true, url: true, headers: true, authProvider: true },
} satisfies { readonly [K in McpTransport['type']]: KnownKeys<Extract<McpTransport, { readonly type: K }>> }

const { name: _n, title: _t, description: _d, input: _i, output: _o, execute: _e, ...settingKeys } = toolKeys
const knownSettings: KnownKeys<McpToolSettings> = settingKeys

const servers = 'The server says it. Remove it.'
const movedSettings: MovedKeys = {
  ...movedToolKeys,
  name: servers,
  title: servers,
  description: servers,
  input: servers,
  output: servers,
  execute: servers,
}

/** @throws ProvostError `unknown-option` */
export function checkMcpOptions(options: McpOptions): void {
  checkOptions(options, optionKeys, 'mcpTools', movedOptions)
  checkChoice(options.elicitation, ['ask', 'refuse'], 'elicitation', 'mcpTools')
  checkChoice(options.unaccepted, ['refuse', 'untrusted'], 'unaccepted', 'mcpTools')
  const { type } = options.transport
  checkChoice(type, Object.keys(transportKeys), 'type', 'the transport of mcpTools')
  checkOptions(options.transport, transportKeys[type], `the ${type} transport of mcpTools`)
}

/** @throws ProvostError `unknown-option` for what `configure` returned of a tool. */
export function checkMcpSettings(settings: McpToolSettings | undefined, server: string, name: string): void {
  checkOptions(settings, knownSettings, `"configure" of MCP server ${server}, tool ${name}`, movedSettings)
}
