// What crosses to another agent is chosen by a filter. A filter is data, so a function is refused.
import assert from 'node:assert/strict'

import type { FilterDescriptor } from 'provost'
import { applyFilter, createAgent, filters, handoff, textOf, tool, z } from 'provost'
import { scriptedModel } from 'provost/testing'

const account = tool({
  name: 'account',
  effect: 'read',
  input: z.object({}),
  returns: { confidentiality: 'secret' },
  execute: () => 'PIN 4711',
})
const model = scriptedModel([
  { text: 'Hello!' },
  { reasoning: 'Look first.', toolCalls: [{ name: 'account' }] },
  { text: 'Paid.' },
])
const desk = createAgent({ name: 'desk', model, tools: [account] })
const { sessionId, messages: greeting } = await desk.run('Good morning.')
const { messages: answer } = await desk.run('Is it paid?', { sessionId })

function left(filter: FilterDescriptor) {
  // As an export would have it.
  const restored = JSON.parse(JSON.stringify(filter)) as FilterDescriptor
  const messages = applyFilter(restored, [...greeting, ...answer])
  assert.doesNotMatch(JSON.stringify(messages), /Look first/)
  return {
    roles: messages.map(({ role }) => role.slice(0, 1)).join(''),
    text: messages
      .map((message) => textOf(message))
      .join(' ')
      .replaceAll(/ +/g, ' '),
    secret: JSON.stringify(messages).includes('4711'),
  }
}
const text = 'Good morning. Hello! Is it paid? Paid.'
assert.deepEqual(left(filters.full()), { roles: 'uauata', text, secret: true })
assert.deepEqual(left(filters.stripReasoning()), { roles: 'uauata', text, secret: true })
assert.deepEqual(left(filters.stripSensitiveOutputs()), { roles: 'uauata', text, secret: false })
assert.deepEqual(left(filters.stripToolCalls()), { roles: 'uaua', text, secret: false })
assert.deepEqual(left(filters.lastN(1)), { roles: 'a', text: 'Paid.', secret: false })
// A result does not cross without its call.
assert.deepEqual(left(filters.lastN(2)), { roles: 'a', text: 'Paid.', secret: false })
assert.equal(left(filters.lastUser()).text, 'Is it paid?')
assert.equal(left(filters.bySensitivity({ drop: 'secret' })).secret, false)
assert.equal(left(filters.bySensitivity({ keep: 'internal' })).secret, false)
assert.throws(() => left(filters.bySensitivity({ require: 'internal' })), { code: 'filter-refused' })
const both = filters.compose(filters.stripToolCalls(), filters.lastN(3))
assert.deepEqual(left(both), { roles: 'aua', text: 'Hello! Is it paid? Paid.', secret: false })

assert.throws(() => handoff(desk, { filter: ((all: unknown) => all) as never }), { code: 'invalid-filter' })
console.log(left(both).text) // → Hello! Is it paid? Paid.
