import { createAgent, type ModelSpec, rich, tool, z } from 'provost'

import { findRules } from '../policies.ts'
import type { DeskTool } from '../tools.ts'

const instructions = `You are the policy researcher of Tallow Lane Supply. You are asked what the shop's rules are.

Look them up with find_rules, and answer with the rules that matter, in their own words, one a line. Add nothing to them.`

const findRulesTool = tool({
  name: 'find_rules',
  description: "Finds the shop's rules on something, the best match first.",
  effect: 'read',
  input: z.object({ query: z.string().min(1).max(500) }),
  args: { query: 'selector' },
  returns: { integrity: 'trusted', confidentiality: 'public' },
  execute({ query }) {
    const rules = findRules(query)
    return rich({ rules }, { details: { brief: rules.map(({ title }) => title).join(', ') || 'none' } })
  },
})

const question = z.object({ question: z.string().min(1).max(500) })

/** Creates the researcher as a tool of its colleagues: a child run with its own log, which receives only the question. */
export function createAskPolicy(model: ModelSpec): DeskTool {
  const researcher = createAgent({ name: 'researcher', instructions, model, tools: [findRulesTool], maxSteps: 6 })
  return researcher.toTool({
    name: 'ask_policy',
    description: "Asks the policy researcher what the shop's rules say. The researcher knows nothing of the mail.",
    input: question,
    prompt: ({ question: asked }: z.output<typeof question>) => asked,
  })
}
