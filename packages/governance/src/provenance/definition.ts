import { hash } from 'node:crypto'

import type { ToolInfo } from '@provost/core'
import { definitionText, isRecord, untrustedLabel } from '@provost/core'

import { hostOf, isUrl } from '../wording/address.ts'
import { holds, looseForm } from '../wording/exact-form.ts'
import type { Source } from './source.ts'

/** Returns whether a tool's texts and schema come from a remote server: these vouch for no value. */
export function isForeign({ set }: ToolInfo): boolean {
  return set !== undefined
}

/** The definitions of remote tools as sources. Created for each call, since each call has a search limit. */
export interface Definitions {
  readonly tools: readonly ToolInfo[]
  /** The definitions have more text than one call may search. */
  readonly tooLong: boolean
  /** Characters that may still be searched. */
  left: number
}

/** Characters of all definitions together; a hundred tools have about 200,000. */
const longestTexts = 1_000_000
const mostSearched = 20_000_000
const longestAddress = 2_000

export function definitionsOf(tools: readonly ToolInfo[]): Definitions {
  // The model reads a deferred tool in search results, which are labelled untrusted themselves.
  const foreign = tools.filter((tool) => isForeign(tool) && !tool.deferred)
  let length = 0
  for (const tool of foreign) length += textOf(tool).length
  return { tools: foreign, tooLong: length > longestTexts, left: mostSearched }
}

/** Returns the definitions that contain an address as a whole. */
export function definitionsWith(value: string, definitions: Definitions): readonly Source[] {
  const form = value.length <= longestAddress ? looseForm(value) : ''
  if (!isAddress(form) || !maySearch(definitions)) return []
  return definitions.tools.map(sourceOf).filter(({ text }) => holds(text, form))
}

/** Returns whether a definition mentions an address or its host. True if the search limit is reached. */
export function isSuggested(value: string, definitions: Definitions): boolean {
  if (definitions.tools.length === 0) return false
  const form = value.length <= longestAddress ? looseForm(value) : ''
  if (!isAddress(form)) return value.length > longestAddress && isUrl(value.slice(0, longestAddress))
  if (!maySearch(definitions)) return true
  const host = isUrl(value) ? looseForm(hostOf(value)) : ''
  return definitions.tools.map(sourceOf).some(({ text }) => holds(text, form) || (host !== '' && text.includes(host)))
}

function maySearch(definitions: Definitions): boolean {
  if (definitions.tooLong || definitions.left <= 0) return false
  for (const tool of definitions.tools) definitions.left -= sourceOf(tool).text.length
  return true
}

/** Matches mail addresses, hosts, web addresses, and account or telephone numbers, but no names and plain words. */
function isAddress(form: string): boolean {
  return /[^\s@]@[^\s@]|[\p{L}\p{N}][.:][\p{L}\p{N}/]/u.test(form) || /(?:\d[\s-]?){6}/.test(form)
}

const texts = new WeakMap<ToolInfo, string>()
const sources = new WeakMap<ToolInfo, Source>()
const nothing: ReadonlySet<string> = new Set()

function sourceOf(tool: ToolInfo): Source {
  let source = sources.get(tool)
  if (!source) {
    source = {
      name: `definition of ${tool.name}`,
      label: untrustedLabel(`definition:${tool.set ?? ''}`),
      // These two ligatures expand to whole sentences and occur in no address.
      text: textOf(tool)
        .replaceAll(/[\ufdfa\ufdfb]/g, ' ')
        .split('\n')
        .map(looseForm)
        .join('\n'),
      inputText: '',
      wholeValues: nothing,
    }
    sources.set(tool, source)
  }
  return source
}

/** Returns all texts and keys of a tool's definition, one a line, including defaults, examples and enums. */
function textOf(tool: ToolInfo): string {
  let text = texts.get(tool)
  if (text === undefined) {
    const { title, description, inputSchema, outputSchema } = tool
    const lines: string[] = []
    const left: unknown[] = [title, description, inputSchema, outputSchema]
    while (left.length > 0) {
      const one = left.pop()
      if (typeof one === 'string' || typeof one === 'number') lines.push(String(one))
      else if (Array.isArray(one)) for (const item of one) left.push(item)
      else if (isRecord(one)) {
        for (const [key, item] of Object.entries(one)) {
          lines.push(key)
          left.push(item)
        }
      }
    }
    texts.set(tool, (text = lines.join('\n')))
  }
  return text
}

const hashes = new WeakMap<ToolInfo, string>()

/** Returns the hash of a tool's definition. An approval carries it, so it applies to this definition only. */
export function definitionHash(tool: ToolInfo): string {
  let known = hashes.get(tool)
  if (known === undefined) hashes.set(tool, (known = hash('sha256', definitionText(tool))))
  return known
}
