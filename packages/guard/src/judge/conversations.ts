import type { ModelMessage } from '@provost/core'
import { uuidv7 } from '@provost/core'

import { chainAfter } from '../history/compare-history.ts'
import { seen } from '../history/seen-message.ts'

/** A conversation of another loop. */
export interface Conversation {
  readonly session: string
  /** The hash of the history that is known, by which a later turn finds it. Absent before the first answer. */
  chain: string | undefined
}

/** The conversations of a guard that were used last. */
export interface Conversations<C extends Conversation> {
  /** Returns the conversation with an id, or the one that a history continues, or a new one. */
  find(session: string | undefined, history: readonly ModelMessage[]): C
  /** Notes the hash of the history of a conversation. */
  note(conversation: C, chain: string): void
  drop(conversation: C): void
  all(): Iterable<C>
}

/**
 * Keeps conversations. Without an id, a conversation is known by the object of its first message while its loop runs, and
 * later by its whole history. A history that agrees only in part is a new conversation, in which nothing was seen before.
 */
export function conversations<C extends Conversation>(
  create: (session: string) => C,
  /** A conversation that is no longer kept. */
  forget: (conversation: C) => void,
  most: number,
): Conversations<C> {
  const bySession = new Map<string, C>()
  const byFirst = new WeakMap<object, C>()
  const byChain = new Map<string, C>()

  function use(session: string): C {
    const known = bySession.get(session)
    const conversation = known ?? create(session)
    bySession.delete(session)
    bySession.set(session, conversation)
    if (bySession.size > most) {
      const [oldest] = bySession.values()
      if (oldest && oldest !== conversation) {
        drop(oldest)
        forget(oldest)
      }
    }
    return conversation
  }

  function drop(conversation: C): void {
    const { session, chain } = conversation
    if (bySession.get(session) === conversation) bySession.delete(session)
    if (chain !== undefined && byChain.get(chain) === conversation) byChain.delete(chain)
  }

  function continued(history: readonly ModelMessage[]): C | undefined {
    const [first] = history
    const running = first && byFirst.get(first)
    // Nothing but words of the human: the program begins anew with the same object.
    const isBeginning = history.every(({ role }) => role === 'user' || role === 'system')
    if (running && bySession.get(running.session) === running && !(isBeginning && running.chain !== undefined))
      return running
    if (isBeginning || byChain.size === 0) return undefined
    let [chain, longest]: [string, C | undefined] = ['', undefined]
    for (const message of history) {
      chain = chainAfter(chain, [seen(message)])
      longest = byChain.get(chain) ?? longest
    }
    return longest
  }

  return {
    find(session, history) {
      const conversation = use(session ?? continued(history)?.session ?? `guard-${uuidv7()}`)
      const [first] = history
      if (session === undefined && first) byFirst.set(first, conversation)
      return conversation
    },
    note(conversation, chain) {
      if (conversation.chain !== undefined && byChain.get(conversation.chain) === conversation)
        byChain.delete(conversation.chain)
      conversation.chain = chain
      byChain.set(chain, conversation)
    },
    drop,
    all: () => bySession.values(),
  }
}
