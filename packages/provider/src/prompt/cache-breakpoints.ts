import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelSettings } from '@provost/core'

import type { AnyModel } from '../models/model-v3.ts'

/** A call as its provider is to cache it. */
export interface CachedCall {
  readonly prompt: LanguageModelV4Prompt
  readonly settings: ModelSettings
}

/** A model call before it is sent. */
export interface Cacheable extends CachedCall {
  readonly model: AnyModel
  /** Messages from the start of the prompt that the next request has too. */
  readonly lasting: number
  /** The same for all calls that share a prefix. */
  readonly key: string
}

/**
 * Returns a call with the cache settings of its provider: breakpoints for Anthropic behind the system prompt and behind
 * the history, a key for OpenAI. Other providers cache automatically. If the provider sets the moving breakpoint
 * itself, the messages stay unchanged. Cache settings of the caller take precedence.
 *
 * @example
 * const { prompt, settings } = withCachePoints({ model, prompt, settings: {}, lasting: prompt.length, key: sessionId })
 */
export function withCachePoints({ model, prompt, settings, lasting, key }: Cacheable): CachedCall {
  const names = model.provider.split('.')
  if (settings.promptCaching === 'off') return { prompt, settings }
  if (names[0] === 'openai') return { prompt, settings: withOption(settings, 'openai', 'promptCacheKey', key) }
  if (!names.includes('anthropic') || hasOption(settings, 'anthropic', 'cacheControl')) return { prompt, settings }
  const marked = prompt.slice()
  const system = marked.findIndex(({ role }) => role !== 'system') - 1
  mark(marked, system)
  // The automatic breakpoint is at the end of the request, which is right if nothing follows the history.
  if (names[0] === 'anthropic' && lasting === prompt.length) {
    return { prompt: marked, settings: withOption(settings, 'anthropic', 'cacheControl', ephemeral) }
  }
  if (lasting - 1 !== system) mark(marked, lasting - 1)
  return { prompt: marked, settings }
}

const ephemeral = Object.freeze({ type: 'ephemeral' })
const copies = new WeakMap<LanguageModelV4Message, LanguageModelV4Message>()

/** The same message gets the same copy, so that the prefix has the same objects. */
function mark(prompt: LanguageModelV4Prompt, at: number): void {
  const message = prompt[at]
  if (!message) return
  let copy = copies.get(message)
  if (!copy) {
    const { providerOptions } = message
    const anthropic = { cacheControl: ephemeral, ...providerOptions?.['anthropic'] }
    copies.set(message, (copy = { ...message, providerOptions: { ...providerOptions, anthropic } }))
  }
  prompt[at] = copy
}

type Options = SharedV4ProviderOptions[string]

function hasOption({ providerOptions }: ModelSettings, provider: string, name: string): boolean {
  return providerOptions?.[provider]?.[name] !== undefined
}

function withOption(settings: ModelSettings, provider: string, name: string, value: Options[string]): ModelSettings {
  if (hasOption(settings, provider, name)) return settings
  const { providerOptions } = settings
  return {
    ...settings,
    providerOptions: { ...providerOptions, [provider]: { ...providerOptions?.[provider], [name]: value } },
  }
}
