import type { Json, Message, ModelRequest, OneModel, Part, RequestEdit } from '@provost/core'

import type { Settings } from './compaction-options.ts'

/** Anthropic does nothing below this. */
const leastClaude = 50_000

/** How full the window may be: where the provider compacts by itself, this is only what helps if it does not. */
export function nativeLine(model: string, { strategies }: Settings, threshold: number): number {
  return strategies.includes('provider') && isNative(model) ? threshold + (1 - threshold) * 0.6 : threshold
}

function isNative(model: string): boolean {
  return model.startsWith('openai/') || model.startsWith('anthropic/')
}

/**
 * Asks the provider of a model to compact by itself, where it can: OpenAI's Responses compact, Anthropic's Messages clear
 * the results of tools. What the request says of it already stands.
 *
 * @param trigger tokens from which on it should.
 */
export function nativeRequest({ model, spec, params }: ModelRequest, trigger: number): RequestEdit | undefined {
  const [provider = ''] = model.split('/')
  const options = params.providerOptions ?? {}
  if (provider !== 'openai' && provider !== 'anthropic') return undefined
  if (provider === 'openai' && !speaksResponses(spec)) return undefined
  const own = options[provider] ?? {}
  if ('contextManagement' in own) return undefined
  const at = Math.floor(trigger)
  const contextManagement: Json =
    provider === 'openai'
      ? [{ type: 'compaction', compactThreshold: at }]
      : {
          edits: [
            {
              type: 'clear_tool_uses_20250919',
              trigger: { type: 'input_tokens', value: Math.max(at, leastClaude) },
              keep: { type: 'tool_uses', value: 3 },
              clearAtLeast: { type: 'input_tokens', value: Math.ceil(at / 10) },
            },
          ],
        }
  return { params: { providerOptions: { ...options, [provider]: { ...own, contextManagement } } } }
}

/** A model by its name is made by the provider's default, which is this API. */
function speaksResponses(spec: OneModel): boolean {
  if (typeof spec === 'string') return true
  if ('accepts' in spec) return speaksResponses(spec.model)
  return spec.provider.endsWith('.responses')
}

/** Index of the last message in which the provider says that it has compacted all before; -1 where there is none. */
export function compactedAt(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role, content }) => role === 'assistant' && content.some(isCompaction))
}

function isCompaction(part: Part): boolean {
  return part.type === 'custom' && part.kind === 'openai.compaction'
}
