import { textOf, unescaped } from '../text/unescaped.ts'

/** Shorter values are part of too many words: they are scrubbed only where they stand alone. */
export const shortestPart = 4
/** How often a text is escaped at most: JSON in JSON in a URL, say. */
export const mostEscaped = 5

/**
 * The ways in which a value is commonly written, but for escapes: those are undone in the text that is searched.
 * Bytes are written in hexadecimal, also with colons, in base64, and in base64 of base64.
 */
export function writingsOf(value: string): readonly string[] {
  if (value.length < shortestPart) return []
  const all = new Set<string>()
  const forms = [value, value.toWellFormed(), value.normalize('NFC'), value.normalize('NFD'), ...unescapedForms(value)]
  // A form of HTML has `+` for a space; a line ends in one of two ways.
  for (const form of forms) {
    all.add(form).add(form.replaceAll(' ', '+'))
    all.add(form.replaceAll('\r\n', '\n')).add(form.replaceAll(/\r?\n/g, '\r\n'))
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

/** What a value becomes where its own characters are taken for escapes: a text that is searched has them undone, too. */
function unescapedForms(value: string): readonly string[] {
  const forms: string[] = []
  for (let form = unescaped(value); form && forms.length < mostEscaped; form = unescaped(form.text))
    forms.push(form.text)
  return forms
}

/**
 * What base64 makes of bytes behind none, one or two others: the characters that only they decide, in both alphabets.
 */
function base64Parts(bytes: Uint8Array): readonly string[] {
  const binary = textOf(bytes)
  return [0, 1, 2].flatMap((shift) => {
    const text = btoa('\0'.repeat(shift) + binary)
    const part = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
    return part.length >= 2 * shortestPart ? [part, part.replaceAll('+', '-').replaceAll('/', '_')] : []
  })
}
