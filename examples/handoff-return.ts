// The desk lets a lawyer work on the conversation: what the lawyer answers comes back as the result of the call, under
// the label of all that the lawyer has seen, and the desk goes on with the user.
import { createAgent, filters, handoff, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const statute = tool({
  name: 'statute',
  effect: 'read',
  input: z.object({ paragraph: z.number() }),
  execute: ({ paragraph }) => `Paragraph ${paragraph}: goods may be returned within 14 days.`,
})

const lawyer = createAgent({
  name: 'lawyer',
  instructions: 'You answer from the statutes.',
  model: scriptedModel([
    { toolCalls: [{ name: 'statute', input: { paragraph: 7 } }] },
    { text: 'Within 14 days, by paragraph 7.' },
  ]),
  tools: [statute],
})

const desk = createAgent({
  name: 'desk',
  model: scriptedModel([
    { toolCalls: [{ name: 'transfer_to_lawyer', input: { message: 'Which paragraph applies?' } }] },
    { text: 'You have 14 days to send it back.' },
  ]),
  handoffs: [handoff(lawyer, { mode: 'return', filter: filters.lastUser() })],
})

const stream = desk.stream('How long may I keep the shoes and still return them?')
for await (const event of stream) {
  if (event.type === 'handoff.end') console.log(`${event.from} → ${event.to}: ${event.status}`)
  if (event.type === 'text.end') console.log(`${event.agent}: ${event.text}`)
}
// → lawyer: Within 14 days, by paragraph 7.
// → desk → lawyer: returned
// → desk: You have 14 days to send it back.
