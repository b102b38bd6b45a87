import process from 'node:process'
import { styleText } from 'node:util'

/** Paints a text, or returns it unchanged where colours are off. */
export type Paint = (text: string) => string

/** Where a command reads and writes. Text from outside goes through `displayText` first: it may control a terminal. */
export interface Terminal {
  /** Whether results are JSON lines. */
  readonly json: boolean
  /** Whether a person can be asked: stdin and stderr are terminals, and `--json` is not given. */
  readonly asks: boolean
  /** Whether stdout is a terminal. */
  readonly shows: boolean
  readonly colours: boolean
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly yellow: Paint
  readonly green: Paint
  /** Writes a line of the result. */
  print(line: string): void
  /** Writes a part of the result, without a line break. */
  write(text: string): Promise<void>
  /** Writes a line about the work, to stderr. */
  note(line: string): void
}

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

/** Opens the terminal of this process. Colours are for stdout and stderr alike, if both are terminals. */
export function openTerminal(json: boolean): Terminal {
  const { stdin, stdout, stderr } = process
  const isColourful = !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb'
  const colours = stdout.isTTY && stderr.isTTY && isColourful
  const paint =
    (style: Style): Paint =>
    (text) =>
      colours ? styleText(style, text, { validateStream: false }) : text
  return {
    json,
    asks: !json && stdin.isTTY && stderr.isTTY,
    shows: stdout.isTTY,
    colours,
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    yellow: paint('yellow'),
    green: paint('green'),
    print: (line) => void stdout.write(`${line}\n`),
    // It also resolves when the reader has gone.
    write: (text) => new Promise((resolve) => void stdout.write(text, () => resolve())),
    note: (line) => void stderr.write(`${line}\n`),
  }
}
