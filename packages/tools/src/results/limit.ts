import { fillLabel, joinLabels } from '@provost/core'
import type {
  FilePart,
  HookContext,
  Json,
  Label,
  MaybePromise,
  TextPart,
  ToolInfo,
  ToolOutput,
  ToolResult,
} from '@provost/core'

import { boundFiles } from './bound-files.ts'
import { cutMiddle, cutTail } from './cut.ts'
import { fits } from './measure.ts'
import { maxSpillBytes, spill } from './spill.ts'

/** Tokens of a result that a model gets by default, approximately. */
const defaultMaxResultTokens: number = 16_384

/**
 * Returns a result within the limit of its tool.
 *
 * @param reader the tool that reads what is spilled; it may go by another name in the agent.
 * @returns undefined if it is short enough.
 */
export function limitResult(
  result: ToolResult,
  reader: ToolInfo | undefined,
  ctx: HookContext,
): MaybePromise<ToolResult | undefined> {
  const limit = result.tool.maxResultTokens ?? defaultMaxResultTokens
  const output = boundFiles(result.output)
  const text = textIn(output, limit)
  if (text === undefined || fits(text, limit)) return output === result.output ? undefined : { ...result, output }
  return shortened({ ...result, output }, text, limit, reader, ctx)
}

async function shortened(
  result: ToolResult,
  text: string,
  limit: number,
  reader: ToolInfo | undefined,
  ctx: HookContext,
): Promise<ToolResult> {
  const label = labelOfAll(result)
  const shown = await shorten(text, limit, { ...result, label }, reader, ctx)
  // The value and its field labels do not describe the shortened text.
  const { value: _, fields: __, ...rest } = result
  return { ...rest, label, output: withText(result.output, shown) }
}

async function shorten(
  text: string,
  limit: number,
  result: ToolResult,
  reader: ToolInfo | undefined,
  ctx: HookContext,
): Promise<string> {
  const { truncation = 'head' } = result.tool
  if (truncation === 'middle') return cutMiddle(text, limit)
  // The important part of an error is at its start.
  if (truncation === 'head' || result.output.type.startsWith('error')) return cutTail(text, limit)
  if (result.label.confidentiality === 'secret' && !ctx.session.private) {
    return cutTail(text, limit, ' The rest was not kept: it is secret, and others can read the store.')
  }
  if (text.length > maxSpillBytes) return cutTail(text, limit, ' The rest was not kept: it is too long.')
  const name = reader && nameOf(reader, ctx.tools)
  if (name === undefined) return cutTail(text, limit, ' The rest was not kept: there is no tool to read it.')
  return spill(text, limit, result, name, ctx)
}

/** Returns the name of a tool in its agent, where it may have been renamed. */
function nameOf({ description, inputSchema }: ToolInfo, tools: readonly ToolInfo[]): string | undefined {
  // The description first: a schema may still have to be made.
  return tools.find((tool) => tool.description === description && tool.inputSchema === inputSchema)?.name
}

/** Returns the strictest label of everything in the result, field labels included. */
function labelOfAll({ label, fields, output }: ToolResult): Label {
  const parts = output.type === 'content' ? output.value.flatMap((part) => part.label ?? []) : []
  return joinLabels(label, ...[...Object.values(fields ?? {}), ...parts].map((one) => fillLabel(one, label)))
}

/** Returns the text of an output as a model reads it; undefined if it has none, or none that can exceed the limit. */
function textIn(output: ToolOutput, limit: number): string | undefined {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return isShort(output.value, limit / 2) ? undefined : JSON.stringify(output.value)
    case 'content':
      return output.value.flatMap((part) => writtenIn(part) ?? []).join('\n')
    case 'execution-denied':
      return undefined
  }
}

/** Returns whether the JSON of a value has at most about this many characters. Stops beyond that. */
function isShort(value: Json, characters: number): boolean {
  let room = characters
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    room -= typeof next === 'string' ? next.length + 3 : 3
    if (typeof next === 'object' && next !== null) {
      const entries = Object.entries(next)
      room -= entries.length
      if (room < 0) return false
      for (const [key, item] of entries) {
        if (!Array.isArray(next)) room -= key.length + 3
        open.push(item)
      }
    }
    if (room < 0) return false
  }
  return true
}

/** Returns an output with another text. Files stay. */
function withText(output: ToolOutput, text: string): ToolOutput {
  if (output.type === 'error-text' || output.type === 'error-json') return { type: 'error-text', value: text }
  if (output.type !== 'content') return { type: 'text', value: text }
  const first = output.value.findIndex((part) => writtenIn(part) !== undefined)
  const shown: TextPart = { type: 'text', text }
  const value = output.value.flatMap((part, index) => {
    if (writtenIn(part) === undefined) return part
    return index === first ? shown : []
  })
  return { type: 'content', value }
}

/** Returns the text of a part; a file may be one too. */
function writtenIn(part: TextPart | FilePart): string | undefined {
  if (part.type === 'text') return part.text
  return part.data.type === 'text' ? part.data.text : undefined
}
