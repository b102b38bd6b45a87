import type { Json, Message, MessageInit, ModelRequest, OneModel, Part, RequestEdit } from '@provost/core'
import { labelOf } from '@provost/core'

import type { Settings } from './compaction-options.ts'

/** Tokens below which Anthropic does not compact. */
const leastClaude = 50_000
/** Matches Claude models that compact, from 4.6 on. Older ones only clear results. */
const compactingClaude = /^anthropic\/claude-[a-z]+-(?:[5-9]|4-[6-9])(?!\d)/

/** Returns the threshold for a model. It is higher if the provider compacts by itself, as a fallback. */
export function nativeLine(model: string, { strategies }: Settings, threshold: number): number {
  return strategies.includes('provider') && isNative(model) ? threshold + (1 - threshold) * 0.6 : threshold
}

function isNative(model: string): boolean {
  return model.startsWith('openai/') || model.startsWith('anthropic/')
}

/**
 * Adds provider options so that the provider compacts by itself, if it can. OpenAI's Responses API compacts. Anthropic's
 * Messages API clears tool results, then compacts if the model can. Options that the request already has are kept.
 *
 * @param window tokens of the model's window.
 * @param threshold share of the window that triggers a compaction.
 */
export function nativeRequest(
  { model, spec, params }: ModelRequest,
  window: number,
  threshold: number,
): RequestEdit | undefined {
  const [provider = ''] = model.split('/')
  const options = params.providerOptions ?? {}
  if (provider !== 'openai' && provider !== 'anthropic') return undefined
  if (provider === 'openai' && !speaksResponses(spec)) return undefined
  const own = options[provider] ?? {}
  if ('contextManagement' in own) return undefined
  const at = Math.floor(window * threshold)
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
            ...(compactingClaude.test(model)
              ? [
                  {
                    type: 'compact_20260112',
                    trigger: {
                      type: 'input_tokens',
                      value: Math.max(Math.floor(window * (threshold + (1 - threshold) * 0.3)), leastClaude),
                    },
                  },
                ]
              : []),
          ],
        }
  return { params: { providerOptions: { ...options, [provider]: { ...own, contextManagement } } } }
}

/**
 * Returns the user's request if it is before the provider's compaction, verbatim, to add it after the history. Anthropic's
 * models do not read messages before their compaction.
 */
export function requestAgain(
  messages: readonly Message[],
  isRequest: (message: Message) => boolean,
): readonly MessageInit[] {
  const at = messages.findLastIndex(({ content }) =>
    content.some((part) => part.type === 'custom' && part.kind === 'anthropic.compaction'),
  )
  const request = messages.findLastIndex(isRequest)
  const message = messages[request]
  if (!message || request > at) return []
  const reminder: Part = {
    type: 'text',
    text: '[The latest request of the user, word for word. The runtime says it again.]',
  }
  return [{ role: 'user', content: [reminder, ...message.content], label: labelOf(message) }]
}

/** Returns whether a model uses the Responses API, which is the default for a model given by name. */
function speaksResponses(spec: OneModel): boolean {
  if (typeof spec === 'string') return true
  if ('accepts' in spec) return speaksResponses(spec.model)
  return spec.provider.endsWith('.responses')
}

/** Returns the index of the last message with a compaction by the provider, or -1. */
export function compactedAt(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role, content }) => role === 'assistant' && content.some(isCompaction))
}

function isCompaction(part: Part): boolean {
  return part.type === 'custom' && (part.kind === 'openai.compaction' || part.kind === 'anthropic.compaction')
}
