// Skills of the agent and of extensions. A condition decides whether a run has one; the model reads a line about each, and
// loads the text that it needs.
// Changed: the text is not in the system prompt but loaded by a call, so that the prompt stays short and cached.
import assert from 'node:assert/strict'

import { createAgent, defineExtension } from 'provost'
import { scriptedModel } from 'provost/testing'

const reef = { name: 'reef', when: 'Reefing is asked for.', content: () => 'Lower the mainsail first.' }
const storm = {
  name: 'storm',
  description: 'A storm is near.',
  when: ({ run }: { run: { principal?: { id: string } } }) => run.principal?.id === 'captain',
  content: 'Sail away from land.',
}
const knots = { name: 'knots', when: 'A knot is asked for.', content: 'Over, under, through.' }
const systems: string[] = []
let loads = ''
const model = scriptedModel(
  [
    ({ messages: [first] }) => {
      systems.push(first?.role === 'system' ? first.content : '')
      const name = loads
      loads = ''
      return name === '' ? { text: 'Aye.' } : { toolCalls: [{ name: 'load_skill', input: { name } }] }
    },
  ],
  { after: 'repeat-last' },
)
const agent = createAgent({
  name: 'mate',
  instructions: 'You sail.',
  model,
  skills: [reef, storm],
  extensions: [defineExtension({ name: 'ropes', skills: [knots] })],
})

async function load(name: string, principal: string) {
  loads = name
  const { messages } = await agent.run('What now?', { principal: { id: principal } })
  const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool-result'))
  return { listed: systems.at(-1) ?? '', loaded: JSON.stringify(results) }
}
const deckhand = await load('reef', 'deckhand')
assert.match(deckhand.listed, /You sail\.[^]*- reef: Reefing is asked for\.[^]*- knots: A knot is asked for\./)
assert.doesNotMatch(deckhand.listed, /storm|mainsail/)
assert.match(deckhand.loaded, /Lower the mainsail first/)
// A skill that the run does not have cannot be loaded either.
assert.doesNotMatch((await load('storm', 'deckhand')).loaded, /away from land/)

const captain = await load('storm', 'captain')
assert.match(captain.listed, /- storm: A storm is near\./)
assert.match(captain.loaded, /Sail away from land/)
console.log('reef and knots for all, storm for the captain') // → reef and knots for all, storm for the captain
