import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import { factsOf } from './facts.ts'
import { handlingStep, type Step } from './plan.ts'
import { researchStep } from './researcher.ts'
import { triageStep } from './triage.ts'
import { correctStep, editStep, writeStep } from './writing.ts'

/** The next step in the role of the instructions: `You are billing at …`. Without a role, it handles mails. */
export function nextStep(prompt: LanguageModelV4Prompt): Step {
  switch (roleIn(prompt) ?? '') {
    case 'triage':
      return triageStep(factsOf(prompt))
    case 'warm writer':
      return writeStep(prompt, 'warm')
    case 'plain writer':
      return writeStep(prompt, 'plain')
    case 'editor':
      return editStep(prompt)
    case 'corrector':
      return correctStep(prompt)
    case 'policy researcher':
      return researchStep(prompt)
    default:
      return handlingStep(factsOf(prompt))
  }
}

function roleIn(prompt: LanguageModelV4Prompt): string | undefined {
  for (const { role, content } of prompt) {
    const [, name] = role === 'system' ? (/^You are (?:the )?([a-z ]+?) (?:at|of) /.exec(content) ?? []) : []
    if (name !== undefined) return name
  }
  return undefined
}
