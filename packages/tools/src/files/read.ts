import type { Tool } from '@provost/core'
import { z } from 'zod'

import { cut } from '../issues.ts'
import { rich } from '../rich.ts'
import { tool } from '../tool.ts'
import { linesOf, textIn } from './text.ts'

const maxLines = 2_000
const maxCharacters = 60_000
const maxLineCharacters = 4_000

/** A stretch of a text file. */
export interface ReadResult {
  readonly text: string
  /** The first line of `text`; counts from 1. */
  readonly fromLine: number
  /** The last line of `text`; smaller than `fromLine` when there is none. */
  readonly toLine: number
  readonly totalLines: number
}

/** Reads a text file or a range of its lines: at most 2,000 lines or 60,000 characters at once. */
export const readTool: Tool<
  { path: string; fromLine?: number | undefined; lines?: number | undefined },
  ReadResult,
  unknown
> = tool({
  name: 'read',
  description: `Reads a text file. At most ${maxLines} lines at once; go on with fromLine.`,
  effect: 'read',
  idempotent: true,
  input: z.object({
    path: z.string().describe('Relative to the working directory.'),
    fromLine: z.int().min(1).default(1).describe('The first line; counts from 1.'),
    lines: z.int().min(1).max(maxLines).default(maxLines).describe('How many lines.'),
  }),
  args: { path: 'selector' },
  async execute({ path, fromLine, lines }, ctx) {
    const found = rangeOf(textIn(await ctx.runtime.readFile(path), path), fromLine, lines)
    return rich(found, { content: [{ type: 'text', text: withNote(found) }] })
  },
})

function rangeOf(text: string, fromLine: number, lines: number): ReadResult {
  const kept: string[] = []
  let room = maxCharacters
  let full = false
  let totalLines = 0
  for (const line of linesOf(text)) {
    totalLines = line.number
    if (full || line.number < fromLine || kept.length === lines) continue
    const shown = cut(line.text, maxLineCharacters)
    // Lines are whole, and there is always one: reading on makes progress.
    full = shown.length > room && kept.length > 0
    if (full) continue
    room -= shown.length
    kept.push(shown)
  }
  return { text: kept.join('\n'), fromLine, toLine: fromLine + kept.length - 1, totalLines }
}

function withNote({ text, fromLine, toLine, totalLines }: ReadResult): string {
  if (totalLines === 0) return '[The file is empty.]'
  if (toLine < fromLine) return `[The file ends at line ${totalLines}.]`
  if (fromLine === 1 && toLine === totalLines) return text
  const next = toLine < totalLines ? ` Go on with fromLine ${toLine + 1}.` : ''
  return `${text}\n[Lines ${fromLine} to ${toLine} of ${totalLines}.${next}]`
}
