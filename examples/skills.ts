// Skills from a folder: the model sees their names and occasions, and loads the one it needs.
import { fileURLToPath } from 'node:url'

import { createAgent } from 'provost'
import { loadSkills } from 'provost/skills'
import { scriptedModel } from 'provost/testing'

// Each folder in it has a SKILL.md: a name, an occasion, and the text that is loaded when the occasion arises.
const skills = await loadSkills(fileURLToPath(new URL('skills', import.meta.url)))
for (const { name, files = [] } of skills) console.log(name, files)
// → refunds [ 'limits.csv' ]
// → tone []

const house = { name: 'house', when: 'Opening hours are asked for.', content: 'We open at nine.' }

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    ({ messages: [system] }) => {
      say(system?.content)
      return { toolCalls: [{ name: 'load_skill', input: { name: 'refunds' } }] }
    },
    { toolCalls: [{ name: 'load_skill', input: { name: 'refunds', path: 'limits.csv' } }] },
    { text: 'Which order is it, and what is wrong with it?' },
  ])

const agent = createAgent({
  name: 'desk',
  instructions: 'Help with orders.',
  model,
  skills: [...skills, house],
})

const stream = agent.stream('I want my money back.')
for await (const event of stream)
  if (event.type === 'tool.execute.end' && 'value' in event.output) say(event.output.value)
console.log((await stream.result).text)

/** Prints a text without its empty lines. */
function say(text: unknown): void {
  if (typeof text === 'string') console.log(text.split('\n').filter(Boolean).join('\n'))
}
// → Help with orders.
// → Skills you can load with the load_skill tool when their occasion arises:
// → - refunds: A customer wants money back, in whole or in part.
// → - tone: A reply to a customer is written, not a note for a colleague.
// → - house: Opening hours are asked for.
// → 1. Ask for the number of the order, and why.
// → 2. Look up the limit for the reason in limits.csv.
// → 3. Up to the limit, refund at once. Beyond it, hand over to a human.
// → Files of this skill, each to be loaded with its path:
// → - limits.csv
// → reason,euros
// → late,20
// → broken,80
// → Which order is it, and what is wrong with it?
