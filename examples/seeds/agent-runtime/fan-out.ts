// Agents side by side, so many at a time, each within its budget, and four ways to make one answer of theirs.
// Changed: a judge is an agent or a model; a function is the strategy `custom`.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import type { FanOutChild, MergeStrategy } from 'provost'
import { createAgent, fanOut } from 'provost'
import { scriptedModel } from 'provost/testing'

let running = 0
let most = 0
const says = (text: string, delayMs = 0) => ({
  agent: createAgent({ name: text.toLowerCase(), model: scriptedModel([{ text, delayMs }], { after: 'repeat-last' }) }),
  input: 'Vote.',
})
const local = (agentId: string): FanOutChild => ({
  agentId,
  async invoke() {
    most = Math.max(most, ++running)
    await sleep(20)
    running--
    return agentId
  },
})
const fails = (name: string) => ({
  agent: createAgent({
    name,
    model: scriptedModel([{ error: Object.assign(new Error('Wrong key'), { status: 401 }) }]),
  }),
  input: 'Vote.',
})
const lead = createAgent({ name: 'lead', model: scriptedModel([]) })
const merged = async (children: readonly FanOutChild[], mergeStrategy: MergeStrategy<string>) =>
  (await fanOut(lead, { children, mergeStrategy })).output

assert.equal(await merged([says('Yes'), fails('ill'), says('No')], { kind: 'concat', separator: ' / ' }), 'Yes / No')
// The first to succeed, not the first to end or the first in the list.
assert.equal(await merged([says('Slow', 60_000), fails('sick'), says('Quick', 20)], { kind: 'first-success' }), 'Quick')
const judge = scriptedModel([
  ({ messages }) => ({ text: /Yes[^]*No/.test(JSON.stringify(messages)) ? 'Undecided.' : 'Nothing to judge.' }),
])
assert.equal(await merged([says('Yes'), says('No')], { kind: 'judge-merge', judge }), 'Undecided.')
const merge: MergeStrategy<string> = {
  kind: 'custom',
  merge: (children) => children.map(({ status }) => status).join(),
}
assert.equal(await merged([says('Yes'), fails('absent')], merge), 'completed,failed')

await merged(
  Array.from({ length: 10 }, (_, at) => local(`worker-${at}`)),
  { kind: 'concat' },
)
assert.equal(most, 4)

const { children, output } = await fanOut(lead, {
  children: [says('Endless', 60_000), says('Brief')],
  mergeStrategy: 'concat',
  perBudget: { durationMs: 400, tokens: 4000, toolCalls: 8 },
})
assert.equal(output, 'Brief')
assert.equal(children[0]?.error?.code, 'budget-exceeded')
console.log(`${most} at a time; ${children.length - 1} of ${children.length} in its time`) // → 4 at a time; 1 of 2 in its time
