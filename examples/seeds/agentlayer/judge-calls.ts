// Listeners that judge each call: they deny it, change its arguments, or leave it as it is.
// Changed: a second listener sees the arguments that the first one returned, and may change them as well; in the design it is
// not asked. A limit and a redaction can thus be two listeners.
import assert from 'node:assert/strict'

import { createAgent, isCallTo, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const ran: string[] = []
const shell = tool({
  name: 'shell',
  input: z.object({ command: z.string(), timeout: z.number().optional() }),
  execute: ({ command, timeout }) => ran.push(`${command} (${timeout})`),
})
const commands = ['ls', 'rm -rf .', 'make']
const model = scriptedModel([
  { toolCalls: commands.map((command) => ({ name: 'shell', input: { command } })) },
  { text: 'Done.' },
])
const session = await createAgent({ name: 'builder', model, tools: [shell], maxParallelTools: 1 }).createSession()
let denied = ''
session
  .on('tool.call', (call) =>
    isCallTo(call, shell) && call.input.command.startsWith('rm') ? { deny: 'No.' } : undefined,
  )
  .on('tool.call', async (call) => (isCallTo(call, shell) ? { args: { ...call.input, timeout: 5000 } } : undefined))
  .on('tool.call', (call) =>
    isCallTo(call, shell) ? { args: { ...call.input, command: `nice ${call.input.command}` } } : undefined,
  )
  .on('tool.execute.error', ({ error }) => (denied = error.message))
session.send('Build it')
await session.waitForIdle()
assert.deepEqual(ran, ['nice ls (5000)', 'nice make (5000)'])
assert.equal(denied, 'No.')
console.log(ran.join(', ')) // → nice ls (5000), nice make (5000)
