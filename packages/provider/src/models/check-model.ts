import { checkChoice, checkOptions, confidentialities, isRecord, ProvostError } from '@provost/core'
import type { ClearedModel, KnownKeys, MovedKeys, ModelSettings, Tier } from '@provost/core'

import { isAnyModel } from './model.ts'

const tierKeys = { fast: true, balanced: true, smart: true } satisfies KnownKeys<Record<Tier, true>>
const clearedKeys = { model: true, accepts: true } satisfies KnownKeys<ClearedModel>

/**
 * Rejects a value that is not a model: no model of a provider, no name, no tiers. Whether the provider has the model
 * shows in the first call.
 *
 * @param where for messages: `createAgent`.
 * @throws ProvostError `no-model`, `invalid-model`, `invalid-model-name`, `unsupported-model`, `unknown-option`
 */
export function checkModel(spec: unknown, where: string): void {
  if (isTiers(spec)) {
    const given = Object.values(spec).filter((one) => one !== undefined)
    if (given.length === 0) {
      throw new ProvostError('no-model', `The model of ${where} is {}: neither a model nor tiers.`, { hint: howToGive })
    }
    checkOptions(spec, tierKeys, `the tiers of the model of ${where}`)
    for (const one of given) checkOneModel(one, where)
  } else checkOneModel(spec, where)
}

/**
 * The same for a place that takes one model, without tiers.
 *
 * @throws ProvostError `invalid-model`, `invalid-model-name`, `unsupported-model`, `unknown-option`
 */
export function checkOneModel(spec: unknown, where: string): void {
  if (!isRecord(spec) || !('accepts' in spec)) return checkNamed(spec, where)
  checkOptions(spec, clearedKeys, `the model of ${where}`)
  const { model, accepts } = spec
  if (!Array.isArray(accepts)) {
    throw new ProvostError('invalid-model', `The model of ${where} has "accepts", which is not a list.`, {
      hint: "Write { model, accepts: ['public', 'internal'] }.",
    })
  }
  for (const level of accepts) checkChoice(level, confidentialities, 'accepts', `the model of ${where}`)
  checkNamed(model, where)
}

/** Returns whether a value is an object of models by tier: it is neither a model nor has it `accepts`. */
function isTiers(spec: unknown): spec is Record<string, unknown> {
  if (!isRecord(spec) || 'accepts' in spec || 'specificationVersion' in spec || 'doStream' in spec) return false
  const names = Object.keys(spec)
  return names.length === 0 || names.some((name) => Object.hasOwn(tierKeys, name))
}

function checkNamed(model: unknown, where: string): void {
  if (typeof model === 'string') {
    // A package name and an id. The provider checks the rest.
    if (/^[a-z0-9][a-z0-9-]{0,63}\/./.test(model)) return
    throw new ProvostError(
      'invalid-model-name',
      `The model ${JSON.stringify(model.slice(0, 100))} of ${where} does not name a provider and a model.`,
      {
        hint: 'Write it as provider/model, such as "anthropic/claude-sonnet-5".',
      },
    )
  }
  if (isAnyModel(model)) return
  if (isRecord(model) && 'doStream' in model && 'specificationVersion' in model) {
    throw new ProvostError(
      'unsupported-model',
      `The model of ${where} is of specification ${String(model['specificationVersion'])}; v4 and v3 are known.`,
      { hint: 'Update the provider package to one for AI SDK 6 or 7.' },
    )
  }
  const what = typeof model === 'function' ? 'a function' : isRecord(model) ? shownKeys(model) : typeof model
  throw new ProvostError('invalid-model', `The model of ${where} is ${what}, which is not a language model.`, {
    hint: typeof model === 'function' ? "Call the provider with a model id: anthropic('claude-sonnet-5')." : howToGive,
  })
}

function shownKeys(value: object): string {
  const keys = Object.keys(value)
  return keys.length === 0
    ? 'an object without doStream'
    : `an object with ${keys.slice(0, 5).join(', ').slice(0, 100)}`
}

const howToGive =
  "Give an AI SDK model, a name such as 'anthropic/claude-sonnet-5', or tiers such as { fast: model, smart: model }."

const settingKeys = {
  temperature: true,
  topP: true,
  maxOutputTokens: true,
  stopSequences: true,
  seed: true,
  toolChoice: true,
  providerOptions: true,
  promptCaching: true,
  maxRetries: true,
  stallMs: true,
  timeoutMs: true,
} satisfies KnownKeys<ModelSettings>

const forProvider = 'Say it in "providerOptions", in the words of the provider.'

const movedSettings: MovedKeys = {
  maxTokens: 'Name it "maxOutputTokens".',
  max_tokens: 'Name it "maxOutputTokens".',
  top_p: 'Name it "topP".',
  stop: 'Name it "stopSequences".',
  timeout: 'Name it "timeoutMs"; it is in milliseconds.',
  topK: forProvider,
  presencePenalty: forProvider,
  frequencyPenalty: forProvider,
  reasoning: forProvider,
  reasoningEffort: forProvider,
  thinking: forProvider,
  headers: 'Give them to the provider, where its model is made.',
  abortSignal: 'Give "signal" to the run.',
}

/**
 * Refuses settings that no model is asked with.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 */
export function checkSettings(settings: unknown, where: string): void {
  if (settings === undefined) return
  checkOptions(settings, settingKeys, `"settings" of ${where}`, movedSettings)
  if (!isRecord(settings)) return
  const { toolChoice, promptCaching } = settings
  checkChoice(promptCaching, ['auto', 'off'], 'promptCaching', where)
  if (isRecord(toolChoice)) checkOptions(toolChoice, { tool: true }, `"toolChoice" of ${where}`, movedChoice)
  else checkChoice(toolChoice, ['auto', 'none', 'required'], 'toolChoice', where)
}

const movedChoice: MovedKeys = {
  type: "Write toolChoice: { tool: 'name' }.",
  toolName: "Write toolChoice: { tool: 'name' }.",
  name: "Write toolChoice: { tool: 'name' }.",
}
