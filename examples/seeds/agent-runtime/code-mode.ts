// Code mode: the model sees two tools and writes scripts that call the others. Only what a script returns is read.
// Changed: a call that needs approval may be in the middle of a script; the script resumes behind it.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { codeMode } from 'provost/code-mode'
import { scriptedModel } from 'provost/testing'

const readings = tool({
  name: 'read_gauges',
  description: 'The gauges of a year.',
  effect: 'read',
  input: z.object({ year: z.number() }),
  execute: ({ year }) => Array.from({ length: 300 }, (_, at) => ({ id: at, litres: year - 2000 + (at % 7) })),
})
const drained: number[] = []
const drain = tool({
  name: 'drain',
  input: z.object({ litres: z.number() }),
  needsApproval: true,
  execute: ({ litres }) => (drained.push(litres), 'drained'),
})
const script = (source: string) => ({ toolCalls: [{ name: 'code_execute', input: { source } }] })
const model = scriptedModel([
  ({ tools }) => {
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['code_execute', 'code_search'])
    return { toolCalls: [{ name: 'code_search', input: { query: 'gauges of a year' } }] }
  },
  ({ messages }) => {
    assert.match(JSON.stringify(messages.at(-1)), /read_gauges\(.*year/)
    return script(`const all = await tools.read_gauges({ year: 2026 })
      const litres = all.reduce((sum, gauge) => sum + gauge.litres, 0)
      await tools.drain({ litres })
      return { gauges: all.length, litres }`)
  },
  script('return typeof process + typeof require + typeof fetch'),
  { text: 'Drained.' },
])
const agent = createAgent({ name: 'warden', model, tools: [readings, drain], extensions: [codeMode()] })

const waiting = await agent.run('Drain what the gauges of 2026 come to.')
const [approval] = waiting.pending.approvals
assert.deepEqual([waiting.status, approval?.toolName, drained.length], ['suspended', 'drain', 0])

const done = await agent.run(waiting.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
assert.deepEqual(drained, [8697])
const parts = done.messages.flatMap(({ content }) => content)
const [, found, isolated] = parts.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
assert.deepEqual(found, { type: 'json', value: { result: { gauges: 300, litres: 8697 } } })
assert.match(JSON.stringify(isolated), /undefinedundefinedundefined/)
assert.ok(JSON.stringify(parts).length < 4000)
console.log(JSON.stringify(found.value)) // → {"result":{"gauges":300,"litres":8697}}
