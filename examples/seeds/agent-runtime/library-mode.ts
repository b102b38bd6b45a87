// Everything a script needs comes from one package: agents, states of runs, filters, teams and artifacts. No server runs.
import assert from 'node:assert/strict'

import { applyFilter, createAgent, evaluatorOptimizer, filters, RunState, runFanOut, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const says = (...texts: string[]) => scriptedModel(texts.map((text) => ({ text })))
const sign = tool({ name: 'sign', needsApproval: true, input: z.object({}), execute: () => 'signed' })
const model = scriptedModel([{ toolCalls: [{ name: 'sign' }] }, { text: 'Signed.' }])
const notary = createAgent({ name: 'notary', model, tools: [sign] })

const waiting = await notary.run('Sign the deed.')
const state = RunState.fromJSON(JSON.stringify(waiting.state), notary)
const approvals = waiting.pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
const signed = await notary.run(state, { approvals })
assert.equal(signed.text, 'Signed.')

assert.equal(applyFilter(filters.lastN(1), signed.messages).length, 1)

const children = ['Yes.', 'No.'].map((text, at) => ({
  agent: createAgent({ name: `voter-${at}`, model: says(text) }),
  input: 'Shall we?',
}))
const vote = await runFanOut({ children, mergeStrategy: { kind: 'concat', separator: ' ' } })
assert.equal(vote.output, 'Yes. No.')

const generator = createAgent({ name: 'poet', model: says('A line.', 'Two lines,\nthen.') })
const poem = await evaluatorOptimizer({
  generator,
  input: 'Two lines, please.',
  evaluator: {
    kind: 'free-form',
    evaluate: (text) => ({ accepted: text.includes('\n'), feedback: 'One is missing.' }),
  },
})
assert.equal(poem.iterations.length, 2)

await notary.progress.write('half done', { role: 'log', seq: 1 })
const [artifact] = await notary.progress.read({ role: 'log' })
assert.equal(new TextDecoder().decode(artifact?.content), 'half done')
console.log(signed.text, vote.output, `accepted: ${poem.accepted}`) // → Signed. Yes. No. accepted: true
