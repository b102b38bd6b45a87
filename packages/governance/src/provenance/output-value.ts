import type { JsonPointer, Label, Steps, ToolOutput } from '@provost/core'
import { escapePointer, isRecord } from '@provost/core'

import { covers } from './argument-role.ts'

/** A string or a number of a tool's output, or a key that is not a plain name. */
export interface OutputValue {
  readonly pointer: string
  readonly value: string
  readonly trusted: boolean
}

/** Labels that a tool declares for fields of its output. */
export type FieldLabels = Readonly<Record<JsonPointer, Label>> | undefined

/** Characters of the longest text that is parsed as JSON. */
export const longestJson = 1_000_000

/** Values, and characters of them, that are read between two pauses. */
export const valuesTogether = 256
const charactersTogether = 16_384

/** Returns a function that tells when to pause so that other work can run. Small results never pause. */
export function pauseAfter(): (length: number) => boolean {
  let [values, characters] = [0, 0]
  return (length) => {
    characters += length
    if (++values < valuesTogether && characters < charactersTogether) return false
    values = characters = 0
    return true
  }
}

/** Returns the JSON of a result. A text result stays a text unless it parses as JSON. */
export function jsonOf(output: ToolOutput): unknown {
  switch (output.type) {
    case 'json':
    case 'error-json':
      return output.value
    case 'text':
    case 'error-text':
      return parsed(output.value)
    case 'execution-denied':
      return output.reason ?? ''
    case 'content':
      return output.value.map((part) =>
        part.type === 'text' ? parsed(part.text) : part.data.type === 'text' ? part.data.text : '',
      )
    default:
      return output satisfies never
  }
}

function parsed(text: string): unknown {
  if (text.length > longestJson || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A list or an object under traversal. */
interface Level {
  readonly value: Readonly<Record<string, unknown>> | readonly unknown[]
  readonly keys: readonly string[] | undefined
  readonly pointer: string
  at: number
}

/** Steps of the longest pointer. Deeper values share the pointer of their ancestor, since tools declare no fields there. */
const deepestPointer = 64

/** Collects every string and number, and every key that is not a plain name: an outsider may write keys too. */
export function* collect(root: unknown, label: Label, fields: FieldLabels): Steps<readonly OutputValue[]> {
  const found: OutputValue[] = []
  const go = collector(root, label, fields, found)
  while (go()) yield
  return found
}

/** Returns a function that traverses a value in parts and returns whether more is left. */
export function collector(root: unknown, label: Label, fields: FieldLabels, found: OutputValue[]): () => boolean {
  const open: Level[] = []
  const enter = (value: unknown, pointer: string): void => {
    if (typeof value === 'string' || typeof value === 'number') {
      const own = fieldLabel(fields, pointer) ?? label
      found.push({ pointer, value: String(value), trusted: own.integrity === 'trusted' })
    } else if (Array.isArray(value)) open.push({ value, keys: undefined, pointer, at: 0 })
    else if (isRecord(value)) open.push({ value, keys: Object.keys(value), pointer, at: 0 })
  }
  const below = (pointer: string, step: string): string =>
    open.length > deepestPointer ? pointer : `${pointer}/${step}`
  enter(root, '')
  return () => {
    let looked = 0
    for (let level = open.at(-1); level; level = open.at(-1)) {
      if (++looked > valuesTogether) return true
      const { value, keys, pointer } = level
      const at = level.at++
      if (keys) {
        const key = keys[at]
        if (key === undefined) open.pop()
        else {
          if (!/^[\w-]{1,40}$/.test(key))
            found.push({ pointer: `${pointer}/`, value: key, trusted: label.integrity === 'trusted' })
          enter(isRecord(value) ? value[key] : undefined, below(pointer, escapePointer(key)))
        }
      } else if (Array.isArray(value) && at < value.length) enter(value[at], below(pointer, String(at)))
      else open.pop()
    }
    return false
  }
}

/** Returns the label of the nearest declared field at or above a pointer; `*` matches any one step. */
function fieldLabel(fields: FieldLabels, pointer: string): Label | undefined {
  if (!fields) return undefined
  const exact = Object.entries(fields).find(([field]) => field === pointer)
  if (exact) return exact[1]
  let best: { length: number; label: Label } | undefined
  for (const [field, label] of Object.entries(fields)) {
    if (field.length > (best?.length ?? 0) && covers(field.split('/'), pointer.split('/')))
      best = { length: field.length, label }
  }
  return best?.label
}
