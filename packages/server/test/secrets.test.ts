import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, serverOf } from './served.ts'

const planted = 'sk-planted-0123456789abcdef'

test('a planted secret leaves by no route: not in live events, not in those read again, not in chat, session or export', async () => {
  process.env['SERVER_TEST_SECRET'] = planted
  const leak = tool({
    name: 'leak',
    effect: 'read',
    input: z.object({ note: z.string() }),
    secrets: ['KEY'],
    async execute({ note }, ctx) {
      ctx.progress({ seen: `key ${planted}` })
      return { note, header: `Bearer ${ctx.secrets['KEY']}`, got: planted === ctx.secrets['KEY'] }
    },
  })
  const steps = [
    { text: `I have ${planted} here`, toolCalls: [{ name: 'leak', input: { note: `use ${planted}` } }] },
    { text: ['it is sk-planted-', '0123456789abcdef', ', you know'] },
  ]
  const store = memoryStore()
  const agentOf = (): ReturnType<typeof createAgent> =>
    createAgent({
      name: 'desk',
      model: scriptedModel([...steps, ...steps]),
      tools: [leak],
      secrets: { KEY: secretRef('env:SERVER_TEST_SECRET') },
      store,
    })
  const server = serverOf([], { agents: [agentOf()], store })
  const { id, frames } = await executed(server, { input: `my key is ${planted}` })
  const live = JSON.stringify(frames)
  expect(live).toContain('\\"got\\":true'.replaceAll('\\', ''))
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: `again ${planted}` }] }
  const told = [
    live,
    await (await ask(server, `/api/agent/session/${id}/events`)).text(),
    await (await ask(serverOf([], { agents: [agentOf()], store }), `/api/agent/session/${id}/events`)).text(),
    await (await ask(server, `/api/agent/session/${id}`)).text(),
    await (await ask(server, `/api/agent/session/${id}/export`)).text(),
    await (await ask(server, '/api/chat', { body: { id: 'c', messages: [message] } })).text(),
  ]
  expect(told.map((text) => [text.length > 100, text.includes(planted), text.includes('0123456789abcdef')])).toEqual(
    told.map(() => [true, false, false]),
  )
})
