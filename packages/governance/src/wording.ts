/** Characters that are not seen: they split words for a machine and not for a reader. */
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu

/** How words are compared with what a human or our own source wrote: case and white space aside, nothing else. */
export function exactForm(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll(/\s+/gu, ' ').trim()
}

/** How words are compared with what an outsider wrote: what looks alike counts as the same. */
export function looseForm(text: string): string {
  return exactForm(text.normalize('NFKC').replaceAll(ignorable, (char) => (/\s/u.test(char) ? ' ' : '')))
}

/** The words of a text in loose form, without punctuation. */
export function wordsOf(text: string): readonly string[] {
  return looseForm(text).match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Letters that are written without a space before the next word are their own border. */
const spaced = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]/u

/** Whether a text holds a value as a whole: `evil.com` does not stand in `notevil.com`, nor in `evil.com/path`. Both in the same form. */
export function holds(text: string, value: string): boolean {
  if (value === '') return false
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    if (beginsAt(text, value, at) && endsAt(text, value, at + value.length)) return true
  }
  return false
}

function beginsAt(text: string, value: string, at: number): boolean {
  const before = text.at(at - 1)
  if (at === 0 || before === undefined) return true
  if (spaced.test(value[0] ?? '') && spaced.test(before)) return false
  // What stands before it makes it a part of an address: `x@evil.com`, `sub.evil.com`, `http://evil.com` is the exception.
  return !(/[@.+-]/.test(before) && /[\p{L}\p{N}]/u.test(text[at - 2] ?? ''))
}

function endsAt(text: string, value: string, end: number): boolean {
  const after = text[end]
  if (after === undefined) return true
  if (spaced.test(value.at(-1) ?? '') && spaced.test(after)) return false
  if (after === '@') return false
  // A full stop or a dash that goes on is part of an address; one that ends a sentence is not.
  return !(/[./:?#+-]/.test(after) && /[\p{L}\p{N}]/u.test(text[end + 1] ?? ''))
}
