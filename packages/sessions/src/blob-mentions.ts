const hashLength = 64

/**
 * The SHA-256 hashes, in lower-case hexadecimal, that a text mentions: how a store knows which log needs which blob,
 * whatever the shape of the mention. Looks at every 64th character only, until one can be part of a hash.
 */
export function hashesIn(text: string): readonly string[] {
  const found: string[] = []
  let at = hashLength - 1
  while (at < text.length) {
    if (!isHexAt(text, at)) {
      at += hashLength
      continue
    }
    let from = at
    while (from > 0 && at - from < hashLength && isHexAt(text, from - 1)) from--
    let to = at + 1
    while (isHexAt(text, to)) to++
    if (to - from === hashLength) found.push(text.slice(from, to))
    at = to + hashLength
  }
  return found
}

/** Whether something can be the name of a blob at all. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function isHexAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102)
}
