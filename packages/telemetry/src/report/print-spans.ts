import { styleText } from 'node:util'

import { checkOptions } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { CollectedSpan } from './collect-spans.ts'
import { spanTree, treeLines } from './span-tree.ts'

/** Options of {@link printSpans}. */
export interface PrintOptions {
  /** Default `false`. */
  readonly colours?: boolean
  /** Shows the duration of each span. Default `true`. */
  readonly times?: boolean
  /** Shows every attribute on a line of its own, without those that equal the parent's. Default `false`. */
  readonly attributes?: boolean
  /** Largest length of a fact or an attribute, in characters. Default 80. */
  readonly width?: number
}

const optionKeys = {
  colours: true,
  times: true,
  attributes: true,
  width: true,
} satisfies KnownKeys<PrintOptions>

/**
 * Formats spans as a tree for a terminal. Control characters in names and attributes are removed.
 *
 * @returns lines, each with a line break.
 */
export function printSpans(spans: readonly CollectedSpan[], options: PrintOptions = {}): string {
  checkOptions(options, optionKeys, 'printSpans')
  const { colours = false, times = true, attributes = false, width = 80 } = options
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    colours && text !== '' ? styleText(format, text, { validateStream: false }) : text
  const lines: string[] = []
  for (const { branch, kind, name, facts, span, attributes: known, failed } of treeLines(spanTree(spans))) {
    const title = shown(name, width)
    const summary = facts.map((fact) => shown(fact, width)).join(' · ')
    const took = kind === 'span' && times ? ` ${duration(span)}` : ''
    const painted = kind === 'event' ? paint('yellow', `· ${title}`) : paint(failed ? ['bold', 'red'] : 'bold', title)
    const rest = summary === '' ? '' : `  ${summary}`
    lines.push(`${paint('dim', branch)}${painted}${paint('dim', `${took}${rest}`)}`)
    if (!attributes || kind === 'event') continue
    const lead = `${branch.replace(/├─ $/, '│  ').replace(/└─ $/, '   ')}   `
    for (const [key, value] of known) lines.push(paint('dim', `${lead}${shown(key, width)} = ${shown(value, width)}`))
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** The duration of a span, in a readable unit. */
export function duration({ start, end }: CollectedSpan): string {
  if (end === undefined) return 'open'
  const ms = Math.max(0, end - start)
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`
}

/** Control characters, separators, direction marks and zero-width characters. */
const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]+/gu

/** Returns one line of printable text, of at most `width` characters. */
export function shown(text: string, width: number): string {
  const line = text
    .slice(0, width * 4)
    .toWellFormed()
    .replace(unseen, ' ')
    .trim()
  const letters = Array.from(line)
  return letters.length <= width && text.length <= width * 4 ? line : `${letters.slice(0, width - 1).join('')}…`
}
