import { evaluatorOptimizer, type ModelSpec, rich, tool, z } from 'provost'

import type { DeskTool } from '../tools.ts'
import { createCorrector, proofread } from './corrector.ts'
import { createEditor } from './editor.ts'
import { createWriters } from './writers.ts'

/**
 * Creates the letter tool: writers draft in parallel, the editor merges the drafts, and the corrector revises the
 * result until it meets the shop's requirements. All of it is recorded in the log of the run that calls the tool.
 */
export function createWriteLetter(model: ModelSpec): DeskTool {
  const writers = createWriters(model)
  const editor = createEditor(model)
  const corrector = createCorrector(model)
  return tool({
    name: 'write_letter',
    description: 'Has the text of a letter to a customer written. Give the points to make, with all names and numbers.',
    effect: 'none',
    composite: true,
    input: z.object({
      name: z.string().max(200).describe('Of the customer; empty if unknown'),
      points: z.array(z.string().min(1).max(2_000)).min(1).max(20),
    }),
    async execute({ name, points }, ctx) {
      const brief = { name, points }
      const { output: letter } = await ctx.fanOut({
        children: writers.map((agent) => ({ agent, input: JSON.stringify(brief), key: agent.name })),
        mergeStrategy: { kind: 'judge-merge', judge: editor, criteria: 'Every point is made, and nothing else.' },
        perBudget: { tokens: 20_000, durationMs: 120_000 },
      })
      const { output, iterations } = await evaluatorOptimizer({
        within: ctx,
        generator: corrector,
        input: JSON.stringify({ ...brief, letter }),
        evaluator: { kind: 'free-form', evaluate: (text) => proofread(text, points) },
      })
      return rich(output, { details: { brief: `${output.length} characters, proofread ${iterations.length} times` } })
    },
  })
}
