import type { Input, Json } from '@provost/core'
import { isRecord, toJson } from '@provost/core'

/** How deep the bytes of a message are: in the data of a file in the output of a part of a message. */
const deepest = 8

/**
 * Returns an input as JSON that identifies it: bytes as base64, and without purposes, which logs of earlier releases do not
 * state.
 */
export function inputJson(input: Input): Json {
  const items: unknown = input
  if (!Array.isArray(items)) return toJson(items)
  return toJson(items.map((item: unknown) => withoutBytes(isRecord(item) ? { ...item, purpose: undefined } : item, 0)))
}

/** JSON has a number for each byte: it would block the process for seconds. */
function withoutBytes(value: unknown, depth: number): unknown {
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  }
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (depth === deepest || typeof value !== 'object' || value === null || 'toJSON' in value) return value
  if (Array.isArray(value)) return value.map((item) => withoutBytes(item, depth + 1))
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutBytes(field, depth + 1)]))
    : value
}
