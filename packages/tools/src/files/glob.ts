import type { Tool } from '@provost/core'
import { z } from 'zod'

import { rich } from '../definition/rich.ts'
import { tool } from '../definition/tool.ts'
import { runPaced } from '../file-search/deadline.ts'
import { compileGlob, namesHidden } from '../file-search/pattern.ts'
import { shownPath, tidyPath } from '../file-search/text.ts'
import { inBunches, maxWalkEntries, walk } from '../file-search/walk.ts'
import { hiddenInput, ignoredInput } from './scope-input.ts'

const maxPaths = 1_000

/** Paths that match a glob. */
export interface GlobResult {
  /** Relative to the working directory, in the order of their names. */
  readonly paths: readonly string[]
  /** There may be more. */
  readonly truncated: boolean
}

/**
 * Finds at most 1,000 files by a glob. Ignored files, `node_modules` and hidden files are skipped unless requested.
 */
export const globTool: Tool<
  { pattern: string; path?: string | undefined; hidden?: boolean | undefined; ignored?: boolean | undefined },
  GlobResult,
  unknown
> = tool({
  name: 'glob',
  description: `Finds files by name. Finds at most ${maxPaths}; skips hidden and ignored ones.`,
  effect: 'read',
  sandbox: 'process',
  // The end of the result names what is omitted.
  truncation: 'middle',
  idempotent: true,
  input: z.object({
    pattern: z.string().min(1).describe('A glob such as **/*.ts or src/{a,b}*.json.'),
    path: z.string().default('.').describe('The folder to look in, to which the pattern is relative.'),
    hidden: hiddenInput,
    ignored: ignoredInput,
  }),
  args: { pattern: 'selector', path: 'selector' },
  async execute({ pattern, path, hidden, ignored }, ctx) {
    const matches = compileGlob(pattern, { hidden })
    const scope = { hidden: hidden || namesHidden(pattern), ignored }
    const start = tidyPath(path, ctx.runtime.cwd)
    const cut = start === '.' ? 0 : start.length + 1
    const budget = { entries: maxWalkEntries }
    const paths: string[] = []
    for await (const bunch of inBunches(walk(ctx.runtime, start, scope, budget), { files: 256, bytes: Infinity })) {
      ctx.signal.throwIfAborted()
      const fitting = await runPaced(bunch, (some) => some.filter((file) => matches(file.path.slice(cut))))
      for (const file of fitting) paths.push(file.path)
      if (paths.length > maxPaths) break
    }
    return listed({ paths: paths.slice(0, maxPaths), truncated: paths.length > maxPaths || budget.entries < 0 })
  },
})

function listed(result: GlobResult): ReturnType<typeof rich<GlobResult>> {
  const lines = result.paths.map(shownPath)
  if (lines.length === 0) lines.push('[No file matches.]')
  if (result.truncated) lines.push('[There may be more: narrow the pattern.]')
  return rich(result, { content: [{ type: 'text', text: lines.join('\n') }] })
}
