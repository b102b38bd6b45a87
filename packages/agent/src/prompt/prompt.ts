import type { MaybePromise, Message } from '@provost/core'
import { ProvostError } from '@provost/core'
import type { Prompt } from '@provost/provider'
import { createPrompt } from '@provost/provider'

import { callbackFailure } from '../control/failure-source.ts'
import { messageOf } from '../messages/message.ts'
import { isModelMessage } from '../messages/read-input.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { LoadedFiles } from './load-files.ts'
import { loadFiles } from './load-files.ts'
import { providerOf } from './model-name.ts'

/**
 * Returns the prompt for a model, up to date with the view. Messages that it contains are neither converted nor changed
 * again.
 *
 * @param model `provider/model`.
 */
export function promptFor(ctx: RunContext, model: string): MaybePromise<Prompt> {
  const { state, prompts, agent } = ctx
  const kept = prompts.get(model)
  const loading = loadFiles(agent.store, state.view, kept?.viewVersion === state.viewVersion ? kept.messageCount : 0)
  return loading ? loading.then((files) => extend(ctx, model, files)) : extend(ctx, model)
}

function extend(ctx: RunContext, model: string, files?: LoadedFiles): Prompt {
  const { state, prompts } = ctx
  let kept = prompts.get(model)
  if (!kept) prompts.set(model, (kept = { prompt: newPrompt(ctx, model), messageCount: 0, viewVersion: -1 }))
  const { prompt, messageCount, viewVersion } = kept
  if (viewVersion !== state.viewVersion) {
    const view = files ? state.view.map((message) => files.get(message) ?? message) : state.view
    prompt.reset([...systemMessages(ctx), ...view])
  } else {
    for (let i = messageCount; i < state.view.length; i++) {
      const message = state.view[i]
      if (message) prompt.append(files?.get(message) ?? message)
    }
  }
  kept.messageCount = state.view.length
  kept.viewVersion = state.viewVersion
  return prompt
}

function newPrompt({ agent, state }: RunContext, model: string): Prompt {
  const { convertToModel } = agent
  return createPrompt({
    convert: convertToModel && ((message) => converted(convertToModel, message)),
    reasoning: agent.reasoning,
    writer: (message) => {
      const by = state.modelNames.get(message) ?? model
      return by === model ? 'self' : providerOf(by) === providerOf(model) ? 'sibling' : 'stranger'
    },
  })
}

type Convert = NonNullable<ResolvedAgent['convertToModel']>

function converted(convert: Convert, message: Message): ReturnType<Convert> {
  try {
    const own = convert(message)
    const all = Array.isArray(own) ? own : [own]
    if (own !== undefined && !all.every(isForModel)) throw invalidConversion(own, message)
    return own
  } catch (thrown) {
    throw callbackFailure(thrown, 'convertToModel')
  }
}

/** Returns whether a value is a message of a role that models know. A promise is not. */
function isForModel(value: unknown): boolean {
  return isModelMessage(value) && ['system', 'user', 'assistant', 'tool'].includes(value.role)
}

function invalidConversion(own: unknown, { id, role }: Message): ProvostError {
  const got = own instanceof Promise ? 'a promise' : 'no message that a model knows'
  return new ProvostError('invalid-answer', `convertToModel returned ${got} for message ${id} (${role}).`, {
    hint: 'Return a ModelMessage, a list of them, or undefined for the default. It must not be asynchronous.',
  })
}

/** Returns the system prompt, built from source each time: no summary and no edit of the history changes it. */
export function systemMessages(ctx: RunContext): readonly Message[] {
  const { instructions, systemTexts, state } = ctx
  const texts = instructions === '' ? systemTexts : [instructions, ...systemTexts]
  const own =
    texts.length > 0 ? [messageOf({ role: 'system', content: texts.join('\n\n') }, state.clock, 'instructions')] : []
  return [...own, ...(state.systemMessages.get(state.agent) ?? [])]
}
