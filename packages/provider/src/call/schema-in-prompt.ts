import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import type { AnyModel } from '../models/model-v3.ts'
import type { ModelCall } from './call.ts'

/**
 * Adds the output schema to the system messages for a model whose provider only knows JSON without a schema, as many
 * compatible servers do: its AI SDK model says `supportsStructuredOutputs: false`. The text is the same for each request
 * with the schema, so a cached prefix stays valid.
 */
export function withSchemaInPrompt(
  model: AnyModel,
  prompt: LanguageModelV4Prompt,
  format: NonNullable<ModelCall['responseFormat']>,
): LanguageModelV4Prompt {
  if (!('supportsStructuredOutputs' in model) || model.supportsStructuredOutputs !== false) return prompt
  const content = `Answer with JSON that fits this JSON schema, and with nothing else:\n${JSON.stringify(format.schema)}`
  const first = prompt.findIndex(({ role }) => role !== 'system')
  const at = first < 0 ? prompt.length : first
  return [...prompt.slice(0, at), { role: 'system', content }, ...prompt.slice(at)]
}
