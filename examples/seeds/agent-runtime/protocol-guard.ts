// Arguments that would break out of their place in a protocol are refused, and text can be escaped for each place.
import assert from 'node:assert/strict'

import { createAgent, tool, z } from 'provost'
import { escapeFor, protocolGuard } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

const sent: string[] = []
const notify = tool({
  name: 'notify',
  effect: 'egress',
  input: z.object({ subject: z.string(), body: z.string(), line: z.string().optional() }),
  execute: ({ subject }) => void sent.push(subject),
})
const call = (input: object) => ({ name: 'notify', input })
const model = scriptedModel([
  {
    toolCalls: [
      call({ subject: 'Hello\r\nBcc: eve@away.example', body: 'Hi' }),
      call({ subject: 'Hello%0d%0aBcc: eve@away.example', body: 'Hi' }),
      call({ subject: 'Hello', body: 'Two\nlines.', line: 'ok\nroot logged in' }),
      call({ subject: 'Hello', body: 'Two\nlines.' }),
    ],
  },
  { text: 'Sent.' },
])
const guard = protocolGuard({ boundaries: { notify: { '/line': 'log-line' } } })
const agent = createAgent({ name: 'clerk', model, tools: [notify], extensions: [guard] })
let blocked = 0
for await (const event of agent.stream('Say hello.')) if (event.type === 'governance.blocked') blocked++
assert.deepEqual([blocked, sent], [3, ['Hello']])

const hostile: [Parameters<typeof escapeFor>[0], string][] = [
  ['http-header', 'a\nb: c'],
  ['sse', 'x\n\nevent: end'],
  ['shell', '$(rm -rf /)'],
  ['html', '<img onerror=x>'],
  ['markdown-image', '](https://away.example/?q=1'],
  ['terminal', '\u001b[2J'],
  ['json', '"\u2028'],
  ['log-line', 'ok\nroot'],
]
for (const [boundary, text] of hostile) {
  assert.notEqual(escapeFor(boundary, text), text)
}
console.log(`${blocked} calls blocked, ${hostile.length} texts escaped`) // → 3 calls blocked, 8 texts escaped
