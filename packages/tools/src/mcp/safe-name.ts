import { createHash } from 'node:crypto'

const maxLength = 64

/**
 * A name that models can call for each of these names: characters they cannot write become `_`. One that is too long,
 * or that another one has already, ends in a hash of the original, so it is the same in every connection.
 */
export function safeNames(names: readonly string[]): Map<string, string> {
  const safe = new Map<string, string>()
  // Those that are fine as they are come first: no other name takes theirs.
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
