import { createHash } from 'node:crypto'

import { isRecord } from '@provost/core'

import type { McpDefinition } from '../mcp-transport/mcp-options.ts'

const maxDepth = 64

/**
 * Returns a hash of the entire definition, whatever the order of keys; undefined for one nested over 64 levels.
 */
export function fingerprintOf(definition: McpDefinition): string | undefined {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  const text = canonical({ name, title, description, inputSchema, outputSchema, annotations }, 0)
  return text === undefined ? undefined : `sha256-${createHash('sha256').update(text).digest('base64url')}`
}

/** JSON with sorted keys. */
function canonical(value: unknown, depth: number): string | undefined {
  if (depth > maxDepth) return undefined
  const parts: string[] = []
  if (Array.isArray(value)) {
    for (const item of value) {
      const text = canonical(item, depth + 1)
      if (text === undefined) return undefined
      parts.push(text)
    }
    return `[${parts.join(',')}]`
  }
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  for (const key of Object.keys(value).toSorted()) {
    if (value[key] === undefined) continue
    const text = canonical(value[key], depth + 1)
    if (text === undefined) return undefined
    parts.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${parts.join(',')}}`
}
