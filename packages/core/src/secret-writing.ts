/** Shorter values are part of too many words: they are scrubbed only where they stand alone. */
export const shortestPart = 4

/** The ways in which a value is commonly written. */
export function writingsOf(value: string): ReadonlySet<string> {
  const bytes = new TextEncoder().encode(value)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const escaped = JSON.stringify(value).slice(1, -1)
  const all = new Set([value, escaped, JSON.stringify(escaped).slice(1, -1), hex, plainAscii(escaped)])
  const wellFormed = value.toWellFormed()
  all
    .add(value.normalize('NFC'))
    .add(value.normalize('NFD'))
    .add(encodeURIComponent(encodeURIComponent(wellFormed)))
  all
    .add(encodeURIComponent(wellFormed))
    .add(encodeURI(wellFormed))
    .add(new URLSearchParams([['', value]]).toString().slice(1))
  all.add(value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'))
  for (const part of base64Parts(bytes)) all.add(part).add(part.replaceAll('+', '-').replaceAll('/', '_'))
  return all
}

/** As writers of JSON put it that send nothing but ASCII. */
function plainAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** What base64 makes of bytes behind none, one or two others: the characters that only they decide. */
function base64Parts(bytes: Uint8Array): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const text = btoa('\0'.repeat(shift) + String.fromCharCode(...bytes))
    const part = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6))
    return part.length >= 2 * shortestPart ? [part] : []
  })
}
