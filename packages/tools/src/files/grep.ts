import { ProvostError } from '@provost/core'
import type { Runtime, Tool } from '@provost/core'
import { z } from 'zod'

import { cut } from '../issues.ts'
import { rich } from '../rich.ts'
import { tool } from '../tool.ts'
import { withDeadline } from './deadline.ts'
import { compileGlob, compileRegExp } from './pattern.ts'
import { isBinary, linesOf, shownPath, textIn, tidyPath } from './text.ts'
import { inBunches, maxWalkEntries, walk } from './walk.ts'
import type { WalkBudget } from './walk.ts'

const defaultMatches = 200
const maxMatches = 1_000
const maxFileBytes = 5 * 1024 * 1024
/** Only so much of a line is searched; longer ones are made by machines. */
const maxLineCharacters = 10_000
const maxShownCharacters = 400
const matchMs = 1_000
/** Read at once and searched under one deadline. */
const bunchSize = { files: 64, bytes: 4 * 1024 * 1024 }

/** A line that matches. */
export interface GrepMatch {
  readonly path: string
  /** Counts from 1. */
  readonly line: number
  readonly text: string
}

/** What a search found. */
export interface GrepResult {
  readonly matches: readonly GrepMatch[]
  /** There may be more. */
  readonly truncated: boolean
}

/** Searches files for a JavaScript regular expression, line by line; skips binaries, big files, `.git`, `node_modules`. */
export const grepTool: Tool<
  {
    pattern: string
    path?: string | undefined
    glob?: string | undefined
    ignoreCase?: boolean | undefined
    maxMatches?: number | undefined
  },
  GrepResult,
  unknown
> = tool({
  name: 'grep',
  description: 'Searches files for a regular expression, line by line. Skips binary files, .git and node_modules.',
  effect: 'read',
  idempotent: true,
  input: z.object({
    pattern: z.string().min(1).describe('A JavaScript regular expression.'),
    path: z.string().default('.').describe('The folder or file to search.'),
    glob: z.string().optional().describe('Only files like this, such as *.ts.'),
    ignoreCase: z.boolean().default(false),
    maxMatches: z.int().min(1).max(maxMatches).default(defaultMatches),
  }),
  args: { pattern: 'selector', path: 'selector', glob: 'selector' },
  async execute({ pattern, path, glob, ignoreCase, maxMatches: most }, ctx) {
    const expression = compileRegExp(pattern, ignoreCase)
    const wanted = glob === undefined ? undefined : compileGlob(glob, { anyDepth: true })
    const budget = { entries: maxWalkEntries }
    const matches: GrepMatch[] = []
    const start = tidyPath(path, ctx.runtime.cwd)
    for await (const texts of textsUnder(ctx.runtime, start, budget, wanted)) {
      ctx.signal.throwIfAborted()
      const room = most + 1 - matches.length
      matches.push(...withDeadline(matchMs, () => matchesIn(texts, expression, room)))
      if (matches.length > most) break
    }
    return listed({ matches: matches.slice(0, most), truncated: matches.length > most || budget.entries < 0 })
  },
})

interface Text {
  readonly path: string
  readonly text: string
}

/** Bunches of texts in the order of the walk. */
async function* textsUnder(
  runtime: Runtime,
  start: string,
  budget: WalkBudget,
  wanted: ((path: string) => boolean) | undefined,
): AsyncGenerator<readonly Text[], void, undefined> {
  try {
    for await (const bunch of inBunches(walk(runtime, start, budget), bunchSize)) {
      const small = bunch.filter((file) => file.bytes <= maxFileBytes)
      const files = wanted ? withDeadline(matchMs, () => small.filter((file) => wanted(file.path))) : small
      const texts = await Promise.all(files.map((file) => textOrNothing(runtime, file.path)))
      yield texts.filter((text) => text !== undefined)
    }
  } catch (error) {
    if (!(error instanceof ProvostError && error.code === 'not-a-folder')) throw error
    yield [{ path: start, text: textIn(await runtime.readFile(start), start) }]
  }
}

/** Whatever is binary, cannot be read or is gone since it was listed has no matches. */
async function textOrNothing(runtime: Runtime, path: string): Promise<Text | undefined> {
  const bytes = await runtime.readFile(path).catch(() => undefined)
  return bytes && !isBinary(bytes) ? { path, text: new TextDecoder().decode(bytes) } : undefined
}

function matchesIn(texts: readonly Text[], expression: RegExp, room: number): GrepMatch[] {
  const found: GrepMatch[] = []
  for (const { path, text } of texts) {
    for (const line of linesOf(text)) {
      if (!expression.test(line.text.slice(0, maxLineCharacters))) continue
      found.push({ path, line: line.number, text: cut(line.text, maxShownCharacters) })
      if (found.length === room) return found
    }
  }
  return found
}

function listed(result: GrepResult): ReturnType<typeof rich<GrepResult>> {
  const lines = result.matches.map(({ path, line, text }) => `${shownPath(path)}:${line}: ${text}`)
  if (lines.length === 0) lines.push('[Nothing matches.]')
  if (result.truncated) lines.push('[There may be more: narrow the search.]')
  return rich(result, { content: [{ type: 'text', text: lines.join('\n') }] })
}
