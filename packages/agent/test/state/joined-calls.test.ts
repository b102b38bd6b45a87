import { foldLog } from '@provost/agent'
import type { Entry, EntryBody } from '@provost/core'
import { trustedLabel, untrustedLabel } from '@provost/core'
import { expect, test } from 'vitest'

const entry = (offset: number, step: number, body: EntryBody): Entry => ({
  ...{ id: `e${offset}`, offset, at: offset, runId: 'run', step, agent: 'desk', v: 1 },
  ...body,
})
const asks = (callId: string): EntryBody => ({
  type: 'message',
  via: 'model',
  message: {
    ...{ id: `m-${callId}`, role: 'assistant', label: trustedLabel, createdAt: 0 },
    content: [{ type: 'tool-call', callId, toolCallId: callId, toolName: 'look', input: {} }],
  },
})
const settles = (callId: string, source: string): EntryBody => ({
  ...{ type: 'call', op: 'settled', callId, outcome: 'ok', via: 'executed', durationMs: 0 },
  ...{ output: { type: 'text', value: callId }, label: untrustedLabel(source) },
})

test('calls of a step that are recorded one by one are one step: it ends with the last result', () => {
  const state = foldLog([
    entry(1, 0, { type: 'run', op: 'started', manifest: { agent: 'desk', extensions: [], tools: [] } }),
    entry(2, 1, asks('a')),
    entry(3, 1, asks('b')),
    entry(4, 1, settles('a', 'mail')),
  ])
  expect(state.run?.openCalls).toBe(1)
  expect([...(state.run?.calls.keys() ?? [])]).toEqual(['a', 'b'])

  const ended = foldLog([...state.entries, entry(5, 1, settles('b', 'page'))])
  expect(ended.run?.openCalls).toBe(0)
  expect(ended.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ callId: 'a' }, { callId: 'b' }] })
  expect(ended.viewLabel.sources).toEqual(expect.arrayContaining(['mail', 'page']))
})
