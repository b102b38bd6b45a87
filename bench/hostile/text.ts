/** One megabyte. */
export const mb = 2 ** 20

/** A text repeated to a length. */
export function fill(text: string, length: number = mb): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length)
}

/** JSON text nested to a depth, which `JSON.stringify` could not write. */
export function nested(depth: number, open = '[', close = ']', inside = ''): string {
  return open.repeat(depth) + inside + close.repeat(depth)
}

/** A value nested in arrays. */
export function deep(depth: number, inside: unknown = 1): unknown {
  let value = inside
  for (let n = 0; n < depth; n++) value = [value]
  return value
}

/** An object of many keys. */
export function wide(keys: number, value: (n: number) => unknown = () => 1): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, value(n)]))
}

/** Many of something. */
export function many<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n))
}

/** One letter of the Arabic presentation forms that becomes 18 characters under NFKC. */
export const salla = '\uFDFA'

/** Random letters that are the same each time. */
export function noise(length: number, alphabet = 'abcdefghijklmnopqrstuvwxyz '): string {
  let state = 7
  let text = ''
  for (let n = 0; n < length; n++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    text += alphabet[(state >>> 16) % alphabet.length]
  }
  return text
}
