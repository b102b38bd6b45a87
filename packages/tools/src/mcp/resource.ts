import type { ReadResource } from './connection.ts'

/** Returns the bytes `from` to `to` of a resource, only whole characters of a text. */
export function readRange(
  { contents }: ReadResource,
  { from, to }: { readonly from: number; readonly to: number } = { from: 0, to: Infinity },
): string | Uint8Array {
  const bytes = Buffer.concat(
    contents.map((content) =>
      'blob' in content && typeof content.blob === 'string'
        ? Buffer.from(content.blob, 'base64')
        : Buffer.from('text' in content && typeof content.text === 'string' ? content.text : ''),
    ),
  )
  if (contents.some((content) => 'blob' in content)) return new Uint8Array(bytes.subarray(from, to))
  return bytes.toString('utf8', boundary(bytes, from), boundary(bytes, to))
}

/** Returns the first character that starts at or after this byte. */
function boundary(bytes: Buffer, at: number): number {
  let index = Math.min(at, bytes.length)
  for (let byte = bytes[index]; byte !== undefined && (byte & 0xc0) === 0x80; byte = bytes[index]) index++
  return index
}
