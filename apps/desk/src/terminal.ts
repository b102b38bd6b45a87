import { styleText } from 'node:util'

import { displayText, type Json } from 'provost'

/**
 * Returns a text that is safe to print: control and invisible characters become escapes such as `\\u001b`. Line breaks
 * are kept, tabs become spaces.
 */
export function neutralise(text: string): string {
  const plain = text.replaceAll('\r\n', '\n').replaceAll('\t', '  ')
  return displayText(plain, { lines: true, limit: Number.POSITIVE_INFINITY })
}

/** Returns JSON that is safe to print: the same characters become JSON escapes, so that the value is unchanged. */
export function printableJson(value: object): string {
  return displayText(value, { limit: Number.POSITIVE_INFINITY })
}

/** Returns one neutralised line of at most `width` characters. */
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

/** The colours of the view; without colours every function returns its text unchanged. */
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

/** Returns the input of a call for a person to read. */
export function inputText(input: Json): string {
  return typeof input === 'object' && input !== null ? printableJson(input) : String(input)
}
