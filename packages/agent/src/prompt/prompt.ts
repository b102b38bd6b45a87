import type { Message } from '@provost/core'
import type { Prompt } from '@provost/provider'
import { createPrompt } from '@provost/provider'

import { messageOf } from '../messages/message.ts'
import type { RunContext } from '../types/run-context.ts'
import { providerOf } from './model-name.ts'
import { skillCatalogue } from './skill-catalogue.ts'

/**
 * Returns the prompt for a model, up to date with the view. Messages that it contains are neither converted nor changed
 * again.
 *
 * @param model `provider/model`.
 */
export function promptFor(scope: RunContext, model: string): Prompt {
  const { state, prompts } = scope
  let kept = prompts.get(model)
  if (!kept) prompts.set(model, (kept = { prompt: newPrompt(scope, model), count: 0, version: -1 }))
  const { prompt, count, version } = kept
  if (version !== state.viewVersion) {
    prompt.reset([...systemMessages(scope), ...state.view])
  } else {
    for (let i = count; i < state.view.length; i++) {
      const message = state.view[i]
      if (message) prompt.append(message)
    }
  }
  kept.count = state.view.length
  kept.version = state.viewVersion
  return prompt
}

function newPrompt({ plan, state }: RunContext, model: string): Prompt {
  return createPrompt({
    convert: plan.convertToModel,
    reasoning: plan.reasoning,
    writer: (message) => {
      const by = state.writers.get(message) ?? model
      return by === model ? 'self' : providerOf(by) === providerOf(model) ? 'sibling' : 'stranger'
    },
  })
}

/** Returns the system prompt, built from source each time: no summary and no edit of the history changes it. */
export function systemMessages(scope: RunContext): readonly Message[] {
  const { plan, state } = scope
  const texts = [scope.instructions, plan.skills.length > 0 ? skillCatalogue(plan.skills) : ''].filter(
    (text) => text !== '',
  )
  const own = texts.length > 0 ? [messageOf({ role: 'system', content: texts.join('\n\n') }, 'instructions')] : []
  return [...own, ...(state.preludes.get(state.agent) ?? [])]
}
