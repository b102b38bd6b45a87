import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelSettings } from '@provost/core'

import type { AnyModel } from '../models/model-v3.ts'

/** A call as its provider is to cache it. */
export interface CachedCall {
  readonly prompt: LanguageModelV4Prompt
  readonly settings: ModelSettings
}

/** What is known of a call before it is made. */
export interface Cacheable extends CachedCall {
  readonly model: AnyModel
  /** How many messages of the prompt, from its start, are in the next request too. */
  readonly lasting: number
  /** The same for all calls that share a prefix. */
  readonly key: string
}

/**
 * A call with what its provider takes to find the beginning of the prompt in its cache: breakpoints for Anthropic behind
 * the system prompt and behind the history, a key for OpenAI. Others find it by themselves. Not one byte of the messages
 * changes by it where the provider sets the moving breakpoint itself. Where the settings say how to cache, that holds.
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
  // The provider's own moves with the end of the request: right where nothing follows the history.
  if (names[0] === 'anthropic' && lasting === prompt.length) {
    return { prompt: marked, settings: withOption(settings, 'anthropic', 'cacheControl', ephemeral) }
  }
  if (lasting - 1 !== system) mark(marked, lasting - 1)
  return { prompt: marked, settings }
}

const ephemeral = Object.freeze({ type: 'ephemeral' })
const copies = new WeakMap<LanguageModelV4Message, LanguageModelV4Message>()

/** The same message gets the same copy, so that the prefix stays the same objects. */
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
