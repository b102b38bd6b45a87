// Sending returns at once; `waitForIdle` waits for the run, or rejects with its error; listeners come and go.
// Changed: `waitForIdle` also returns the last result. A listener that throws is reported, and the run continues.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'

const model = scriptedModel([
  { text: ['One, ', 'two.'] },
  { text: 'Three.' },
  { text: ['Four, ', 'five.'], stall: true },
  { error: new Error('the cable is cut') },
])
const session = await createAgent({ name: 'counter', model }).createSession()

const heard = new Set<string>()
const listener = ({ delta }: { delta: string }) => void heard.add(delta)
const slow = async () => {
  await sleep(1)
  heard.add('(later)')
}
const chained = session
  .on('text.delta', listener)
  .on('text.end', slow)
  .on('agent.start', () => {
    throw new Error('a fault of the listener')
  })
  .on('agent.error', ({ source }) => heard.add(`(${source.kind})`))
assert.equal(chained, session)

assert.equal(await session.waitForIdle(), undefined) // idle already
assert.equal(session.send('Count'), undefined)
assert.equal(heard.size, 0)
await session.waitForIdle()
await sleep(20)
assert.deepEqual(heard, new Set(['(listener)', 'One, ', 'two.', '(later)']))

session.off('text.delta', listener).off('text.end', slow)
session.send('Go on')
assert.equal((await session.waitForIdle())?.text, 'Three.')
assert.ok(!heard.has('Three.'))

// A signal goes with one message: it withdraws the message, or aborts the run that it started.
const patience = new AbortController()
session.on('text.delta', ({ delta }) => delta === 'five.' && patience.abort())
session.send('Go on', { signal: patience.signal })
assert.equal((await session.waitForIdle())?.status, 'aborted')

session.send('And then?')
await assert.rejects(session.waitForIdle(), /the cable is cut/)
console.log(session.status) // → failed
