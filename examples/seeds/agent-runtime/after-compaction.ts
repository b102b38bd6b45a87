// Hooks behind a summary say again what must not be lost. One that fails is reported and left out; the others count.
// Changed: what they say is a message of its own label behind the summary, not part of the system prompt.
import assert from 'node:assert/strict'

import { createAgent } from 'provost'
import { compaction } from 'provost/memory'
import { scriptedModel } from 'provost/testing'

let request = ''
const model = scriptedModel(
  [
    ({ messages }) => {
      request = JSON.stringify(messages)
      return { text: request.includes('You sum up') ? 'A voyage is planned.' : 'Noted.' }
    },
  ],
  { after: 'repeat-last' },
)
const after = {
  tides: () => [{ content: 'High water is at six.' }],
  broken() {
    throw new RangeError('no signal')
  },
  crew: () => [{ content: 'The crew is seven.' }],
}
const agent = createAgent({ name: 'mate', model, extensions: [compaction({ window: 1000, keepRecent: 200, after })] })
const session = await agent.createSession({})
const fired: string[] = []
const errors: string[] = []
session.on('context.compacted', ({ hooksFired }) => fired.push(...hooksFired))
session.on('agent.error', ({ error }) => errors.push(error.message))
while (fired.length === 0) await session.stream(`Log: ${'we sail on, '.repeat(60)}`).result

assert.deepEqual(fired, ['tides', 'crew'])
assert.match(errors[0] ?? '', /no signal/)
assert.ok(request.indexOf('A voyage is planned.') < request.indexOf('High water is at six.'))
assert.match(request, /The crew is seven/)
console.log(`${fired.join(' and ')} said again, ${errors.length} failure reported`) // → tides and crew said again, 1 failure reported
