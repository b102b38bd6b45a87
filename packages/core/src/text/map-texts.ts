import { isRecord } from '../values/json.ts'

/** A function that changes a text. */
type Change = (text: string) => string

/** Returns JSON with its texts and keys changed. Parts without a change keep their identity. */
export function mapTexts<T>(value: T, change: Change): T {
  return mapJson(value, change, change)
}

/**
 * Like {@link mapTexts}, with a separate function for files.
 *
 * @param changeFile receives bytes in base64, as in parts of messages and in results of MCP.
 */
export function mapJson<T>(value: T, change: Change, changeFile: Change): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts stay texts, and all else keeps its shape
  return mapped(value, change, changeFile) as T
}

function mapped(value: unknown, change: Change, changeFile: Change): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value === 'number') {
    // A number that merely contains the digits of a secret stays a number.
    const changed = change(String(value))
    return changed.startsWith('⟦') && changed.indexOf('⟧') === changed.length - 1 ? changed : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let list: unknown[] | undefined
    for (const [index, item] of value.entries()) {
      const changed = mapped(item, change, changeFile)
      if (changed !== item) (list ??= [...value])[index] = changed
    }
    return list ?? value
  }
  const ofFile = isRecord(value) && isFile(value)
  let same = true
  const fields: [string, unknown][] = []
  for (const [key, field] of Object.entries(value)) {
    const bytes = ofFile && typeof field === 'string' && fileKeys.has(key)
    const next: [string, unknown] = [change(key), bytes ? changeFile(field) : mapped(field, change, changeFile)]
    same &&= next[0] === key && next[1] === field
    fields.push(next)
  }
  return same ? value : Object.fromEntries(fields)
}

/** The field with the bytes of a file: `{ type: 'data', data }` here, `{ mimeType, data }` or `{ mimeType, blob }` in MCP. */
const fileKeys: ReadonlySet<string> = new Set(['data', 'blob', 'base64'])

function isFile(value: Readonly<Record<string, unknown>>): boolean {
  return value['type'] === 'data' || typeof value['mediaType'] === 'string' || typeof value['mimeType'] === 'string'
}
