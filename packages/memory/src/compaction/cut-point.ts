import type { Message } from '@provost/core'
import { messageTokens } from '@provost/provider'

/** Where a history may be cut, and what of it has to stay. */
export interface Cut {
  /** Index of the first message that stays as it is; never between a call and its result. */
  readonly recent: number
  /** The latest request of the user; undefined where there is none. */
  readonly request: Message | undefined
}

/**
 * Finds where a history may be cut.
 *
 * @param keep tokens at the end that stay; what belongs together may make it less, and the last step stays anyway.
 * @param requests tells which messages are somebody's request.
 */
export function findCut(messages: readonly Message[], keep: number, requests: (message: Message) => boolean): Cut {
  const whole = wholeAt(messages)
  let recent = messages.length - 1
  while (recent > 0 && !whole[recent]) recent--
  let tokens = 0
  for (let at = messages.length - 1; at > 0; at--) {
    const message = messages[at]
    tokens += message ? messageTokens(message) : 0
    if (tokens > keep) break
    if (whole[at] && at < recent) recent = at
  }
  const request = messages.findLast(requests)
  return { recent: Math.max(recent, 0), request }
}

/** Whether no call is open before the message at an index: none of a tool, and none of the provider's own. */
function wholeAt(messages: readonly Message[]): readonly boolean[] {
  const answered = new Set<string>()
  for (const { content } of messages)
    for (const part of content) if (part.type === 'tool-result') answered.add(part.callId)
  const open = new Set<string>()
  return messages.map(({ role, content }) => {
    // Adjacent results of one step may stand in messages of their own.
    const whole = open.size === 0 && role !== 'tool'
    for (const part of content) {
      // A provider may never tell what came of its call, and nobody waits for that.
      if (part.type === 'tool-call' && (!part.providerExecuted || answered.has(part.callId))) open.add(part.callId)
      else if (part.type === 'tool-result') open.delete(part.callId)
    }
    return whole
  })
}
