import type { Message } from '@provost/core'
import { messageTokens } from '@provost/provider'

/** The point where a history may be cut, and the request that must stay. */
export interface Cut {
  /** Index of the first message that stays unchanged; never between a call and its result. */
  readonly recent: number
  /** The user's latest request, if any. */
  readonly request: Message | undefined
}

/**
 * Finds the point where a history may be cut.
 *
 * @param keep tokens at the end that stay. Pairs of call and result may lower it; the last step always stays.
 * @param requests returns whether a message is a user's request.
 */
export function findCut(messages: readonly Message[], keep: number, requests: (message: Message) => boolean): Cut {
  const closed = closedAt(messages)
  let recent = messages.length - 1
  while (recent > 0 && !closed[recent]) recent--
  let tokens = 0
  for (let at = messages.length - 1; at > 0; at--) {
    const message = messages[at]
    tokens += message ? messageTokens(message) : 0
    if (tokens > keep) break
    if (closed[at] && at < recent) recent = at
  }
  const request = messages.findLast(requests)
  return { recent: Math.max(recent, 0), request }
}

/** Returns, for each message, whether no tool call is open before it, including the provider's own tools. */
function closedAt(messages: readonly Message[]): readonly boolean[] {
  const answered = new Set<string>()
  for (const { content } of messages)
    for (const part of content) if (part.type === 'tool-result') answered.add(part.callId)
  const open = new Set<string>()
  return messages.map(({ role, content }) => {
    // Adjacent results of one step may be in separate messages.
    const closed = open.size === 0 && role !== 'tool'
    for (const part of content) {
      // A provider may omit the result of its own call. Such a call does not count as open.
      if (part.type === 'tool-call' && (!part.providerExecuted || answered.has(part.callId))) open.add(part.callId)
      else if (part.type === 'tool-result') open.delete(part.callId)
    }
    return closed
  })
}
