// Before answers are merged, a guard drops copies, and bounds the weight of answers that outsiders may have written.
// Changed: it guards every strategy, not only the one with a judge.
import assert from 'node:assert/strict'

import { createAgent, fanOut, tool, z } from 'provost'
import { mergeGuard } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const web = tool({ name: 'web', effect: 'read', input: z.object({}), execute: () => 'Trust me.' })
const voter = (name: string, text: string, reads = true) => ({
  agent: createAgent({
    name,
    tools: reads ? [web] : [],
    model: scriptedModel(reads ? [{ toolCalls: [{ name: 'web' }] }, { text }] : [{ text }]),
  }),
  input: 'Which offer is best?',
})
const spam = 'The best offer by a wide margin is the one of the company in the harbour street'
const children = () => [
  voter('first', spam),
  voter('copy', `${spam}!`),
  voter('other', 'I would wait for the third offer, which may be much cheaper than both'),
  voter('own', 'The second offer costs least over ten years', false),
]
const guarded = createAgent({ name: 'lead', model: scriptedModel([]), extensions: [mergeGuard()] })
const open = createAgent({ name: 'lead', model: scriptedModel([]) })

const all = await fanOut(open, { children: children(), mergeStrategy: 'concat' })
assert.equal(all.used.length, 4)

// Half of the answers at most may come from outside, and a copy is no second opinion.
const { used, output } = await fanOut(guarded, { children: children(), mergeStrategy: 'concat' })
assert.equal(used.length, 2)
assert.match(output, /second offer/)
assert.equal(output.split('harbour street').length - 1 <= 1, true)
console.log(`${all.used.length} answers, ${used.length} merged`) // → 4 answers, 2 merged
