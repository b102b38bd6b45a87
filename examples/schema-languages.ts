// Tools in several schema languages: zod, plain JSON Schema, and whatever speaks Standard Schema, such as ArkType, Valibot,
// or the one made by hand below. Types follow from each.
import { createAgent, tool, z } from 'provost'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from 'provost'
import { scriptedModel } from 'provost/testing'

const byZod = tool({
  name: 'shout',
  effect: 'none',
  input: z.object({ text: z.string(), marks: z.int().default(1) }),
  execute: ({ text, marks }) => text.toUpperCase() + '!'.repeat(marks),
})

const byJsonSchema = tool({
  name: 'pick',
  effect: 'none',
  input: {
    type: 'object',
    properties: { from: { type: 'array', items: { type: 'string' } }, which: { enum: ['first', 'last'] } },
    required: ['from', 'which'],
  },
  execute: ({ from, which }) => (which === 'first' ? from[0] : from.at(-1)) ?? 'nothing',
})

type Point = { x: number; y: number }
const json = { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x', 'y'] }
// What the model is told (`jsonSchema`), and what its calls are held to (`validate`).
const point: StandardSchemaV1<Point> & StandardJSONSchemaV1<Point> = {
  '~standard': {
    version: 1,
    vendor: 'by-hand',
    validate: (value) => (isPoint(value) ? { value } : { issues: [{ message: 'x and y must be numbers' }] }),
    jsonSchema: { input: () => json, output: () => json },
  },
}
function isPoint(value: unknown): value is Point {
  const { x, y } = Object(value)
  return typeof x === 'number' && typeof y === 'number'
}
const byHand = tool({ name: 'length', effect: 'none', input: point, execute: ({ x, y }) => Math.hypot(x, y) })

const toolCalls = [
  { name: 'shout', input: { text: 'hello' } },
  { name: 'pick', input: { from: ['a', 'b'], which: 'last' } },
  { name: 'length', input: { x: 3, y: 4 } },
]
const model = process.env.PROVOST_MODEL ?? scriptedModel([{ toolCalls }, { text: 'Done.' }])
const agent = createAgent({ name: 'polyglot', model, tools: [byZod, byJsonSchema, byHand] })

for await (const event of agent.stream('Shout hello, pick the last of a and b, and tell the length of (3, 4).')) {
  if (event.type === 'tool.execute.end') console.log(event.toolName, JSON.stringify(event.output))
}
// → shout {"type":"text","value":"HELLO!"}
// → pick {"type":"text","value":"b"}
// → length {"type":"json","value":5}
