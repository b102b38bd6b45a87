// An abort ends a run at once, leaving tools 50 ms. It can also wait for the step, and says what becomes of approvals.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import type { AbortOptions } from 'provost'
import { createAgent, tool, z } from 'provost'
import { assertWellFormed, scriptedModel } from 'provost/testing'

/** Runs one call, aborts it while it executes or waits, and tells how both ended. */
async function abortWhile(what: 'executes' | 'waits', ms: number, options: AbortOptions) {
  const work = tool({
    name: 'work',
    effect: 'read',
    needsApproval: what === 'waits',
    input: z.object({}),
    execute() {
      void stream.abort(options)
      return sleep(ms, 'done', { ref: false }) // ignores its signal
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'work' }] }, { text: 'Never said.' }])
  const agent = createAgent({ name: 'worker', model, tools: [work] })
  const stream = agent.stream('Work.', { onApproval: () => new Promise(() => {}) })
  let aborted: Promise<void> | undefined
  let outcome = 'open'
  for await (const event of stream) {
    if (event.type === 'tool.approval.requested') aborted = stream.abort(options)
    if (event.type === 'tool.execute.end') outcome = 'done'
    if (event.type === 'tool.execute.error') outcome = event.error.code
  }
  await aborted
  const { status, messages, text } = await stream.result
  if (status !== 'suspended') assertWellFormed(messages)
  assert.equal(text, '')
  return `${status}, ${outcome}`
}

// Hard: a tool has its grace to end by itself, and no more.
assert.equal(await abortWhile('executes', 10, {}), 'aborted, done')
assert.equal(await abortWhile('executes', 5000, {}), 'aborted, tool-aborted')
// Drained: the step ends, however long it takes.
assert.equal(await abortWhile('executes', 90, { drain: true }), 'aborted, done')
// A call that waits for a human is denied, held for later, or makes the run fail.
assert.equal(await abortWhile('waits', 0, {}), 'aborted, tool-denied')
assert.equal(await abortWhile('waits', 0, { onPendingApprovals: 'hold' }), 'suspended, open')
const failed = await abortWhile('waits', 0, { onPendingApprovals: 'fail' })
assert.match(failed, /^failed/)

// Also from the listener that hears of the question first. The call can be approved afterwards.
const pay = tool({ name: 'pay', needsApproval: true, input: z.object({}), execute: () => 'paid' })
const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, { text: 'Paid.' }])
const session = await createAgent({ name: 'clerk', model, tools: [pay] }).createSession({})
session.on('tool.approval.requested', () => void session.abort({ onPendingApprovals: 'hold' }))
session.send('Pay.')
await session.waitForIdle()
assert.equal(session.status, 'suspended')
await session.resolve({ approvals: session.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
assert.equal((await session.waitForIdle())?.text, 'Paid.')
console.log('hard, drained, denied, held, failed') // → hard, drained, denied, held, failed
