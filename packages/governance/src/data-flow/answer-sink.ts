import type { HookContext, Message, ToolCall, ToolInfo } from '@provost/core'
import { labelOf, textOf } from '@provost/core'

import { urlsIn } from '../wording/address.ts'

/** The assistant's answer, as a tool. Its text reaches the reader; a link reaches the owner of the linked host. */
const answer: ToolInfo = {
  name: 'answer',
  effect: 'egress',
  roles: { '/text': 'content', '/links': 'destination', '/reader': 'destination' },
  inputSchema: { type: 'object' },
  idempotent: true,
  remote: false,
  composite: false,
  deferred: false,
}

/** Links of an answer that are judged. */
export const mostLinks = 1000

/**
 * Returns the answer as a call that rules can judge, or undefined if it has no text.
 *
 * @param addresses where its links lead. Default: the addresses in its text.
 */
export function answerCall(message: Message, ctx: HookContext, addresses?: readonly string[]): ToolCall | undefined {
  const text = textOf(message)
  if (message.role !== 'assistant' || text === '') return undefined
  const reader = ctx.principal?.id ?? ''
  const links = addresses ?? [...new Set(urlsIn(text))].slice(0, mostLinks)
  return { callId: message.id, tool: answer, input: { text, links, reader }, label: labelOf(message) }
}
