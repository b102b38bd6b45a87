import { createHash } from 'node:crypto'

/** What needs no disguise: short and visible ASCII, so that no database and no file system takes two for one. */
const plain = /^(?:[!$-~][!-~]{0,127})?$/
const plainFile = /^[0-9a-z][0-9a-z_-]{0,63}$/

/**
 * A name as a key of a table. Most stay as they are; those that are long, or that hold what text in a database cannot
 * (NUL, halves of surrogate pairs), become a hash, which no plain name looks like.
 */
export function nameKey(name: string): string {
  return plain.test(name) ? name : `#${digest(name)}`
}

/**
 * A name as that of a file, without its ending: the same on file systems that know no case, never a device, never a path.
 */
export function fileName(name: string): string {
  return plainFile.test(name) ? `n-${name}` : `h-${digest(name)}`
}

/** Over the code units: what is not well-formed Unicode is not mixed up either. */
export function digest(name: string): string {
  return createHash('sha256').update(name, 'utf16le').digest('hex')
}
