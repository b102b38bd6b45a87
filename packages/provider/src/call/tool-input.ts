import type { Json } from '@provost/core'

/** Deeper values overflow the stack of code that traverses them. Real arguments are far shallower. */
const maxDepth = 256

/**
 * Returns the parsed arguments of a call, or the parsed result of a tool of the provider. Text that is invalid JSON, too
 * deeply nested or has a prototype key stays text, which validation of arguments then reports to the model.
 */
export function parseToolInput(text: string): Json {
  if (text.trim() === '') return {}
  if (text.length > maxDepth && isDeep(text)) return text
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  return reachesPrototype(text) && hasHostileKey(value) ? text : value
}

function isDeep(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i)
    if (quoted) {
      if (char === 92 /* \ */) i += 1
      else if (char === 34 /* " */) quoted = false
    } else if (char === 34) quoted = true
    else if (char === 123 /* { */ || char === 91 /* [ */) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (char === 125 || char === 93) depth -= 1
  }
  return false
}

/** Returns whether the text needs the full check, which few inputs do. Escapes can encode the same keys. */
function reachesPrototype(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')
}

function hasHostileKey(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasHostileKey)
  for (const [key, field] of Object.entries(value)) {
    if (key === '__proto__') return true
    if (key === 'constructor' && typeof field === 'object' && field !== null && Object.hasOwn(field, 'prototype'))
      return true
    if (hasHostileKey(field)) return true
  }
  return false
}
