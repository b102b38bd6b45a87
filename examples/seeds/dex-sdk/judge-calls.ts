// An extension judges calls: it refuses one, changes one and lets one pass. The model reads a refusal and adapts.
// Changed: a refusal is `{ deny }` instead of a made-up result, so that log and events can tell it from a failure.
import assert from 'node:assert/strict'

import { createAgent, defineExtension, isCallTo, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const written: string[] = []
const write = tool({
  name: 'write',
  effect: 'write',
  executionMode: 'sequential',
  input: z.object({ path: z.string(), text: z.string() }),
  execute: ({ path, text }) => void written.push(`${path}: ${text}`),
})
const reviewer = defineExtension({
  name: 'reviewer',
  hooks: {
    'tool.call'(call) {
      if (!isCallTo(call, write)) return undefined
      const { path, text } = call.input
      if (path.startsWith('/etc/')) return { deny: 'Write below /home.' }
      if (!text.endsWith('\n')) return { args: { path, text: `${text}\n` } }
      return undefined
    },
  },
})
const call = (path: string, text: string) => ({ toolCalls: [{ name: 'write', input: { path, text } }] })
const model = scriptedModel([
  call('/etc/motd', 'Welcome\n'),
  ({ messages }) => {
    assert.match(JSON.stringify(messages.at(-1)), /Write below \/home/)
    return call('/home/motd', 'Welcome')
  },
  call('/home/notes', 'Nothing\n'),
  { text: 'Written.' },
])
const agent = createAgent({ name: 'writer', model, tools: [write], extensions: [reviewer] })

const codes: string[] = []
const stream = agent.stream('Greet the users.')
for await (const event of stream) if (event.type === 'tool.execute.error') codes.push(event.error.code)

assert.deepEqual(codes, ['tool-denied'])
assert.deepEqual(written, ['/home/motd: Welcome\n', '/home/notes: Nothing\n'])
assert.equal((await stream.result).status, 'completed')
console.log(`${codes.length} refused, ${written.length} written`) // → 1 refused, 2 written
