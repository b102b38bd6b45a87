// A session with a shell on this machine, and a listener that keeps it from deleting things.
// Changed: a call that did not run is an event of its own, so a listener needs no `isError`.
import assert from 'node:assert/strict'

import { createAgent, isCallTo } from 'provost'
import { bashTool, nodeRuntime } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const shell = (command: string) => ({ name: 'bash', input: { command } })
const model = scriptedModel([
  { toolCalls: [shell('getconf _NPROCESSORS_ONLN'), shell('rm -rf build')] },
  { text: ['There are ', 'a few.'] },
  { toolCalls: [shell('uname -s')] },
  { text: 'A Unix.' },
])
const agent = createAgent({ name: 'admin', model, runtime: nodeRuntime(), tools: [bashTool] })

const session = await agent.createSession()
const deltas: string[] = []
const outputs: string[] = []
const errors: string[] = []
session
  .on('text.delta', ({ delta }) => deltas.push(delta))
  .on('tool.call', (call) =>
    isCallTo(call, bashTool) && /\brm -rf\b/.test(call.input.command)
      ? { deny: 'Nothing is deleted here.' }
      : undefined,
  )
  .on('tool.execute.end', ({ output }) => outputs.push(JSON.stringify(output)))
  .on('tool.execute.error', ({ error }) => errors.push(error.message))

session.send('How many processors has this machine?')
await session.waitForIdle()
session.send('And which system?')
const last = await session.waitForIdle()

assert.deepEqual(deltas, ['There are ', 'a few.', 'A Unix.'])
assert.match(outputs[0] ?? '', /\d/)
assert.equal(outputs.length, 2)
assert.deepEqual(errors, ['Nothing is deleted here.'])
assert.equal(last?.text, 'A Unix.')
console.log(`${outputs.length} commands ran, ${errors.length} was denied`) // → 2 commands ran, 1 was denied
