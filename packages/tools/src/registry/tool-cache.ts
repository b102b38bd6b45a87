import { defineExtension, isRecord, toJson } from '@provost/core'
import type { Extension, HookContext, Json, Tool, ToolInfo, ToolResult } from '@provost/core'

type CachedResult = Pick<ToolResult, 'value' | 'output' | 'label' | 'fields' | 'details'>

const mostEntries = 1_000
const mostCharacters = 16 * 1024 * 1024

/**
 * Caches results of tools that declare it, and returns them for calls with the same input. It precedes all other
 * extensions: it caches the result of the tool itself, and other extensions change cached results again.
 *
 * Cached results are no state. They live in this process, the oldest are evicted beyond 1,000 entries or 16 million
 * characters, and the log records the calls that they answered.
 */
export function toolCache(find: (name: string) => Tool | undefined): Extension {
  const results = boundedCache<CachedResult>()

  return defineExtension<never>({
    name: 'tool-cache',
    asks: false,
    hooks: {
      'tool.call'(call, ctx) {
        const key = keyFor(find, call.tool, call.input, ctx)
        const kept = key === undefined ? undefined : results.get(key, ctx.now())
        return kept && { replay: kept }
      },
      'tool.result'(result, ctx) {
        if (result.via !== 'executed' || result.outcome !== 'ok') return
        const caching = find(result.tool.name)?.['~tool'].cache
        const key = caching && keyFor(find, result.tool, result.input, ctx)
        if (!caching || key === undefined) return
        const { value, output, label, fields, details } = result
        const kept: CachedResult = {
          output,
          label,
          ...(value !== undefined && { value }),
          ...(fields && { fields }),
          ...(details !== undefined && { details }),
        }
        results.set(key, kept, JSON.stringify(kept).length, ctx.now() + caching.ttlMs)
      },
    },
  })
}

/** The owner and subject of a cached result. Undefined for tools without a cache. */
function keyFor(
  find: (name: string) => Tool | undefined,
  { name }: ToolInfo,
  input: Json,
  ctx: HookContext<never>,
): string | undefined {
  const caching = find(name)?.['~tool'].cache
  if (!caching) return undefined
  const { principal } = ctx
  // The whole principal: a user who loses a role may no longer see its results.
  const owner = caching.share === 'agent' ? null : [ctx.session.id, principal === undefined ? null : toJson(principal)]
  return canonical([owner, name, input])
}

/** JSON with sorted keys, so that equal data is equal text. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

interface BoundedCache<V> {
  get(key: string, now: number): V | undefined
  set(key: string, value: V, size: number, until: number): void
}

/** Returns a cache that evicts old results. A map keeps its keys in insertion order: the first one is unused for longest. */
function boundedCache<V>(): BoundedCache<V> {
  const entries = new Map<string, { readonly value: V; readonly size: number; readonly until: number }>()
  let total = 0

  function drop(key: string): void {
    total -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  return {
    get(key, now) {
      const entry = entries.get(key)
      if (!entry) return undefined
      if (entry.until <= now) {
        drop(key)
        return undefined
      }
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, value, length, until) {
      const size = length + key.length
      drop(key)
      // A result that would evict a tenth of the others is not cached.
      if (size > mostCharacters / 10) return
      entries.set(key, { value, size, until })
      total += size
      for (const oldest of entries.keys()) {
        if (entries.size <= mostEntries && total <= mostCharacters) break
        drop(oldest)
      }
    },
  }
}
