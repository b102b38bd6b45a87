// The phases of a run with one tool call, as an extension sees them, beside the parts of the stream.
// Changed: one `event` hook observes; the other hooks are those that can answer. A session starts at its first model call,
// because another agent of the session may have a start of its own.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const seen: string[] = []
const note = (name: string) => () => void seen.push(name)
const shown = ['message.end', 'text.delta', 'reasoning.delta', 'tool.call.delta', 'tool.execute.start', 'step.end']
const observer = defineExtension({
  name: 'observer',
  init: note('init'),
  hooks: {
    'session.start': note('session.start'),
    input: note('input'),
    'model.request': note('model.request'),
    'model.response': note('model.response'),
    'tool.call': note('tool.call'),
    'tool.result': note('tool.result'),
    'run.end': note('run.end'),
    'session.stop': note('session.stop'),
    event: ({ type }) => void (shown.includes(type) && seen.push(`· ${type}`)),
  },
})
const double = tool({
  name: 'double',
  effect: 'none',
  input: z.object({ of: z.number() }),
  execute: ({ of }) => of * 2,
})
const model = scriptedModel([
  { reasoning: 'Doubling.', toolCalls: [{ name: 'double', input: { of: 4 } }] },
  { text: 'Eight.' },
])
const session = await createAgent({ name: 'sums', model, tools: [double], extensions: [observer] }).createSession({})
await session.stream('Twice four?').result
await session.close()

assert.deepEqual(seen, [
  ...['init', 'input', '· message.end', 'session.start'],
  ...['model.request', '· reasoning.delta', '· tool.call.delta', 'model.response', '· message.end'],
  ...['tool.call', '· tool.execute.start', 'tool.result', '· message.end', '· step.end'],
  ...['model.request', '· text.delta', 'model.response', '· message.end', '· step.end'],
  ...['run.end', 'session.stop'],
])
console.log(`${seen.filter((name) => !name.startsWith('·')).length} hooks in order`) // → 11 hooks in order
