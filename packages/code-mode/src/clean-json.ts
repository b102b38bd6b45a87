import type { Json } from '@provost/core'

/** JSON text may hold keys that turn into somebody's prototype when objects are merged: only then is it looked through. */
const suspicious = /__proto__|"constructor"|\\u/

function isHostile(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** Parses text from the other side; keys that could pollute a prototype are left out. Throws what `JSON.parse` throws. */
export function parseClean(text: string): Json {
  if (!suspicious.test(text)) return JSON.parse(text)
  return JSON.parse(text, (key, value: unknown) => (isHostile(key, value) ? undefined : value))
}

/** The value as JSON text without such keys; nothing is `null`. Throws what `JSON.stringify` throws. */
export function writeClean(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return suspicious.test(text) ? JSON.stringify(parseClean(text)) : text
}
