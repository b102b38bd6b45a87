import type { Label, Message, NewEntry } from '@provost/core'
import { createScrubber, scrubEntry, scrubPayload } from '@provost/core'
import { expect, test } from 'vitest'

const secret = 'hunter2-and-more'
const shown = '⟦secret:KEY⟧'
const scrubber = createScrubber()
scrubber.add('KEY', secret)
scrubber.add('PIN', '4711')
const base = { id: 'e', at: 1, runId: 'r', step: 0, agent: 'desk', v: 1 } as const
const label: Label = {
  integrity: 'untrusted',
  confidentiality: 'internal',
  readers: [secret],
  sources: [`mail:${secret}`],
}
const clean = { ...label, readers: [shown], sources: [`mail:${shown}`] }

test('parts of every type lose secrets in labels, provider options and files', () => {
  const parts: Message['content'] = [
    { type: 'text', text: 'x', label, providerOptions: { test: { said: secret } } },
    { type: 'reasoning', text: 'x', providerOptions: { test: { signature: secret } } },
    { type: 'custom', kind: 'test.kind', providerOptions: { test: { [secret]: 1 } } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: btoa(`\u0089PNG ${secret}`) }, label },
    { type: 'file', mediaType: 'x/y', data: { type: 'url', url: `data:x/y;base64,${btoa(secret)}` }, filename: secret },
    { type: 'file', mediaType: 'x/y', data: { type: 'reference', reference: { test: secret } } },
    { type: 'tool-call', callId: 'c', toolCallId: 'c', toolName: 't', input: {}, label },
    {
      type: 'tool-result',
      callId: 'c',
      toolCallId: 'c',
      toolName: 't',
      output: {
        type: 'content',
        value: [{ type: 'text', text: 'x', label, providerOptions: { test: { said: secret } } }],
      },
      fields: { [`/${secret}`]: label },
    },
  ]
  const data = { note: [secret] }
  const message = { id: 'm', role: 'custom:note', content: parts, createdAt: 1, label, data } as const
  const entry = scrubEntry(scrubber, { ...base, type: 'message', via: 'input', message })
  const text = JSON.stringify(entry)
  expect(text).not.toContain(secret)
  expect([...text.matchAll(/"data":"([^"]+)"|base64,([^"]+)/g)].map(([, a, b = '']) => atob(a ?? b))).not.toContain(
    expect.stringContaining('hunter2'),
  )
  expect(text).not.toContain(btoa(secret).slice(0, 16))
  expect(entry).toMatchObject({ message: { label: clean, data: { note: [shown] } } })
})

test.each<[string, NewEntry]>([
  ['a question', { ...base, type: 'wait', token: 't', kind: 'input', schema: { type: 'string', enum: [secret] } }],
  [
    'its answer',
    { ...base, type: 'resolved', token: 't', value: { mediaType: 'x/y', data: btoa(secret) }, by: secret },
  ],
  [
    'a principal',
    {
      ...base,
      type: 'run',
      op: 'started',
      principal: { id: 'a', claims: { a: secret } },
      manifest: { agent: 'a', extensions: [], tools: [] },
    },
  ],
  ['a tail', { ...base, type: 'tail', hash: 'h', label, with: [{ content: 'x', label }] }],
  [
    'a planned call',
    { ...base, type: 'call', op: 'planned', callId: 'c', parentCallId: 'p', key: secret, toolName: secret, args: {} },
  ],
  [
    'a result',
    {
      ...base,
      type: 'call',
      op: 'settled',
      callId: 'c',
      outcome: 'ok',
      via: 'executed',
      output: { type: 'text', value: 'x' },
      value: secret,
      label,
      fields: { '/a': label },
      durationMs: 4711,
    },
  ],
  [
    'a handoff',
    {
      ...base,
      type: 'handoff',
      from: 'a',
      to: 'b',
      mode: 'transfer',
      filter: { kind: 'summary', text: secret },
      hash: 'h',
      label,
    },
  ],
  // A field of a later release.
  [
    'a field that is not known',
    Object.assign({ ...base, type: 'call', op: 'parked', callId: 'c' } as const, {
      origins: [{ from: secret }],
      bytes: 4711,
    }),
  ],
])('%s loses the secret, and its measures stay numbers', (_, entry) => {
  const scrubbed = scrubEntry(scrubber, entry)
  const text = JSON.stringify(scrubbed)
  expect(text).not.toMatch(/hunter2|aHVudGVy/)
  expect(text).toContain(JSON.stringify(entry).includes('4711') ? ':4711' : shown.slice(0, 1))
  expect(scrubEntry(scrubber, scrubbed)).toBe(scrubbed)
})

test('events lose the secret in labels, lists and fields of any name, and keep the fields of the runtime', () => {
  const usage = { inputTokens: 4711 }
  const ended = { usage, cost: 4711, finishReason: 'stop' } as const
  expect(scrubPayload<'step.end'>(scrubber, ended)).toBe(ended)
  const handed = { from: 'a', to: 'b', mode: 'return', callId: 'c', status: 'returned', label } as const
  expect(scrubPayload<'handoff.end'>(scrubber, handed)).toMatchObject({ label: clean })
  const cited = { messageId: 'm', attempt: 1, url: `https://x.example/?k=${secret}`, mediaType: secret }
  expect(JSON.stringify(scrubPayload<'source.cited'>(scrubber, cited))).not.toContain(secret)
})
