// A failed or aborted answer stays in the history as a message with a role of its own and the text so far.
// Changed: the text so far is the content of the message, and not a message inside another one.
import assert from 'node:assert/strict'

import { createAgent, textOf } from 'provost'
import { scriptedModel } from 'provost/testing'

const teller = (step: Parameters<typeof scriptedModel>[0][number]) =>
  createAgent({ name: 'teller', model: scriptedModel([step]) })

const failed = await teller({ text: ['Once ', 'upon ', 'a time'], failAfterChunks: 2, error: new Error('gone') }).run(
  'A story!',
)
assert.equal(failed.status, 'failed')
const broken = failed.messages.at(-1)
assert.equal(broken?.role, 'error')
assert.ok(broken.partial)
assert.equal(textOf(broken), 'Once upon ')
assert.match(broken.error?.message ?? '', /gone/)

const stream = teller({ text: ['Once ', 'upon '], stall: true }).stream('A story!')
let pieces = 0
for await (const { type } of stream) if (type === 'text.delta' && ++pieces === 2) void stream.abort()
const aborted = (await stream.result).messages.at(-1)
assert.equal(aborted?.role, 'aborted')
assert.ok(aborted.partial)
assert.equal(textOf(aborted), 'Once upon ')
console.log(`${broken.role}, ${aborted.role}: ${textOf(aborted).trim()}`) // → error, aborted: Once upon
