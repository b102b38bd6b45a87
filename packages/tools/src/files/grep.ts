import { setImmediate } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import type { Runtime, Tool } from '@provost/core'
import { z } from 'zod'

import { cut } from '../definition/issues.ts'
import { rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'
import { runPaced } from '../file-search/deadline.ts'
import { compileGlob, compileRegExp, namesHidden } from '../file-search/pattern.ts'
import type { LineTest } from '../file-search/pattern.ts'
import { isBinary, linesOf, shownPath, textIn, tidyPath } from '../file-search/text.ts'
import { inBunches, maxWalkEntries, walk } from '../file-search/walk.ts'
import type { WalkBudget, WalkScope } from '../file-search/walk.ts'
import { hiddenInput, ignoredInput } from './scope-input.ts'

const defaultMatches = 200
const maxMatches = 1_000
const maxFileBytes = 5 * 1024 * 1024
/** Characters of a line that are searched. Longer lines are usually generated. */
const maxLineCharacters = 10_000
const maxShownCharacters = 400
/** Milliseconds of searching between two yields to other work. */
const turnMs = 20
/** Read at once. */
const bunchSize = { files: 64, bytes: 4 * 1024 * 1024 }

/** A line that matches. */
export interface GrepMatch {
  readonly path: string
  /** Counts from 1. */
  readonly line: number
  readonly text: string
}

/** The result of a search. */
export interface GrepResult {
  readonly matches: readonly GrepMatch[]
  /** There may be more. */
  readonly truncated: boolean
}

/**
 * Searches files for a regular expression, line by line, like ripgrep: in the syntax of RE2 and in linear time. Binary,
 * hidden and ignored files and files of more than 5 MB are skipped.
 */
export const grepTool: Tool<
  {
    pattern: string
    path?: string | undefined
    glob?: string | undefined
    ignoreCase?: boolean | undefined
    smartCase?: boolean | undefined
    hidden?: boolean | undefined
    ignored?: boolean | undefined
    maxMatches?: number | undefined
  },
  GrepResult,
  unknown
> = tool({
  name: 'grep',
  description: 'Searches files for a regular expression, line by line. Skips binary, hidden and ignored files.',
  effect: 'read',
  sandbox: 'process',
  // The end of the result names what is omitted.
  truncation: 'middle',
  idempotent: true,
  input: z.object({
    pattern: z.string().min(1).describe('A regular expression as of ripgrep or RE2.'),
    path: z.string().default('.').describe('The folder or file to search.'),
    glob: z.string().optional().describe('Only files like this, such as *.ts.'),
    ignoreCase: z.boolean().default(false),
    smartCase: z.boolean().default(false).describe('Ignore case if the pattern has no capital letter.'),
    hidden: hiddenInput,
    ignored: ignoredInput,
    maxMatches: z.int().min(1).max(maxMatches).default(defaultMatches),
  }),
  args: { pattern: 'selector', path: 'selector', glob: 'selector' },
  async execute({ pattern, path, glob, ignoreCase, smartCase, hidden, ignored, maxMatches: most }, ctx) {
    const expression = await compileRegExp(pattern, ignoreCase || (smartCase && !hasCapital(pattern)))
    const wanted = glob === undefined ? undefined : compileGlob(glob, { anyDepth: true, hidden })
    const scope = { hidden: hidden || (glob !== undefined && namesHidden(glob)), ignored }
    const budget = { entries: maxWalkEntries }
    const matches: GrepMatch[] = []
    const start = tidyPath(path, ctx.runtime.cwd)
    for await (const texts of textsUnder(ctx.runtime, start, scope, budget, wanted)) {
      ctx.signal.throwIfAborted()
      matches.push(...(await matchesIn(texts, expression, most + 1 - matches.length, ctx.signal)))
      if (matches.length > most) break
    }
    return listed({ matches: matches.slice(0, most), truncated: matches.length > most || budget.entries < 0 })
  },
})

/** Returns whether a pattern has a literal capital letter, outside a class such as `\\S`. */
function hasCapital(pattern: string): boolean {
  return /\p{Lu}/u.test(pattern.replaceAll(/\\(?:[pP]\{\^?\w+\}|.)/gsu, ''))
}

interface Text {
  readonly path: string
  readonly text: string
}

/** Bunches of texts in the order of the walk. */
async function* textsUnder(
  runtime: Runtime,
  start: string,
  scope: WalkScope,
  budget: WalkBudget,
  wanted: ((path: string) => boolean) | undefined,
): AsyncGenerator<readonly Text[], void, undefined> {
  try {
    for await (const bunch of inBunches(walk(runtime, start, scope, budget), bunchSize)) {
      const small = bunch.filter((file) => file.bytes <= maxFileBytes)
      const files = wanted ? await runPaced(small, (some) => some.filter((file) => wanted(file.path))) : small
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

async function matchesIn(
  texts: readonly Text[],
  expression: LineTest,
  room: number,
  signal: AbortSignal,
): Promise<GrepMatch[]> {
  const found: GrepMatch[] = []
  let turn = performance.now()
  for (const { path, text } of texts) {
    for (const line of linesOf(text)) {
      if (performance.now() - turn > turnMs) {
        await setImmediate()
        signal.throwIfAborted()
        turn = performance.now()
      }
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
