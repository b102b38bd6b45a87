import { styleText } from 'node:util'

/**
 * What may not reach a terminal or a reader unseen: C0 and C1 controls (escape sequences begin with them), line and
 * paragraph separators, marks that turn the reading direction, characters without width, and the invisible tag letters.
 * The joiners U+200C and U+200D stay: emoji and several scripts need them.
 */
const hostile = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/**
 * Text that is safe to print: control characters become their pictures (`␛`), other invisible ones `·`. Line breaks
 * stay as they are, tabs become spaces.
 */
export function neutralise(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(hostile, (character) => {
    if (character === '\n') return character
    if (character === '\t') return '  '
    const code = character.codePointAt(0) ?? 0
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return code === 0x7f ? '␡' : '·'
  })
}

/** JSON that is safe to print: the same characters as escapes, so that the value stays what it is. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(hostile, (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/** One neutral line of at most `width` characters. */
export function oneLine(text: string, width: number): string {
  const line = neutralise(text.length > width * 4 ? text.slice(0, width * 4) : text)
    .replace(/\s+/g, ' ')
    .trim()
  const letters = Array.from(line)
  return letters.length <= width
    ? line
    : `${letters
        .slice(0, width - 1)
        .join('')
        .trimEnd()}…`
}

type Paint = (text: string) => string
export interface Palette {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly cyan: Paint
}

/** The colours of the view; without them every function gives its text back. */
export function palette(colours: boolean): Palette {
  const paint =
    (format: keyof Palette): Paint =>
    (text) =>
      colours && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return {
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
  }
}
