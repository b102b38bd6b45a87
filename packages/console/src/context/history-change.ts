import type { StateAnswer } from '@provost/server/console'

type SentMessage = StateAnswer['view'][number]

/** What a compaction, an edit or a reset made of the history. */
export interface HistoryChange {
  /** Messages that the model no longer receives, in their order. */
  readonly dropped: readonly SentMessage[]
  /** Messages before those in {@link dropped} that the model no longer receives; the answer of the server has no room for them. */
  readonly earlierDropped: number
  /** Messages that were not in the history before, such as a summary. */
  readonly added: readonly SentMessage[]
  /** Messages that kept their id and have another content, such as a result that was cleared. */
  readonly rewritten: readonly { readonly before: SentMessage; readonly after: SentMessage }[]
  /** Messages that stayed as they are. */
  readonly kept: readonly SentMessage[]
}

/**
 * Returns what an entry changed in the history.
 *
 * @param before the state before the entry.
 * @param after the state after it.
 * @param entryId id of the entry. The ids of messages that it made begin with it.
 */
export function historyChange(before: StateAnswer, after: StateAnswer, entryId: string): HistoryChange {
  const old = new Map(before.view.map((message) => [message.id, message]))
  const now = new Set(after.view.map(({ id }) => id))
  const added: SentMessage[] = []
  const rewritten: { before: SentMessage; after: SentMessage }[] = []
  const kept: SentMessage[] = []
  for (const message of after.view) {
    const known = old.get(message.id)
    const wasThere = known !== undefined || (before.earlier > 0 && !message.id.startsWith(`${entryId}/`))
    if (!wasThere) added.push(message)
    else if (known && !isSame(known, message)) rewritten.push({ before: known, after: message })
    else kept.push(message)
  }
  const dropped = before.view.filter(({ id }) => !now.has(id))
  const gone = sizeOf(before) - sizeOf(after) + added.length
  return { dropped, earlierDropped: Math.max(0, gone - dropped.length), added, rewritten, kept }
}

/** Returns the number of messages in a state. */
export function sizeOf({ earlier, view }: StateAnswer): number {
  return earlier + view.length
}

function isSame({ content: a }: SentMessage, { content: b }: SentMessage): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
