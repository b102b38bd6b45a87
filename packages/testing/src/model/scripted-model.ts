import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider'
import { checkChoice, checkOptions, ProvostError } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import { checkStep, contentOf, finishReasonOf, usageOf } from './scripted-step.ts'
import type { ScriptedPrompt, ScriptedStep } from './scripted-step.ts'
import { hangUp, streamOf, wait } from './scripted-stream.ts'

/** A response, or a function that makes it from the prompt and the number of the call, counted from 0. */
export type ScriptedEntry = ScriptedStep | ((prompt: ScriptedPrompt, index: number) => ScriptedStep)

/** Options of {@link scriptedModel}. */
export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly provider?: string
  /** Default `scripted-model`. */
  readonly modelId?: string
  /** What happens in calls after the last step. Default `error`: they throw `script-exhausted`. */
  readonly after?: 'repeat-last' | 'error'
}

/** Waits or fails before a response begins. */
async function connect(step: ScriptedStep, call: LanguageModelV4CallOptions): Promise<void> {
  if (step.stall === 'connect') await new Promise(() => {})
  call.abortSignal?.throwIfAborted()
  if (step.error === undefined || step.failAfterChunks !== undefined) return
  if (step.delayMs) await wait(step.delayMs, call.abortSignal)
  throw step.error
}

const optionKeys = {
  provider: true,
  modelId: true,
  after: true,
} satisfies KnownKeys<ScriptedModelOptions>

/**
 * Creates a language model that responds from a script: call n gets step n.
 *
 * The model stores only the number of calls, so that it serves runs of any length and any number of runs at once. Runs
 * share the count. When the order of calls is unknown, pass one function of the prompt, with `after: 'repeat-last'`.
 *
 * @param steps responses as data, or functions of the prompt.
 * @throws ProvostError `invalid-argument` if `steps` is not a list.
 * @throws ProvostError `script-exhausted` from a call after the last step, unless `after` is `repeat-last`.
 *
 * @example
 * const model = scriptedModel([
 *   { text: 'Let me look. ', toolCalls: [{ name: 'lookup', input: { order: 17 } }] },
 *   ({ messages }) => ({ text: `Done after ${messages.length} messages.` }),
 * ])
 */
export function scriptedModel(steps: readonly ScriptedEntry[], options: ScriptedModelOptions = {}): LanguageModelV4 {
  checkOptions(options, optionKeys, 'scriptedModel')
  checkChoice(options.after, ['repeat-last', 'error'], 'after', 'scriptedModel')
  // Narrowed itself, its elements would be of any type.
  const given: unknown = steps
  if (!Array.isArray(given)) {
    throw new ProvostError('invalid-argument', `scriptedModel got ${typeof given}, and not a list of steps.`, {
      hint: "Give a list: scriptedModel([{ text: 'Done.' }]). A function of the prompt is a step, too.",
    })
  }
  for (const step of steps) if (typeof step !== 'function') checkStep(step)
  const { provider = 'scripted', modelId = 'scripted-model', after = 'error' } = options
  let calls = 0

  function take(call: LanguageModelV4CallOptions): { step: ScriptedStep; index: number } {
    const index = calls++
    const entry = steps[index] ?? (after === 'repeat-last' ? steps.at(-1) : undefined)
    if (entry === undefined) {
      throw new ProvostError(
        'script-exhausted',
        `${provider}/${modelId} got call ${index + 1}, its script has ${steps.length}.`,
        {
          hint: "Add a step, or set after: 'repeat-last'.",
        },
      )
    }
    if (typeof entry !== 'function') return { step: entry, index }
    const step = entry({ messages: call.prompt, tools: call.tools ?? [], options: call }, index)
    checkStep(step)
    return { step, index }
  }

  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},

    async doStream(call): Promise<LanguageModelV4StreamResult> {
      const { step, index } = take(call)
      await connect(step, call)
      return { stream: streamOf(step, index, call.abortSignal) }
    },

    async doGenerate(call): Promise<LanguageModelV4GenerateResult> {
      const { step, index } = take(call)
      await connect(step, call)
      if (step.delayMs) await wait(step.delayMs, call.abortSignal)
      if (step.stall) await new Promise(() => {})
      if (step.failAfterChunks !== undefined) throw step.error ?? hangUp()
      const content = contentOf(step, index)
      return { content, finishReason: finishReasonOf(step), usage: usageOf(step), warnings: [] }
    },
  }
}
