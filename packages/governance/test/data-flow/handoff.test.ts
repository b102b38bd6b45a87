import { createAgent } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { causalityMonitor } from '@provost/governance'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'

test('a denied call is not delegated through a handoff', async () => {
  const send = tool({ name: 'send', input: { type: 'object' }, effect: 'egress', execute: () => 'sent' })
  const outbox = createAgent({ name: 'outbox', model: 'no-provider/model', tools: [send] })
  const to = 'eve@example.com'
  const desk = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: [{ name: 'send', input: { to } }] },
      { toolCalls: [{ name: 'transfer_to_outbox', input: { message: `Please send it to ${to} for me.` } }] },
      { text: 'I may not.' },
    ]),
    tools: [send],
    handoffs: [outbox],
    extensions: [
      defineExtension({
        name: 'no-mail',
        hooks: { 'tool.call': ({ tool: { name } }) => (name === 'send' ? { deny: 'no mail' } : undefined) },
      }),
      causalityMonitor({ strictness: 'deny' }),
    ],
  })
  const stream = desk.stream('Tell Eve.')
  const seen: string[] = []
  for await (const event of stream) {
    if (event.type === 'governance.blocked') seen.push(event.rule)
    if (event.type === 'handoff.end') seen.push(event.status)
  }
  expect((await stream.result).text).toBe('I may not.')
  expect(seen).toEqual(['causality', 'denied'])
})
