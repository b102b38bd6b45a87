import { createAgent, RunState } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

const tree = Object.fromEntries(
  Array.from({ length: 64 }, (_, i) => [
    `n${i}`,
    { allOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
  ]),
)

test.for([
  ['a pattern that backtracks', { pattern: '^(a+)+$' }],
  ['a tree of 2^64 references', { $ref: '#/$defs/n0', $defs: tree }],
  ['a reference to itself', { $ref: '#' }],
  ['an enum of a megabyte', { enum: Array.from({ length: 100_000 }, (_, i) => `value${i}`) }],
] as const)('a run state whose question has %s goes on: a schema is shown and never run', async ([, schema]) => {
  const ask = tool({
    name: 'ask',
    composite: true,
    input: z.object({}),
    execute: (_, ctx) => ctx.wait('size', { message: 'What size?', schema: { title: 'HERE' } }),
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'ask', input: {} }] }, { text: 'done' }])
  const agent = createAgent({ name: 'shop', model, tools: [ask], store: memoryStore() })
  const { state, status } = await agent.run('go')
  expect(status).toBe('suspended')
  const text = JSON.stringify(state)
  const forged = text.replaceAll('{"title":"HERE"}', () => JSON.stringify(schema))
  expect(forged).not.toBe(text)

  const elsewhere = createAgent({ name: 'shop', model, tools: [ask], store: memoryStore() })
  const read = RunState.fromJSON(forged, elsewhere)
  const again = await elsewhere.run(read)
  const [input] = again.pending.inputs
  expect(input?.schema).toEqual(schema)
  const inputs = [{ id: input?.id ?? '', value: `${'a'.repeat(1_000)}!` }]
  expect(await elsewhere.run(RunState.fromJSON(JSON.stringify(again.state), elsewhere), { inputs })).toMatchObject({
    status: 'completed',
    text: 'done',
  })
})
