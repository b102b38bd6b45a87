import { advance, createAgent, startLoop } from '@provost/agent'
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

test('an object that inherits from a model request has its messages', async () => {
  const agent = createAgent({ name: 'talker', model: scriptedModel([{ text: 'Hi.' }]) })
  let request: unknown
  const loop = await startLoop(
    agent,
    {
      callModel(step) {
        request = Object.create(step.request)
        throw new Error('enough')
      },
      authorize: () => [],
      execute: () => [],
      awaitDecisions: () => 'suspend',
      append() {},
    },
    'Go.',
  )
  await expect(advance(loop)).rejects.toThrow('enough')
  expect(request).toHaveProperty('messages.0.role', 'user')
})
