import { estimateTokenCount } from 'tokenx'

/** The classes of characters for the estimate, by code below 128. */
const [letter, lower, digit, punctuation, space, newline] = [0, 1, 2, 3, 4, 5] as const
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  if (char === '\n') return newline
  if (/\s/.test(char)) return space
  if (/\d/.test(char)) return digit
  if (/[a-z]/.test(char)) return lower
  return '.,!?;(){}[]<>:/\\|@#$%^&*+=`~_"-'.includes(char) ? punctuation : letter
})

/**
 * Returns the estimate of `tokenx` for a text, in one pass over its characters, since the expressions of the library
 * are slow. Words with a character beyond ASCII are passed to the library.
 */
export function scanTokens(text: string): number {
  let tokens = 0
  let at = 0
  let before = letter as number
  while (at < text.length) {
    const from = at
    const kind = kindAt(text, at)
    if (kind === punctuation) {
      while (at < text.length && kindAt(text, at) === punctuation) at++
      tokens += at - from <= 3 ? 1 : Math.ceil((at - from) / 6)
    } else if (kind >= space) {
      let [broken, structured] = [false, false]
      for (let one: number; at < text.length && (one = kindAt(text, at)) >= space; at++) {
        structured ||= broken
        broken ||= one === newline
      }
      // A line break after a sentence costs nothing; indentation and empty lines do.
      if (structured || (broken && before !== punctuation)) tokens++
    } else {
      let [digits, lowers, plain] = [0, 0, true]
      for (let one: number; at < text.length && (one = kindAt(text, at)) < punctuation; at++) {
        if (one === digit) digits++
        else if (one === lower) lowers++
        plain &&= text.charCodeAt(at) < 128
      }
      tokens += plain ? ofWord(at - from, digits, lowers) : estimateTokenCount(text.slice(from, at))
    }
    before = kind
  }
  return tokens
}

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 128 ? (kinds[code] ?? letter) : letter
}

function ofWord(length: number, digits: number, lowers: number): number {
  if (digits === length) return Math.ceil(length / 3)
  if (length <= 3 || (length <= 8 && lowers === length)) return 1
  return Math.ceil(length / 7)
}
