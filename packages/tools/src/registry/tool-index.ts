import { setImmediate as pause } from 'node:timers/promises'

import type { ToolInfo } from '@provost/core'
import { isRecord } from '@provost/core'

/** Finds tools by words. */
export interface ToolIndex<T extends ToolInfo = ToolInfo> {
  /** Returns the best matches first. A query that equals the name of a tool finds that tool first. */
  search(query: string, limit: number): readonly T[]
}

/** Words of a query that count. */
const mostWords = 16
/** Places of all words of a query together: very frequent words say little and cost most. */
const mostPlaces = 4_500
/** Unknown words of a query. Each is searched as a prefix, and with a spelling error. */
const mostUnknown = 3
const shortestBeginning = 3
const mostText = 2_000
const mostArguments = 50
/** Tools to index before other work gets its turn. */
const slice = 200

/** A word of the index: the number of its fields, and its first tools. */
interface Word {
  fieldCount: number
  readonly first: number[]
}
const mostFirst = 20

/**
 * Indexes tools by name, title, description and argument names. The search library is loaded here, and other work
 * continues while thousands of tools are indexed.
 */
export async function createToolIndex<T extends ToolInfo>(tools: readonly T[]): Promise<ToolIndex<T>> {
  const { default: MiniSearch } = await import('minisearch')
  const words = new Map<string, Word>()
  const rows: Row[] = []
  for (const [id, tool] of tools.entries()) {
    if (id % slice === slice - 1) await pause()
    const row = rowOf(tool, id)
    rows.push(row)
    for (const text of [row.name, row.text]) count(words, text, id)
  }
  const index = new MiniSearch<Row>({
    fields: ['name', 'text'],
    tokenize: wordsOf,
    // A very frequent word makes each similar search expensive, and distinguishes nothing.
    processTerm: (word) => (words.get(word)?.fieldCount ?? 0) <= mostPlaces && word,
    searchOptions: {
      boost: { name: 2 },
      processTerm: (word) => word,
      // Only unknown words are searched as prefixes and with spelling errors.
      prefix: (word) => word.length >= shortestBeginning && !words.has(word),
      fuzzy: (word) => (word.length > 4 && !words.has(word) ? 1 : false),
      weights: { prefix: 0.5, fuzzy: 0.3 },
    },
  })
  for (let at = 0; at < rows.length; at += slice) {
    if (at > 0) await pause()
    index.addAll(rows.slice(at, at + slice))
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))

  function idsFor(query: string): readonly unknown[] {
    const asked = [...new Set(wordsOf(query.slice(0, mostText)))].slice(0, mostWords)
    const unknown = asked.filter((word) => !words.has(word)).slice(0, mostUnknown)
    const rarest = [
      ...asked.flatMap((text) => {
        const word = words.get(text)
        return word ? [{ text, word }] : []
      }),
      ...unknown.map((text) => ({ text, word: beginning(words, text) })),
    ].toSorted((one, other) => one.word.fieldCount - other.word.fieldCount)
    let sum = 0
    const telling = rarest.filter(({ word }) => (sum += word.fieldCount) <= mostPlaces)
    if (telling.length > 0) return index.search(telling.map(({ text }) => text).join(' ')).map(({ id }) => id)
    // If all words are everywhere, the order of the tools is as good as any.
    return rarest.flatMap(({ word }) => word.first)
  }

  return {
    search(query, limit) {
      const exact = byName.get(query.trim())
      const found = new Set(exact && [exact])
      for (const id of idsFor(query)) {
        if (found.size >= limit) break
        const tool = typeof id === 'number' ? tools[id] : undefined
        if (tool) found.add(tool)
      }
      return [...found]
    },
  }
}

interface Row {
  readonly id: number
  readonly name: string
  readonly text: string
}

function rowOf(tool: ToolInfo, id: number): Row {
  const { name, title = '', description = '' } = tool
  return {
    id,
    name: `${name} ${title.slice(0, mostText)}`,
    text: `${description.slice(0, mostText)} ${argumentsOf(tool).join(' ')}`,
  }
}

/** Returns the argument names of a tool. A tool with an unreadable schema is found by its other words. */
function argumentsOf(tool: ToolInfo): readonly string[] {
  try {
    const { properties } = tool.inputSchema
    return isRecord(properties) ? Object.keys(properties).slice(0, mostArguments) : []
  } catch {
    return []
  }
}

function count(words: Map<string, Word>, text: string, id: number): void {
  for (const each of new Set(wordsOf(text))) {
    const word = words.get(each) ?? { fieldCount: 0, first: [] }
    if (word.fieldCount++ === 0) words.set(each, word)
    if (word.first.length < mostFirst) word.first.push(id)
  }
}

/** Returns all words with this prefix as if they were one. */
function beginning(words: ReadonlyMap<string, Word>, text: string): Word {
  const all: Word = { fieldCount: 0, first: [] }
  if (text.length < shortestBeginning) return all
  for (const [word, { fieldCount, first }] of words) {
    if (!word.startsWith(text)) continue
    all.fieldCount += fieldCount
    if (all.first.length < mostFirst) all.first.push(...first)
  }
  return all
}

/** `getUserById` and `get_user_by_id` have the same four words; singular and plural are the same word. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => (word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word).slice(0, 40))
}
