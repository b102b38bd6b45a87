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

/** Returns the answer as a call that rules can judge, or undefined if it has no text. */
export function answerCall(message: Message, ctx: HookContext): ToolCall | undefined {
  const text = textOf(message)
  if (message.role !== 'assistant' || text === '') return undefined
  const reader = ctx.principal?.id ?? ''
  const links = [...new Set(urlsIn(text))].slice(0, 1000)
  return { callId: message.id, tool: answer, input: { text, links, reader }, label: labelOf(message) }
}
