import { defineExtension, isRecord, toErrorInfo } from '@provost/core'
import type { Extension, Fold, LabelInit, Tool } from '@provost/core'

import { tool } from '../definition/tool.ts'
import { createToolIndex } from './tool-index.ts'
import type { ToolIndex } from './tool-index.ts'

const extensionName = 'tool-search'
const defaultResults = 5
const mostResults = 20
const mostDescription = 400

/**
 * Returns the search for deferred tools, and the extension that offers found tools from the next step on. The log of
 * the session records them, so later runs and other processes offer them too. Their order is that of finding, so that
 * the provider's cache of the catalogue stays valid.
 *
 * @param deferred returns the tools to search, called on first use.
 */
export function toolSearch(deferred: () => readonly Tool[]): Extension {
  let index: Promise<ToolIndex<Tool>> | undefined
  const search = tool({
    name: 'tool_search',
    description:
      'Finds tools that are not in your list yet, by what they do. Tools it finds can be called from your next message on.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', maxLength: 500, description: 'What the tool should do, in a few words, or its name.' },
        limit: { type: 'integer', minimum: 1, maximum: mostResults, description: `Default ${defaultResults}.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    effect: 'none',
    modelOnly: true,
    async execute({ query, limit = defaultResults }) {
      index ??= createToolIndex(deferred())
      // An index that failed is made again by the next search.
      index.catch(() => (index = undefined))
      const found = (await index).search(query, limit)
      const rows = await Promise.all(found.map(describe))
      return {
        tools: rows,
        ...(rows.length === 0 && { note: 'Nothing found. Try other words, or do without.' }),
      }
    },
    returns: ({ tools }) => labelOf(tools),
  })
  let names: ReadonlyMap<string, Tool> | undefined
  const find = (name: string): Tool | undefined =>
    (names ??= new Map(deferred().map((one) => [one.name, one]))).get(name)

  return defineExtension<never>({
    name: extensionName,
    tools: [search],
    hooks: {
      async 'model.request'(_request, ctx) {
        const promote: string[] = []
        for (const name of ctx.fold(promoted)) {
          const found = find(name)
          if (found && (await problemOf(found)) === undefined) promote.push(name)
        }
        return promote.length > 0 ? { promote } : undefined
      },
      async 'tool.result'(result, ctx) {
        if (!('~tool' in result.tool) || result.tool['~tool'] !== search['~tool'] || result.outcome !== 'ok') return
        const known = ctx.fold(promoted)
        const tools = usableIn(result.value).filter((name) => find(name) && !known.includes(name))
        if (tools.length > 0) await ctx.append(result.callId, { tools })
      },
    },
  })
}

/** What the model reads of a found tool. */
interface Found {
  readonly name: string
  readonly description?: string
  readonly set?: string
  /** Why it cannot be offered. */
  readonly problem?: string
}

async function describe(found: Tool): Promise<Found> {
  const { name, title, description = title, set } = found
  const problem = await problemOf(found)
  return {
    name,
    ...(description !== undefined && { description: description.slice(0, mostDescription) }),
    ...(set !== undefined && { set }),
    ...(problem !== undefined && { problem }),
  }
}

/** Returns why a found tool has no usable schema, if so. A deferred schema is created here. */
async function problemOf(found: Tool): Promise<string | undefined> {
  try {
    await found['~tool'].prepare?.()
    return typeof found.inputSchema === 'object' ? undefined : 'It has no schema.'
  } catch (thrown) {
    return toErrorInfo(thrown).message.slice(0, 500)
  }
}

/** Returns the label of descriptions: trusted for local tools, untrusted for tools of a set. */
function labelOf(found: readonly Found[]): LabelInit {
  const sets = found.flatMap(({ set }) => (set === undefined ? [] : [set]))
  return sets.length === 0
    ? { integrity: 'trusted', sources: [] }
    : { integrity: 'untrusted', sources: [...new Set(sets)] }
}

function usableIn(value: unknown): readonly string[] {
  const tools = isRecord(value) && Array.isArray(value['tools']) ? value['tools'] : []
  return tools.flatMap((row: unknown) =>
    isRecord(row) && typeof row['name'] === 'string' && row['problem'] === undefined ? [row['name']] : [],
  )
}

/** The found tools of the session, in the order of finding. */
const promoted: Fold<readonly string[]> = {
  key: 'tool-search/promoted',
  initial: [],
  apply(names, entry) {
    if (entry.type !== 'ext' || entry.name !== extensionName || !isRecord(entry.data)) return names
    const { tools } = entry.data
    if (!Array.isArray(tools)) return names
    return [...new Set([...names, ...tools.filter((name) => typeof name === 'string')])]
  },
}
