import { createHash } from 'node:crypto'

/** Names that stay as they are: short visible ASCII, which databases and file systems keep distinct. */
const plain = /^(?:[!$-~][!-~]{0,127})?$/
const plainFile = /^[0-9a-z][0-9a-z_-]{0,63}$/

/**
 * Returns a name as a key of a table: at most 128 characters of visible ASCII. Most names stay as they are. Long names,
 * and names with other characters, become a hash that differs from each plain name. A name can be any string, and a store
 * never uses it as a path.
 */
export function nameKey(name: string): string {
  return plain.test(name) ? name : `#${digest(name)}`
}

/**
 * Returns a name as a file name without extension: distinct on case-insensitive file systems, never a device, never a
 * path.
 */
export function fileName(name: string): string {
  return plainFile.test(name) ? `n-${name}` : `h-${digest(name)}`
}

/** Hashes the code units, so that names with different lone surrogates differ. */
export function digest(name: string): string {
  return createHash('sha256').update(name, 'utf16le').digest('hex')
}
