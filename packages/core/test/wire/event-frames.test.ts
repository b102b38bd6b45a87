import type { AgentEvent, Message } from '@provost/core'
import { createEventDecoder, createEventEncoder, eventTypes } from '@provost/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { eventOf } from '../arbitrary.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

interface Given {
  readonly event: AgentEvent
  readonly log: string
  readonly id?: string
}

/** Sends events through an encoder and a decoder; `bytes` counts the data of the frames. */
function through(given: readonly Given[]): {
  readonly events: readonly AgentEvent[]
  readonly frames: readonly string[]
} {
  const encoder = createEventEncoder()
  const decoder = createEventDecoder()
  const frames: string[] = []
  const events = given.flatMap(({ event, log, id }) =>
    encoder.encode(event, log, id).flatMap((frame, n, all) => {
      frames.push(frame.data)
      const own = n === all.length - 1 ? id : undefined
      return decoder.decode({ event: frame.event, id: own, data: JSON.parse(frame.data) }) ?? []
    }),
  )
  return { events, frames }
}

const numbered = (events: readonly AgentEvent[]): readonly AgentEvent[] =>
  events.map((event, n) => ({ ...event, seq: n + 1 }))

function messageOf(id: string): Message {
  const call = { type: 'tool-call', callId: 'c1', toolCallId: 'p', toolName: 'a', input: { x: 1 } } as const
  return { id, role: 'assistant', content: [{ type: 'text', text: 'ab' }, call], createdAt: 1 }
}

/** Few values, so that frames have something to leave out. */
const few = fc.record({
  runId: fc.constantFrom('r1', 'r2'),
  agent: fc.constantFrom('a', 'b'),
  step: fc.constantFrom(1, 2),
  messageId: fc.constantFrom('m1', 'm2'),
  attempt: fc.constantFrom(1, 2),
  partId: fc.constantFrom('0', '1'),
  callId: fc.constantFrom('c1', 'c2'),
  delta: fc.constantFrom('a', 'b', '{"x":', '1}'),
  text: fc.constantFrom('ab', ''),
  message: fc.constantFrom(messageOf('m1'), messageOf('m2')),
  messages: fc.constantFrom([messageOf('m1')], [messageOf('m1'), messageOf('m2')]),
})
const anyEvent = fc.tuple(fc.constantFrom(...eventTypes).chain(eventOf), few).map(([event, same]) => {
  const shared = Object.fromEntries(Object.entries(same).filter(([name]) => name in event))
  const input = event.type.startsWith('tool') && 'input' in event && { input: { x: 1 } }
  return Object.assign({}, event, shared, input)
})

describe('the frames of a stream', () => {
  it('restore every sequence of events', () => {
    const position = fc.constantFrom(undefined, '3.1', '3~12', '5.0 0123456789ab=4.2')
    const log = fc.constantFrom('s', 's/child/0123456789ab0123456789ab01234567')
    fc.assert(
      fc.property(fc.array(fc.tuple(anyEvent, log, position), { maxLength: 40 }), (list) => {
        const given = list.map(([event, its, id]) => ({ event, log: its, ...(id !== undefined && { id }) }))
        expect(through(given).events).toStrictEqual(numbered(given.map(({ event }) => event)))
      }),
      { numRuns: full ? 500 : 60 },
    )
  })

  const base = { seq: 1, runId: 'r', step: 1, agent: 'desk', parents: [], at: 1_000 }
  const answer = { messageId: 'r/1/message/1', attempt: 1 }
  const text = 'The answer. '.repeat(50)
  const message: Message = {
    id: answer.messageId,
    role: 'assistant',
    content: [{ type: 'text', text }],
    createdAt: 1_000,
  }
  const at = (n: number): { readonly id: string } => ({ id: `s:3~${n}` })
  const part = { ...answer, partId: '0' }
  const run: readonly AgentEvent[] = [
    { ...base, ...at(0), type: 'text.start', ...part },
    { ...base, ...at(1), type: 'text.delta', ...part, delta: text.slice(0, 100) },
    { ...base, ...at(2), type: 'text.delta', ...part, delta: text.slice(100) },
    { ...base, ...at(3), type: 'text.end', ...part, text },
    { ...base, ...at(4), type: 'message.end', ...answer, message },
    { ...base, ...at(5), type: 'turn.end', messages: [message], text },
    {
      ...base,
      ...at(6),
      type: 'agent.end',
      status: 'completed',
      output: text,
      text,
      messages: [message],
      usage: { byModel: {} },
    },
  ]
  const placed = run.map((event, n) => ({ event, log: 's', id: `3~${n}` }))

  it('carry the text of an answer once, as deltas', () => {
    const { events, frames } = through(placed)
    expect(events).toStrictEqual(numbered(run))
    expect(frames.filter((data) => data.includes('The answer.'))).toHaveLength(2)
  })

  it('carry a text whole if its beginning was in another connection', () => {
    const { events, frames } = through(placed.slice(2))
    expect(events).toStrictEqual(numbered(run.slice(2)))
    expect(frames.filter((data) => data.includes(text))).toHaveLength(1)
  })

  it('carry an answer whole that differs from its deltas', () => {
    const edited = { ...message, content: [{ type: 'text', text: text.toUpperCase() } as const] }
    const events = run.map((event) => (event.type === 'message.end' ? { ...event, message: edited } : event))
    expect(through(events.map((event) => ({ event, log: 's' }))).events).toStrictEqual(numbered(events))
  })

  it('end without what the end of the run had', () => {
    const encoder = createEventEncoder()
    const decoder = createEventDecoder()
    for (const { event, log, id } of placed) {
      for (const frame of encoder.encode(event, log, id))
        decoder.decode({ event: frame.event, id, data: JSON.parse(frame.data) })
    }
    const complete = {
      type: 'execute_complete',
      sessionId: 's',
      status: 'completed',
      text,
      output: text,
      usage: { byModel: {} },
      cost: 1,
    }
    const { data } = encoder.complete(complete)
    expect(data).not.toContain('The answer.')
    expect(decoder.complete(JSON.parse(data))).toEqual(complete)
  })

  it('keep a call whose deltas spell JSON that is too deep to be written', () => {
    const delta = `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    const place = { id: 's:1.1', runId: 'r', step: 1, agent: 'a', parents: [], at: 1, seq: 1 }
    const call = { ...place, messageId: 'm', attempt: 1, callId: 'c', toolName: 't', index: 0 }
    const events: AgentEvent[] = [
      { ...call, type: 'tool.call.start' },
      { ...call, type: 'tool.call.delta', delta },
      { ...call, type: 'tool.call.end', input: delta },
    ]
    expect(through(events.map((event) => ({ event, log: 's' }))).events).toStrictEqual(numbered(events))
  })

  it('are rejected without the frames that they refer to', () => {
    const decoder = createEventDecoder()
    const alone = { event: 'text.delta', data: { run: 1, ms: 0, delta: 'x' } }
    expect(() => decoder.decode(alone)).toThrow(expect.objectContaining({ code: 'invalid-frame', retryable: true }))
  })
})
