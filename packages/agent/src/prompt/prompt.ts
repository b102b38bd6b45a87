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
export function promptFor(ctx: RunContext, model: string): Prompt {
  const { state, prompts } = ctx
  let kept = prompts.get(model)
  if (!kept) prompts.set(model, (kept = { prompt: newPrompt(ctx, model), messageCount: 0, viewVersion: -1 }))
  const { prompt, messageCount, viewVersion } = kept
  if (viewVersion !== state.viewVersion) {
    prompt.reset([...systemMessages(ctx), ...state.view])
  } else {
    for (let i = messageCount; i < state.view.length; i++) {
      const message = state.view[i]
      if (message) prompt.append(message)
    }
  }
  kept.messageCount = state.view.length
  kept.viewVersion = state.viewVersion
  return prompt
}

function newPrompt({ agent, state }: RunContext, model: string): Prompt {
  return createPrompt({
    convert: agent.convertToModel,
    reasoning: agent.reasoning,
    writer: (message) => {
      const by = state.modelNames.get(message) ?? model
      return by === model ? 'self' : providerOf(by) === providerOf(model) ? 'sibling' : 'stranger'
    },
  })
}

/** Returns the system prompt, built from source each time: no summary and no edit of the history changes it. */
export function systemMessages(ctx: RunContext): readonly Message[] {
  const { agent, state } = ctx
  const texts = [ctx.instructions, agent.skills.length > 0 ? skillCatalogue(agent.skills) : ''].filter(
    (text) => text !== '',
  )
  const own = texts.length > 0 ? [messageOf({ role: 'system', content: texts.join('\n\n') }, 'instructions')] : []
  return [...own, ...(state.systemMessages.get(state.agent) ?? [])]
}
