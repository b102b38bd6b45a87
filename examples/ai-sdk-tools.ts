// Tools of the AI SDK as they are, beside one of ours: results so far, what the model sees of a result, approval.
import { jsonSchema, tool as aiTool } from 'ai'
import { createAgent, fromAiTool, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const forecast = aiTool({
  description: 'Forecasts the weather.',
  inputSchema: z.object({ city: z.string() }),
  async *execute({ city }) {
    yield { city, state: 'asking' }
    yield { city, state: 'rain', hourly: [3, 4, 4, 2] }
  },
  toModelOutput: ({ output }) => ({ type: 'text', value: `${output.state} in ${output.city}` }),
})
const book = aiTool({
  description: 'Books a table.',
  inputSchema: jsonSchema<{ seats: number }>({
    type: 'object',
    properties: { seats: { type: 'integer', minimum: 1 } },
    required: ['seats'],
  }),
  needsApproval: ({ seats }) => seats > 4,
  execute: ({ seats }) => `a table for ${seats}`,
})
const today = tool({ name: 'today', effect: 'read', input: z.object({}), execute: () => 'Monday' })

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'today' }, { name: 'forecast', input: { city: 'Oslo' } }] },
    { toolCalls: [{ name: 'book', input: { seats: 'six' } }] },
    { toolCalls: [{ name: 'book', input: { seats: 6 } }] },
    { text: 'A table for six, inside.' },
  ])

// The AI SDK cannot say what a tool does to the world; `fromAiTool` can. Without it, a tool may do anything.
const host = createAgent({
  name: 'host',
  model,
  tools: [today, { book }, fromAiTool('forecast', forecast, { effect: 'read', args: { city: 'selector' } })],
})
console.log(host.registry.tools.map(({ name, effect }) => `${name}: ${effect}`).join(', '))
// → today: read, book: egress, forecast: read

const onApproval = ({ input }: { input: unknown }) => {
  console.log('asked about', JSON.stringify(input))
  return 'approve' as const
}
for await (const event of host.stream('A table for six tonight, where it is dry', { onApproval })) {
  if (event.type === 'tool.execute.partial' && 'value' in event) console.log('so far', JSON.stringify(event.value))
  // → so far {"city":"Oslo","state":"asking"}
  // → so far {"city":"Oslo","state":"rain","hourly":[3,4,4,2]}
  if (event.type === 'tool.execute.error') console.log(event.error.code)
  // → invalid-tool-input
  // → asked about {"seats":6}
  if (event.type === 'text.end') console.log(event.text) // → A table for six, inside.
}
