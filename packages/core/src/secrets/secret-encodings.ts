import { textOf, unescaped } from '../text/unescaped.ts'
import { unwrapped } from '../text/unwrapped.ts'

/** Shorter values occur in too many words: they are scrubbed only where they are the whole text. */
export const shortestPart = 4
/** The most levels of escapes that are decoded: JSON in JSON in a URL, for example. */
export const mostEscaped = 5

/**
 * Returns the usual encodings of a value, without escapes, which are decoded in the searched text.
 * Bytes are written in hexadecimal, also with colons, in base64, and in base64 of base64.
 */
export function encodedFormsOf(value: string): readonly string[] {
  if (value.length < shortestPart) return []
  const all = new Set<string>()
  const forms = [value, value.toWellFormed(), value.normalize('NFC'), value.normalize('NFD'), ...unescapedForms(value)]
  // An HTML form encodes a space as `+`; a line ends in one of two ways.
  for (const form of forms) {
    all.add(form).add(form.replaceAll(' ', '+'))
    all.add(form.replaceAll('\r\n', '\n')).add(form.replaceAll(/\r?\n/g, '\r\n'))
    // The searched text is also read without its line ends.
    all.add(unwrapped(form)?.text ?? form)
  }
  for (const written of new Set([value, JSON.stringify(value).slice(1, -1)])) {
    const bytes = new TextEncoder().encode(written)
    const pairs = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    all.add(textOf(bytes)).add(pairs.join('')).add(pairs.join(':'))
    for (const part of base64Parts(bytes)) {
      all.add(part)
      for (const again of base64Parts(new TextEncoder().encode(part))) all.add(again)
    }
  }
  return [...all].filter((writing) => writing.length >= shortestPart)
}

/** Returns the value with its own characters decoded as escapes, because the searched text is decoded, too. */
function unescapedForms(value: string): readonly string[] {
  const forms: string[] = []
  for (let form = unescaped(value); form && forms.length < mostEscaped; form = unescaped(form.text))
    forms.push(form.text)
  return forms
}

/** Base64 of the bytes at offsets 0, 1 and 2: the characters that depend only on them, in both alphabets. */
function base64Parts(bytes: Uint8Array): readonly string[] {
  const binary = textOf(bytes)
  return [0, 1, 2].flatMap((shift) => {
    const text = btoa('\0'.repeat(shift) + binary)
    const part = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
    return part.length >= 2 * shortestPart ? [part, part.replaceAll('+', '-').replaceAll('/', '_')] : []
  })
}
