/** Whether each of the 128 first characters is allowed in base64. */
const letters: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9+/]/u.test(String.fromCharCode(code)),
)

/**
 * Returns whether a text is base64 as RFC 4648 writes it: the standard alphabet, padded, without line breaks. Linear in its length.
 *
 * @example
 * isBase64('aGk=') // true
 * isBase64('aGk') // false
 */
export function isBase64(text: string): boolean {
  const { length } = text
  if (length % 4 !== 0) return false
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  for (let n = 0; n < length - padding; n++) if (!letters[text.charCodeAt(n)]) return false
  return true
}

/**
 * Returns the standard form of base64 with line breaks, without padding, or in the alphabet for URLs.
 *
 * @returns undefined where the text is not base64.
 */
export function toBase64(text: string): string | undefined {
  if (isBase64(text)) return text
  const plain = text
    .replaceAll(/\s/gu, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/u, '')
  const padded = plain + '='.repeat((4 - (plain.length % 4)) % 4)
  return plain.length % 4 !== 1 && isBase64(padded) ? padded : undefined
}
