import type { LanguageModelV4TextPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { Part } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { StreamPart } from './stream-part.ts'

type CustomPart = Extract<Part, { type: 'custom' }>

const kind = 'anthropic.compaction'
/** More than all summaries of a response have, with their metadata. */
const maxCharacters = 4_000_000

interface HeldCompaction {
  text: string
  metadata: SharedV4ProviderMetadata
}

/** Whether the text that begins with this part is a summary of the history. */
export function isCompaction({ providerMetadata }: Extract<StreamPart, { type: 'text-start' }>): boolean {
  return providerMetadata?.['anthropic']?.['type'] === 'compaction'
}

/**
 * Holds back the summary of a compacted history, which Anthropic streams as text, so that readers do not take it for the
 * response. The summary becomes one part that is only returned to the provider.
 *
 * @throws ProvostError `answer-too-large` from the returned function.
 */
export function holdCompaction(take: (part: StreamPart) => void): (part: StreamPart) => void {
  const held = new Map<string, HeldCompaction>()
  let characters = 0
  function weigh(more: number): void {
    characters += more
    if (characters <= maxCharacters) return
    throw new ProvostError('answer-too-large', `The summary has more than ${maxCharacters} characters.`, {
      hint: 'Check which server responds at this address.',
    })
  }
  return (part) => {
    if (part.type === 'text-start' && isCompaction(part)) {
      weigh(part.id.length + JSON.stringify(part.providerMetadata).length)
      held.set(part.id, { text: '', metadata: part.providerMetadata ?? {} })
      return
    }
    const summary = held.size > 0 && 'id' in part && part.id !== undefined ? held.get(part.id) : undefined
    if (!summary) take(part)
    else if (part.type === 'text-delta') {
      weigh(part.delta.length)
      summary.text += part.delta
    } else if (part.type === 'text-end') {
      held.delete(part.id)
      const anthropic = { ...summary.metadata['anthropic'], ...part.providerMetadata?.['anthropic'] }
      const providerMetadata = { anthropic: { ...anthropic, type: 'compaction', content: summary.text } }
      if (summary.text !== '') take({ type: 'custom', kind, providerMetadata })
    } else take(part)
  }
}

/** Returns the summary of such a part; undefined for other parts. */
export function compactionText(part: CustomPart): string | undefined {
  const content = part.kind === kind ? part.providerOptions?.['anthropic']?.['content'] : undefined
  return typeof content === 'string' ? content : undefined
}

/** Such a part as Anthropic's provider takes it back. */
export function compactionOnWire({ providerOptions }: CustomPart, text: string): LanguageModelV4TextPart {
  const { content: _, ...anthropic } = providerOptions?.['anthropic'] ?? {}
  return { type: 'text', text, providerOptions: { ...providerOptions, anthropic } }
}
