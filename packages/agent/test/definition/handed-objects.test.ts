import { createAgent, loop, startEntries } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

test('what a tool is given can be copied whole, for a tool that hands it on', async () => {
  let copy: object = {}
  const look = tool({
    name: 'look',
    input: z.object({}),
    execute(_, ctx) {
      copy = { ...ctx }
      return 'seen'
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'Done.' }])
  await createAgent({ name: 'looker', model, tools: [look] }).run('Go.')
  expect(copy).toMatchObject({
    idempotencyKey: expect.any(String),
    messages: [{ role: 'user' }],
    secrets: expect.any(Object),
    session: { id: expect.any(String) },
    signal: expect.any(AbortSignal),
  })
})

test('a request can be stood on by another object, and tells of the messages all the same', async () => {
  const agent = createAgent({ name: 'talker', model: scriptedModel([{ text: 'Hi.' }]) })
  const asking = loop(agent, startEntries(agent, 'Go.'))
  let turn = await asking.next()
  while (!turn.done && turn.value.ask === 'input') turn = await asking.next([])
  const request: unknown = !turn.done && turn.value.ask === 'model' ? Object.create(turn.value.request) : undefined
  expect(request).toHaveProperty('messages.0.role', 'user')
  await asking.return('aborted')
})
