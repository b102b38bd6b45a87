// Structured output: the answer is data of a schema, validated and typed. One that does not fit is sent back once.
import { createAgent, textOf, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { text: '{ "city": "Ulm", "people": "many" }' },
    { text: ['{ "city": "Ulm", ', '"people": 129942 }'] },
    { text: '{ "city": "Oslo" }' },
  ])

const geographer = createAgent({
  name: 'geographer',
  instructions: 'Answer questions about cities.',
  model,
  output: z.object({ city: z.string(), people: z.int().positive().optional() }),
})

const stream = geographer.stream('In which city is the tallest church, and how many people live there?')
for await (const event of stream) {
  if (event.type === 'message.end') console.log(`${event.message.role}: ${textOf(event.message)}`)
}
// → user: In which city is the tallest church, and how many people live there?
// → assistant: { "city": "Ulm", "people": "many" }
// → user: The answer does not fit the required output: people: Invalid input: expected number, received string. Answer again with JSON that does, and nothing else. Its JSON schema: {"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer","exclusiveMinimum":0,"maximum":9007199254740991}},"required":["city"]}
// → assistant: { "city": "Ulm", "people": 129942 }

const result = await stream.result
if (result.status === 'completed') console.log(result.output.city.toUpperCase(), result.output.people)
else if (result.status === 'failed') console.error(result.error.code, result.error.hint)
// → ULM 129942

// The output alone; this promise rejects where the run does not complete.
const { city } = await geographer.stream('Which city lies on a fjord?').output
console.log(city) // → Oslo
