// Messages in a queue: each is a turn of its own, answered in order. The mode comes from the agent, the session or the
// message; the nearest one counts.
import assert from 'node:assert/strict'

import { createAgent } from 'provost'
import { bashTool } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const ask = (command: string) => ({ toolCalls: [{ name: 'bash', input: { command } }] })
const script = [ask('pwd'), { text: 'Here.' }, ask('ls'), { text: 'Files.' }, ask('id -un'), { text: 'You.' }]
const questions = ['Where am I?', 'What lies around?', 'Who am I?']

const admin = createAgent({ name: 'admin', model: scriptedModel(script), tools: [bashTool], sendMode: 'queue' })
const session = await admin.createSession()
const turns: string[] = []
session
  .on('turn.start', ({ trigger }) => turns.push(trigger))
  .on('turn.end', ({ text }) => turns.push(text))
  .on('tool.skipped', () => turns.push('skipped'))
for (const question of questions) session.send(question)
await session.waitForIdle()
assert.deepEqual(turns, ['input', 'Here.', 'queue', 'Files.', 'queue', 'You.'])
assert.deepEqual(
  session.messages.map(({ role }) => role),
  questions.flatMap(() => ['user', 'assistant', 'tool', 'assistant']),
)

/** How a second message enters, sent during the first call. */
async function entry(ofAgent: 'steer' | 'queue', ofSession?: 'steer' | 'queue', ofMessage?: 'steer' | 'queue') {
  const model = scriptedModel([ask('true'), { text: 'One.' }, { text: 'Two.' }])
  const agent = createAgent({ name: 'admin', model, tools: [bashTool], sendMode: ofAgent })
  const { send, on, waitForIdle } = await agent.createSession({ sendMode: ofSession })
  let entered = ''
  on('tool.execute.start', () => send('And more', { mode: ofMessage }))
  on('turn.start', ({ trigger }) => (entered = trigger))
  send('Go')
  await waitForIdle()
  return entered
}
assert.equal(await entry('queue'), 'queue')
assert.equal(await entry('queue', 'steer'), 'steer')
assert.equal(await entry('queue', 'steer', 'queue'), 'queue')
console.log(turns.filter((_, at) => at % 2 === 1).join(' ')) // → Here. Files. You.
