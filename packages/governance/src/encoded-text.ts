/** A stretch of a text that says something else to those who decode it. */
export interface EncodedText {
  readonly written: string
  readonly says: string
}

const base64 = /[A-Za-z\d+/_-]{12,}={0,2}/g
const hex = /(?:[\da-f]{2}){8,}/gi
/** How much of a text is decoded: whoever sends more encoded text than this is found by its beginning. */
const longest = 100_000

/**
 * Stretches of base64, base64url and hex that are text once decoded. Words and numbers are not: what they decode to is
 * not made of readable characters.
 */
export function encodedTextsIn(text: string): readonly EncodedText[] {
  const found: EncodedText[] = []
  const start = text.slice(0, longest)
  for (const [written] of start.matchAll(base64)) {
    const says = readable(Buffer.from(written, 'base64url'))
    if (says !== undefined) found.push({ written, says })
  }
  for (const [written] of start.matchAll(hex)) {
    const says = readable(Buffer.from(written, 'hex'))
    if (says !== undefined) found.push({ written, says })
  }
  return found
}

/** Bytes as a text, if that is what they are: eight readable characters and nothing else. */
function readable(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8')
  if (text.length < 8 || text.includes('�')) return undefined
  let plain = 0
  for (const char of text) {
    if (/[\p{Cc}\p{Cn}\p{Co}]/u.test(char) && !/\s/u.test(char)) return undefined
    if (/[ -~]/.test(char)) plain++
  }
  return plain >= text.length * 0.9 ? text : undefined
}
