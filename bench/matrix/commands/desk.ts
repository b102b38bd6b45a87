// An agent for the command line, as an application has it. Its answers follow from what was asked.
import { appendFileSync, existsSync } from 'node:fs'

import { createAgent, tool, z } from 'provost'
import { auditLog } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  effect: 'write',
  needsApproval: true,
  input: z.object({ order: z.string() }),
  execute: ({ order }) => `refunded ${order}`,
})

/** Its process dies in its first call. */
const send = tool({
  name: 'send',
  description: 'Sends a letter.',
  effect: 'write',
  input: z.object({ file: z.string() }),
  execute: ({ file }) => {
    if (existsSync(file)) return 'sent again'
    appendFileSync(file, 'sent')
    process.kill(process.pid, 'SIGKILL')
    return new Promise<string>(() => {})
  },
})

const model = scriptedModel(
  [
    ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')
      const words = JSON.stringify(asked?.content ?? '')
      const [, file = 'letter'] = /letter (\S+)\./.exec(words) ?? []
      if (messages.at(-1)?.role === 'tool') return { text: 'It is settled.' }
      if (words.includes('refund')) return { toolCalls: [{ name: 'refund', input: { order: '17' } }] }
      if (words.includes('send')) return { toolCalls: [{ name: 'send', input: { file } }] }
      return { text: 'Hello.' }
    },
  ],
  { after: 'repeat-last' },
)

export const desk = createAgent({
  name: 'desk',
  model,
  tools: [refund, send],
  extensions: [auditLog()],
  leaseMs: 1_000,
})
