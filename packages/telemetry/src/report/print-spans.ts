import { styleText } from 'node:util'

import { checkOptions } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { CollectedSpan } from './collect-spans.ts'
import { spanTree, treeLines } from './span-tree.ts'

/** How a tree of spans is written. */
export interface PrintOptions {
  /** Default `false`. */
  readonly colours?: boolean
  /** How long each span took. Default `true`. */
  readonly times?: boolean
  /** Every attribute in a line of its own, but those that the span above has the same. Default `false`. */
  readonly attributes?: boolean
  /** Characters of a fact or an attribute that are shown. Default 80. */
  readonly width?: number
}

const optionKeys = {
  colours: true,
  times: true,
  attributes: true,
  width: true,
} satisfies KnownKeys<PrintOptions>

/**
 * Writes spans as a tree for a terminal. What models and tools put into names and attributes is made harmless.
 *
 * @returns lines, each with its end.
 */
export function printSpans(spans: readonly CollectedSpan[], options: PrintOptions = {}): string {
  checkOptions(options, optionKeys, 'printSpans')
  const { colours = false, times = true, attributes = false, width = 80 } = options
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    colours && text !== '' ? styleText(format, text, { validateStream: false }) : text
  const lines: string[] = []
  for (const { branch, kind, name, facts, span, attributes: known, failed } of treeLines(spanTree(spans))) {
    const title = shown(name, width)
    const said = facts.map((fact) => shown(fact, width)).join(' · ')
    const took = kind === 'span' && times ? ` ${duration(span)}` : ''
    const painted = kind === 'event' ? paint('yellow', `· ${title}`) : paint(failed ? ['bold', 'red'] : 'bold', title)
    const rest = said === '' ? '' : `  ${said}`
    lines.push(`${paint('dim', branch)}${painted}${paint('dim', `${took}${rest}`)}`)
    if (!attributes || kind === 'event') continue
    const lead = `${branch.replace(/├─ $/, '│  ').replace(/└─ $/, '   ')}   `
    for (const [key, value] of known) lines.push(paint('dim', `${lead}${shown(key, width)} = ${shown(value, width)}`))
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** How long a span took, in a unit that can be read. */
export function duration({ start, end }: CollectedSpan): string {
  if (end === undefined) return 'open'
  const ms = Math.max(0, end - start)
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`
}

/** Controls, separators, marks of direction, what has no width: nothing that could draw anything but itself. */
const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]+/gu

/** One line of harmless text, of at most so many characters. */
export function shown(text: string, width: number): string {
  const line = text
    .slice(0, width * 4)
    .toWellFormed()
    .replace(unseen, ' ')
    .trim()
  const letters = Array.from(line)
  return letters.length <= width && text.length <= width * 4 ? line : `${letters.slice(0, width - 1).join('')}…`
}
