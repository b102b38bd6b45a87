import { estimateTokens } from '@provost/provider'

/** Characters that are estimated at a time, so that a very long text is not read to its end. */
const stretch = 1024
/** No tokeniser packs more characters into a token, not even of blanks. */
const maxCharactersPerToken = 16
/** The largest estimate for one character. */
const maxTokensPerCharacter = 2

/** Returns whether a text has at most about this many tokens. */
export function fits(text: string, tokens: number): boolean {
  return text.length * maxTokensPerCharacter <= tokens || headLength(text, tokens) === text.length
}

/**
 * Returns the number of characters at the start with about this many tokens, without a split surrogate pair.
 */
export function headLength(text: string, tokens: number): number {
  let left = tokens
  for (let at = 0; at < text.length; at += stretch) {
    const piece = text.slice(at, at + stretch)
    const cost = tokensOf(piece)
    if (cost > left) return before(text, at + mostOf(piece.length, left, (length) => piece.slice(0, length)))
    left -= cost
  }
  return text.length
}

/** Returns the start of the last tokens of a text. */
export function tailStart(text: string, tokens: number): number {
  let left = tokens
  for (let end = text.length; end > 0; end -= stretch) {
    const piece = text.slice(Math.max(0, end - stretch), end)
    const cost = tokensOf(piece)
    if (cost > left) {
      const start = end - mostOf(piece.length, left, (length) => piece.slice(piece.length - length))
      return splitsPair(text, start) ? start + 1 : start
    }
    left -= cost
  }
  return 0
}

function tokensOf(piece: string): number {
  return Math.max(estimateTokens(piece), piece.length / maxCharactersPerToken)
}

/** Returns the greatest length up to `most` whose part costs at most so many tokens. */
function mostOf(most: number, tokens: number, part: (length: number) => string): number {
  let [low, high] = [0, most]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (tokensOf(part(middle)) <= tokens) low = middle
    else high = middle - 1
  }
  return low
}

function before(text: string, at: number): number {
  return splitsPair(text, at) ? at - 1 : at
}

function splitsPair(text: string, at: number): boolean {
  return isSurrogate(text, at - 1, 0xd800) && isSurrogate(text, at, 0xdc00)
}

function isSurrogate(text: string, at: number, first: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= first && unit < first + 0x400
}
