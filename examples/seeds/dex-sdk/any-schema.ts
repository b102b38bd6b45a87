// A tool takes any schema that speaks Standard Schema. The model gets JSON Schema, and its input is validated.
import assert from 'node:assert/strict'

import type { StandardJSONSchemaV1, StandardSchemaV1 } from 'provost'
import { createAgent, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

// Made by hand, to show the protocol. Those of zod, valibot and arktype work the same way.
type Dice = { sides: number }
const told = { type: 'object', properties: { sides: { type: 'number' } }, required: ['sides'] }
const dice: StandardSchemaV1<Dice> & StandardJSONSchemaV1<Dice> = {
  '~standard': {
    version: 1,
    vendor: 'by-hand',
    validate(value) {
      const sides: unknown = Reflect.get(Object(value), 'sides')
      return typeof sides === 'number' ? { value: { sides } } : { issues: [{ message: 'sides is a number' }] }
    },
    jsonSchema: { input: () => told, output: () => told },
  },
}
const byHand = tool({ name: 'by_hand', effect: 'none', input: dice, execute: ({ sides }) => sides })
const byZod = tool({
  name: 'by_zod',
  effect: 'none',
  input: z.object({ sides: z.number() }),
  execute: (in_) => in_.sides,
})

const both = (sides: unknown) => ({ toolCalls: [byHand, byZod].map(({ name }) => ({ name, input: { sides } })) })
const model = scriptedModel([
  ({ tools }) => {
    for (const one of tools) {
      const { type, required } = Object('inputSchema' in one && one.inputSchema) as Record<string, unknown>
      assert.deepEqual({ type, required }, { type: 'object', required: ['sides'] })
    }
    return both('six')
  },
  both(6),
  { text: 'Rolled.' },
])
const agent = createAgent({ name: 'dealer', model, tools: [byHand, byZod] })

const outcomes: string[] = []
for await (const event of agent.stream('Roll the dice.')) {
  if (event.type === 'tool.execute.error') outcomes.push(event.error.code)
  if (event.type === 'tool.execute.end') outcomes.push(JSON.stringify(event.output))
}
const [rejected, accepted] = ['invalid-tool-input', '{"type":"json","value":6}']
assert.deepEqual(outcomes, [rejected, rejected, accepted, accepted])
console.log(`${outcomes.length / 2} rejected, ${outcomes.length / 2} accepted`) // → 2 rejected, 2 accepted
