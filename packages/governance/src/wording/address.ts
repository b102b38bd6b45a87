/** Endings of file names, which look like those of domains. */
const fileEndings = new Set(
  'txt md pdf doc docx xls xlsx csv ppt pptx odt json yaml yml xml html htm js ts py java c cpp h rs go zip tar gz png jpg jpeg gif svg mp3 mp4 log ini cfg conf eml ics'.split(
    ' ',
  ),
)

const url =
  /\b(?:data:[^\s,]{0,100},|(?:java|vb)script:)[^\s"'`]{1,2000}|\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s<>"'`)\]}]{1,2000}|\b(?:[\p{L}\d](?:[\p{L}\d-]{0,62})\.){1,8}[\p{L}]{2,24}(?::\d{1,5})?(?:[/?#][^\s<>"'`)\]}]{0,2000})?/giu

/** Returns the web addresses in a text, with and without a scheme, but no e-mail addresses and file names. */
export function urlsIn(text: string): readonly string[] {
  const found: string[] = []
  for (const match of text.matchAll(url)) {
    const whole = match[0].replace(/[.,;:!?]+$/, '')
    if (text[match.index - 1] === '@' || text[match.index + match[0].length] === '@') continue
    const ending = whole.includes('/') ? '' : (whole.split('.').at(-1) ?? '')
    if (!fileEndings.has(ending.toLowerCase())) found.push(whole)
  }
  return found
}

/** Characters of the longest address that is found. */
const longestUrl = 5_000

/** Returns whether a value is exactly one web address. */
export function isUrl(value: string): boolean {
  if (value.length > longestUrl && value.trim().length > longestUrl) return false
  const [first] = urlsIn(value)
  return first !== undefined && first.length >= value.trim().length - 1
}

/** Returns the host of a web address in lower case, or an empty text. */
export function hostOf(address: string): string {
  const withScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `http://${address}`
  return URL.canParse(withScheme) ? new URL(withScheme).host.toLowerCase() : ''
}

/** Returns a web address without its scheme and its last slash: both forms lead to the same page. */
export function bareAddress(address: string): string {
  return address.replace(/^https?:\/\//i, '').replace(/\/$/, '')
}

/** Returns whether a value can only be a name in a tool's own directory, and not an address outside of it. */
export function isHandle(value: string): boolean {
  if (value.length > 64 || /[\n\r@./\\:]/u.test(value)) return false
  // One digit counts rooms; more of them, or one beside a letter or two, make an account.
  if (/\d.*\d/u.test(value) || (/\d/u.test(value) && !/\p{L}.*\p{L}.*\p{L}.*\p{L}/u.test(value))) return false
  return /^[#\p{L}][\p{L}\p{M}\p{N}_' -]*$/u.test(value) && value.trim().split(/\s+/u).length <= 4
}

/** Returns the words of an address if all can be names: `dora` and `bell` for `dora.bell@gmail.com`. */
export function namesIn(address: string): readonly string[] {
  const local = (address.includes('@') ? (address.split('@')[0] ?? '') : address).toLowerCase()
  const words = local.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '')
  return words.every((word) => /^\p{L}[\p{L}\p{M}]{2,}$/u.test(word)) ? words : []
}
