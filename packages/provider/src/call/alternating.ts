import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'

/** Providers that reject two messages of one role in a row, and whose AI SDK package does not merge them. */
const strictProviders = /^perplexity(\.|$)/

/**
 * Returns the prompt as a provider accepts it: where roles have to alternate, adjacent messages of the user or of the
 * assistant become one. Nothing is dropped. A blank line separates two texts that meet, since some packages join the
 * texts of a message.
 */
export function alternating(provider: string, prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  if (!strictProviders.test(provider)) return prompt
  const merged: LanguageModelV4Prompt = []
  for (const message of prompt) {
    const last = merged.at(-1)
    const both = last && together(last, message)
    if (both) merged[merged.length - 1] = both
    else merged.push(message)
  }
  return merged
}

function together(one: LanguageModelV4Message, other: LanguageModelV4Message): LanguageModelV4Message | undefined {
  const providerOptions = (one.providerOptions ?? other.providerOptions) && {
    ...one.providerOptions,
    ...other.providerOptions,
  }
  const options = providerOptions && { providerOptions }
  if (one.role === 'user' && other.role === 'user') {
    return { role: 'user', content: joined(one.content, other.content), ...options }
  }
  if (one.role === 'assistant' && other.role === 'assistant') {
    return { role: 'assistant', content: joined(one.content, other.content), ...options }
  }
  return undefined
}

function joined<P extends { readonly type: string }>(one: readonly P[], other: readonly P[]): P[] {
  const [next, ...rest] = other
  const last = one.at(-1)
  if (!last || !next || !isText(last) || !isText(next)) return [...one, ...other]
  return [...one.slice(0, -1), { ...last, text: `${last.text}\n\n${next.text}` }, ...rest]
}

function isText<P extends { readonly type: string }>(part: P): part is P & { readonly text: string } {
  return part.type === 'text' && 'text' in part && typeof part.text === 'string'
}
