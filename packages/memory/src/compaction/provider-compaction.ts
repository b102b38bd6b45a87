import type { Json, Message, MessageInit, ModelRequest, OneModel, Part, RequestEdit } from '@provost/core'
import { labelOf } from '@provost/core'

import type { Settings } from './compaction-options.ts'

/** Anthropic does nothing below this. */
const leastClaude = 50_000
/** Claude models that compact: those from 4.6 on. Older ones clear results only. */
const compactingClaude = /^anthropic\/claude-[a-z]+-(?:[5-9]|4-[6-9])(?!\d)/

/** How full the window may be: where the provider compacts by itself, this is only what helps if it does not. */
export function nativeLine(model: string, { strategies }: Settings, threshold: number): number {
  return strategies.includes('provider') && isNative(model) ? threshold + (1 - threshold) * 0.6 : threshold
}

function isNative(model: string): boolean {
  return model.startsWith('openai/') || model.startsWith('anthropic/')
}

/**
 * Asks the provider of a model to compact by itself, where it can: OpenAI's Responses compact; Anthropic's Messages clear the
 * results of tools and, where that is not enough and the model can, compact. What the request says of it already stands.
 *
 * @param window tokens.
 * @param threshold how much of it may be full.
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
 * Anthropic's models read nothing that stands before what they have compacted: a request that does is said again behind the
 * history, word for word.
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
  const said: Part = {
    type: 'text',
    text: '[The latest request of the user, word for word. The runtime says it again.]',
  }
  return [{ role: 'user', content: [said, ...message.content], label: labelOf(message) }]
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
  return part.type === 'custom' && (part.kind === 'openai.compaction' || part.kind === 'anthropic.compaction')
}
