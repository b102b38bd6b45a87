import { isRecord, type Json } from '@provost/core'

/** Matches JSON text that may hold keys which pollute a prototype when objects are merged. Only such text is searched. */
const suspicious = /__proto__|"constructor"|\\u/

function isHostile(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** Removes such keys from a parsed value. Uses no recursion: the script controls the depth, and the stack is limited. */
function clean(parsed: unknown): void {
  const left = [parsed]
  while (left.length > 0) {
    const value = left.pop()
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') left.push(item)
    } else if (isRecord(value)) {
      for (const [key, item] of Object.entries(value)) {
        if (isHostile(key, item)) Reflect.deleteProperty(value, key)
        else if (typeof item === 'object') left.push(item)
      }
    }
  }
}

/** Parses text from the other side without keys that could pollute a prototype. Throws what `JSON.parse` throws. */
export function parseClean(text: string): Json {
  const parsed: Json = JSON.parse(text)
  if (suspicious.test(text)) clean(parsed)
  return parsed
}

/** Writes the value as JSON text without such keys; `undefined` becomes `null`. Throws what `JSON.stringify` throws. */
export function writeClean(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return suspicious.test(text) ? JSON.stringify(parseClean(text)) : text
}
