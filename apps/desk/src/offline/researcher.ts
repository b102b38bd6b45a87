import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { z } from 'provost'

import { resultsIn, textIn } from './facts.ts'
import { say, type Step } from './plan.ts'

const found = z.object({ rules: z.array(z.object({ title: z.string(), text: z.string() })) })

/** The researcher's next step: search for the question, then answer with the rules found. */
export function researchStep(prompt: LanguageModelV4Prompt): Step {
  const question = prompt.map(textIn).findLast((text) => text !== '')
  if (question === undefined) return say('I know the rules of the shop: ask me about one.')
  const [result] = resultsIn(prompt, 'find_rules')
  if (!result)
    return { reasoning: 'I look it up.', calls: [{ name: 'find_rules', input: { query: question.slice(0, 500) } }] }
  const { data } = found.safeParse(result.value)
  if (!data) return say(`The rules could not be looked up. ${result.problem ?? ''}`.trim())
  if (data.rules.length === 0) return say('There is no rule for that.')
  return say(data.rules.map(({ title, text }) => `${title}: ${text}`).join('\n'))
}
