import { isRecord } from '../values/json.ts'

/** What changes a text. */
type Change = (text: string) => string

/** JSON with its texts and keys changed; what no change was made in is the same object as before. */
export function mapTexts<T>(value: T, change: Change): T {
  return mapJson(value, change, change)
}

/**
 * The same, with files told from texts.
 *
 * @param changeFile of bytes in base64, as they stand in parts of messages and in results of MCP.
 */
export function mapJson<T>(value: T, change: Change, changeFile: Change): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- texts stay texts, and all else keeps its shape
  return mapped(value, change, changeFile) as T
}

function mapped(value: unknown, change: Change, changeFile: Change): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value === 'number') {
    // A number that only has the digits of a secret in it is a number.
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

/** Where a file has its bytes: `{ type: 'data', data }` of ours, `{ mimeType, data }` and `{ mimeType, blob }` of MCP. */
const fileKeys: ReadonlySet<string> = new Set(['data', 'blob', 'base64'])

function isFile(value: Readonly<Record<string, unknown>>): boolean {
  return value['type'] === 'data' || typeof value['mediaType'] === 'string' || typeof value['mimeType'] === 'string'
}
