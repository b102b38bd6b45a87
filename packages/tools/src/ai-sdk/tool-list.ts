import type { Tool } from '@provost/core'
import { isRecord, ProvostError } from '@provost/core'

import { withInfo } from '../definition/define-tool.ts'
import type { AiTool, PlainTool } from './ai-tool.ts'
import { fromAiTool, isAiTool } from './ai-tool.ts'

/** Tools under names: a tool set of the AI SDK, plain objects `{ description, inputSchema, execute }`, or a mixture. A name here goes before the tool's own. */
export type ToolRecord = Readonly<Record<string, Tool | AiTool | PlainTool>>

/** The tools of an agent: tools, sets of tools, tools of the AI SDK, and lists of these. */
export type ToolsInput = ToolRecord | readonly (Tool | AiTool | ToolRecord)[]

/** The tools that were created by `tool()`, for their types. */
export type ToolsIn<T> = T extends readonly (infer Item)[] ? Own<Item> : Own<T>
type Own<T> = T extends Tool ? T : T extends AiTool | PlainTool ? never : Extract<T[keyof T], Tool>

/**
 * Tools of all kinds as a plain list.
 *
 * @throws ProvostError `invalid-tool` for a value that is not a tool, or for an AI SDK tool without a name.
 */
export function listTools(tools: ToolsInput): readonly Tool[] {
  return isList(tools) ? tools.flatMap((item, index) => listItem(item, index)) : listRecord(tools)
}

function isList(tools: ToolsInput): tools is Extract<ToolsInput, readonly unknown[]> {
  return Array.isArray(tools)
}

function listItem(item: Tool | AiTool | ToolRecord, index: number): readonly Tool[] {
  if (isTool(item)) return [item]
  if (looksLikeTool(item)) throw plainObject(`tools[${index}]`, item.name)
  if (isAiTool(item)) return [fromAiTool(nameOfProviderTool(item, index), item)]
  return listRecord(item, `tools[${index}]`)
}

/** Returns the name in the id of a provider-defined tool, such as `openai.web_search`. Function tools have no name. */
function nameOfProviderTool(tool: AiTool, index: number): string {
  if (tool.type === 'provider') return tool.id.slice(tool.id.indexOf('.') + 1)
  throw new ProvostError('invalid-tool', `tools[${index}] is a tool of the AI SDK without a name.`, {
    hint: 'Name it by a key: tools: [{ weather: weatherTool }].',
  })
}

function listRecord(record: ToolRecord, path = 'tools'): readonly Tool[] {
  if (!isRecord(record)) throw notATool(path)
  return Object.entries(record).map(([name, item]) => {
    if (isTool(item)) return item.name === name ? item : withInfo(item, { name })
    if (isAiTool(item)) return fromAiTool(name, item)
    if (looksLikeTool(item)) throw plainObject(`${path}.${name.slice(0, 100)}`, name)
    throw notATool(`${path}.${name.slice(0, 100)}`)
  })
}

/** Returns whether an object was meant as one tool, not as a record of tools. */
function looksLikeTool(item: unknown): item is { readonly name?: unknown } {
  if (!isRecord(item)) return false
  const { name, execute, inputSchema } = item
  return typeof name === 'string' || (typeof execute === 'function' && inputSchema === undefined)
}

function plainObject(path: string, name: unknown): ProvostError {
  const shown = JSON.stringify(typeof name === 'string' ? name.slice(0, 100) : 'weather')
  return new ProvostError('invalid-tool', `${path} is a plain object, not a tool.`, {
    hint: `Wrap it: tool({ name: ${shown}, input, execute }). Or name it by a key: tools: [{ ${shown}: { description, inputSchema, execute } }].`,
  })
}

function notATool(path: string): ProvostError {
  return new ProvostError('invalid-tool', `${path} is not a tool.`, {
    hint: 'Create it with tool({ name, input, execute }), or pass a tool or tool set of the AI SDK.',
  })
}

function isTool(item: unknown): item is Tool {
  return isRecord(item) && isRecord(item['~tool'])
}

/**
 * Groups external tools, such as those of an MCP server, under a name. The name states their origin, is the prefix of
 * names that are taken, and marks their descriptions as untrusted.
 *
 * @throws ProvostError `invalid-tool`
 *
 * @example
 * createAgent({ name: 'desk', model, tools: [refund, ...toolSet('github', await client.tools())] })
 */
export function toolSet<const T extends ToolsInput>(name: string, tools: T): readonly (ToolsIn<T> | Tool)[] {
  if (typeof name !== 'string' || name === '')
    throw new ProvostError('invalid-tool', 'A tool set needs a name.', { hint: "Give toolSet('github', tools)." })
  return listTools(tools).map((tool) => withInfo(tool, { set: name }))
}
