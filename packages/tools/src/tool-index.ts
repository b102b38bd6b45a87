import { setImmediate as pause } from 'node:timers/promises'

import type { Tool } from '@provost/core'
import { isRecord } from '@provost/core'

/** Finds tools by words. */
export interface ToolIndex {
  /** The best matches first. A query that is the name of a tool finds that one before all others. */
  search(query: string, limit: number): readonly Tool[]
}

/** Words of a query that count; no request has more to say. */
const mostWords = 16
const mostText = 2_000
const mostArguments = 50
/** Tools to index before other work gets its turn. */
const slice = 200

/**
 * Indexes tools by name, title, description and argument names. The search library is loaded here, and other work goes
 * on while thousands of tools are indexed.
 */
export async function createToolIndex(tools: readonly Tool[]): Promise<ToolIndex> {
  const { default: MiniSearch } = await import('minisearch')
  const index = new MiniSearch<Row>({
    fields: ['name', 'title', 'description', 'args'],
    tokenize: wordsOf,
    processTerm: (term) => term.slice(0, 40),
    searchOptions: {
      boost: { name: 4, title: 3, description: 2, args: 1 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 4 ? 1 : false),
      weights: { prefix: 0.5, fuzzy: 0.3 },
    },
  })
  for (let at = 0; at < tools.length; at += slice) {
    if (at > 0) await pause()
    index.addAll(tools.slice(at, at + slice).map((tool, i) => rowOf(tool, at + i)))
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    search(query, limit) {
      const exact = byName.get(query.trim())
      const words = [...new Set(wordsOf(query.slice(0, mostText)))].slice(0, mostWords).join(' ')
      const found = exact ? [exact] : []
      for (const { id } of index.search(words)) {
        if (found.length >= limit) break
        const tool = typeof id === 'number' ? tools[id] : undefined
        if (tool && tool !== exact) found.push(tool)
      }
      return found
    },
  }
}

interface Row {
  readonly id: number
  readonly name: string
  readonly title: string
  readonly description: string
  readonly args: string
}

function rowOf(tool: Tool, id: number): Row {
  const { name, title = '', description = '' } = tool
  return {
    id,
    name,
    title: title.slice(0, mostText),
    description: description.slice(0, mostText),
    args: argumentsOf(tool).join(' '),
  }
}

/** A tool whose schema cannot be read is found by its other words. */
function argumentsOf(tool: Tool): readonly string[] {
  try {
    const { properties } = tool.inputSchema
    return isRecord(properties) ? Object.keys(properties).slice(0, mostArguments) : []
  } catch {
    return []
  }
}

/** `getUserById` and `get_user_by_id` are the same four words. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}
