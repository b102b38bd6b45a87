// A handoff passes the conversation on behind its filter. The log has the filter and a hash of what crossed, so an export
// can replay the boundary byte for byte.
import assert from 'node:assert/strict'

import type { Entry } from 'provost'
import { createAgent, filters, handoff, memoryStore } from 'provost'
import { replayHandoffs } from 'provost/replay'
import { scriptedModel } from 'provost/testing'

let received = ''
const billing = createAgent({
  name: 'billing',
  instructions: 'You know the invoices.',
  model: scriptedModel(
    [
      ({ messages }) => {
        received = JSON.stringify(messages)
        return { text: 'It is paid.' }
      },
    ],
    { after: 'repeat-last' },
  ),
})
const store = memoryStore()
const triage = createAgent({
  name: 'triage',
  instructions: 'You sort, and never mention the strike.',
  model: scriptedModel([
    { reasoning: 'For billing.', toolCalls: [{ name: 'transfer_to_billing', input: { message: 'Invoice 7.' } }] },
    { text: 'Not reached: the session stays with billing.' },
  ]),
  handoffs: [handoff(billing, { filter: filters.compose(filters.lastN(4), filters.stripReasoning()) })],
  store,
})
const session = await triage.createSession({ id: 'ann' })
assert.equal((await session.stream('Is invoice 7 paid?').result).text, 'It is paid.')
assert.match(received, /Is invoice 7 paid\?.*Invoice 7\./)
assert.doesNotMatch(received, /For billing|the strike/)
assert.equal((await session.stream('Thanks.').result).text, 'It is paid.')

const log: Entry[] = []
for await (const entry of store.read('ann')) log.push(entry)
const stored = JSON.stringify(log)
const replay = (text: string) => replayHandoffs(JSON.parse(text) as Entry[])[0]
assert.equal(replay(stored)?.intact, true)
// A log that was changed is noticed.
assert.equal(replay(stored.replaceAll('Is invoice 7 paid?', 'Is invoice 8 paid?'))?.intact, false)
console.log(`crossed: ${replay(stored)?.messages.length} message, intact`) // → crossed: 1 message, intact
