import { createHash } from 'node:crypto'

const maxLength = 64

/**
 * Returns a valid name for each name: invalid characters become `_`. A name that is too long or taken ends in a hash of
 * the original, so it is equal in every connection.
 */
export function safeNames(names: readonly string[]): Map<string, string> {
  const safe = new Map<string, string>()
  // Valid names come first, so that no other name takes theirs.
  const taken = new Set(names.filter((name) => replaced(name) === name && name.length <= maxLength))
  for (const name of names) {
    if (taken.has(name)) {
      safe.set(name, name)
      continue
    }
    const plain = replaced(name)
    const fits = plain !== '' && plain.length <= maxLength && !taken.has(plain)
    const chosen = fits ? plain : `${plain.slice(0, maxLength - 9) || 'tool'}_${hash(name)}`
    taken.add(chosen)
    safe.set(name, chosen)
  }
  return safe
}

function replaced(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_')
}

function hash(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8)
}
