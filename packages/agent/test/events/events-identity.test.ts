import { createAgent } from '@provost/agent'
import type { AgentOptions, AgentStream } from '@provost/agent'
import type { AgentEvent, Extension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { echo, entriesOf, extension, only, say, typesOf, watch } from '../hooks/hook-scenario.ts'

const steps: readonly ScriptedStep[] = [
  { reasoning: 'hm', text: ['Let me', ' see'], toolCalls: [say('a'), say('b')] },
  { text: 'Done' },
]
function agentOf(more: Partial<AgentOptions> = {}) {
  return createAgent({ name: 'a', model: scriptedModel(steps), tools: [echo], ...more })
}
async function gather(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('every event', () => {
  it('is numbered from 1 without a gap, and says where it belongs', async () => {
    const { events, result } = await watch(agentOf().stream('go'))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    for (const { runId, agent, parents, at } of events) {
      expect({ runId, agent, parents }).toEqual({ runId: result.runId, agent: 'a', parents: [] })
      expect(at).toBeGreaterThan(1e12)
    }
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => a - b))
  })

  it('is of the step it happened in', async () => {
    const { events } = await watch(agentOf().stream('go'))
    const stepOf = (type: AgentEvent['type']): number[] =>
      events.filter((event) => event.type === type).map(({ step }) => step)
    expect(stepOf('step.start')).toEqual([1, 2])
    expect(stepOf('text.delta')).toEqual([1, 1, 2])
    expect(stepOf('tool.execute.end')).toEqual([1, 1])
    expect(stepOf('step.end')).toEqual([1, 2])
    expect(stepOf('agent.start')).toEqual([0])
  })

  it('has an id of its own, made from where it is in the log', async () => {
    const store = memoryStore()
    const { events, result } = await watch(agentOf({ store }).stream('go'))
    const entries = await entriesOf(store, result.sessionId)
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
    let last = 0
    for (const { id } of events) {
      const [, log, offset, n] = /^(.+):(\d+)[.~](\d+)$/.exec(id) ?? []
      expect(log).toBe(result.sessionId)
      expect(Number(offset)).toBeGreaterThanOrEqual(last)
      expect(Number(offset)).toBeLessThanOrEqual(entries.length)
      expect(Number(n)).toBeGreaterThanOrEqual(0)
      last = Number(offset)
    }
  })

  it('that lasts is counted at its entry with a dot, one that passes after it with a tilde', async () => {
    const { events } = await watch(agentOf().stream('go'))
    const kinds = (mark: string): Set<string> =>
      new Set(events.filter(({ id }) => id.includes(mark)).map(({ type }) => type))
    expect(kinds('~')).toEqual(
      new Set([
        'step.start',
        'message.start',
        'reasoning.start',
        'reasoning.delta',
        'reasoning.end',
        'text.start',
        'text.delta',
        'text.end',
        'tool.call.start',
        'tool.call.delta',
        'tool.call.end',
      ]),
    )
    for (const type of [
      'agent.start',
      'turn.start',
      'message.end',
      'turn.mode',
      'tool.execute.start',
      'tool.execute.end',
      'step.end',
      'turn.end',
      'agent.end',
    ] as const) {
      expect([...kinds('.')]).toContain(type)
    }
    for (const mark of ['.', '~']) {
      const counted = new Map<string, number[]>()
      for (const { id } of events) {
        const [place = '', n] = id.slice(id.lastIndexOf(':')).split(mark)
        if (n !== undefined) counted.set(place, [...(counted.get(place) ?? []), Number(n)])
      }
      for (const counts of counted.values()) expect(counts).toEqual(counts.map((_, index) => index))
    }
  })

  it('about a wait bears the token of the wait, wherever it is named', async () => {
    const store = memoryStore()
    const ask = extension('ask', { 'tool.call': () => ({ ask: { reason: '?' } }) })
    const agent = agentOf({ store, extensions: [ask] })
    const { events, result } = await watch(agent.stream('go'))
    const waits = (await entriesOf(store, result.sessionId)).flatMap((entry) =>
      entry.type === 'wait' ? [entry.token] : [],
    )
    expect(only(events, 'tool.approval.requested').map(({ id, token }) => [id, token])).toEqual(
      waits.map((token) => [token, token]),
    )
    expect(result.pending.approvals.map(({ id }) => id)).toEqual(waits)
    const resumed = await watch(
      agent.stream(result.state, { approvals: waits.map((id) => ({ id, decision: 'approve' })) }),
    )
    expect(only(resumed.events, 'tool.approval.resolved').map(({ id }) => id)).toEqual(waits)
  })

  it('is JSON and cannot be changed', async () => {
    const { events } = await watch(agentOf().stream('go'))
    for (const event of events) {
      expect(JSON.parse(JSON.stringify(event))).toEqual(event)
      expect(Object.isFrozen(event)).toBe(true)
    }
    const [end] = only(events, 'agent.end')
    expect([end?.messages, end?.messages[1]?.content, end?.usage].map(Object.isFrozen)).toEqual([true, true, true])
  })
})

describe('all subscribers', () => {
  it('gets the same events, with the same frozen payload and a count of their own', async () => {
    const heard: AgentEvent[] = []
    const stream = agentOf({ extensions: [extension('look', { event: (event) => void heard.push(event) })] }).stream(
      'go',
    )
    const iterated = await gather(stream)
    expect(heard).toEqual(iterated)
    const mine = only(heard, 'message.end')
    for (const [index, { message }] of only(iterated, 'message.end').entries())
      expect(mine[index]?.message).toBe(message)
  })

  it('counts without a gap, also an observer that does not hear of its own failures', async () => {
    const heard: AgentEvent[] = []
    const broken = extension('broken', {
      event: (event) => {
        heard.push(event)
        if (event.type === 'step.start') throw new Error('no')
      },
    })
    const events = await gather(agentOf({ extensions: [broken] }).stream('go'))
    expect(typesOf(events)).toContain('agent.error')
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, index) => index + 1))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  })

  it('may come late or not at all: the run does not wait', async () => {
    const stream = agentOf().stream('go')
    expect((await stream.result).status).toBe('completed')
    const events = await gather(stream)
    expect(typesOf(events).at(0)).toBe('agent.start')
    expect(typesOf(events).at(-1)).toBe('agent.end')
  })

  it('may be a second one while the run is active, and fails clearly after its end', async () => {
    const stream = agentOf().stream('go')
    const seen: AgentEvent[] = []
    let second: Promise<AgentEvent[]> | undefined
    for await (const event of stream) {
      seen.push(event)
      if (event.type === 'step.start') second ??= gather(stream)
    }
    expect(typesOf((await second) ?? []).at(-1)).toBe('agent.end')
    await expect(gather(stream)).rejects.toMatchObject({ code: 'stream-consumed' })
    expect((await stream.result).status).toBe('completed')
  })

  it('may leave early', async () => {
    const stream = agentOf().stream('go')
    for await (const event of stream) if (event.type === 'step.start') break
    expect((await stream.result).status).toBe('completed')
  })
})

it('the text of a message is its deltas, attempt by attempt and part by part, whatever fails in between', async () => {
  const words = fc.array(fc.string({ maxLength: 4 }), { minLength: 1, maxLength: 4 })
  const attempt = fc.record({
    text: words,
    reasoning: fc.string({ maxLength: 5 }),
    cut: fc.option(fc.nat(4), { nil: undefined }),
  })
  const again: Extension = extension('again', { 'model.error': () => ({ retryAfterMs: 0 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { maxLength: 4 }), words, async (attempts, last) => {
      const failing = attempts.map(({ text, reasoning, cut }): ScriptedStep => ({
        text,
        reasoning,
        failAfterChunks: cut ?? 9,
      }))
      const { events, result } = await watch(
        createAgent({ name: 'a', model: scriptedModel([...failing, { text: last }]), extensions: [again] }).stream(
          'go',
        ),
      )
      const part = (event: { messageId: string; attempt: number; partId: string }): string =>
        `${event.messageId} ${event.attempt} ${event.partId}`
      const joined = new Map<string, string>()
      for (const event of only(events, 'text.delta'))
        joined.set(part(event), (joined.get(part(event)) ?? '') + event.delta)
      for (const event of only(events, 'text.end')) expect(event.text).toBe(joined.get(part(event)) ?? '')
      expect(result.text).toBe(last.join(''))
      const ends = only(events, 'message.end').filter(({ message }) => message.role === 'assistant')
      expect(ends.filter(({ discarded }) => !discarded)).toHaveLength(1)
      expect(ends.length).toBe(only(events, 'message.start').filter(({ role }) => role === 'assistant').length)
    }),
  )
})

describe('a reader that is slower than its run', () => {
  it('misses no event but deltas, and those are joined: nothing of the text is lost', async () => {
    const chunks = Array.from({ length: 4_000 }, (_, index) => `${index} `)
    const stream: AgentStream = createAgent({ name: 'a', model: scriptedModel([{ text: chunks }]) }).stream('go')
    await stream.result
    const events = await gather(stream)
    expect(events.length).toBeLessThan(chunks.length)
    expect(
      only(events, 'text.delta')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe(chunks.join(''))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(typesOf(events).at(-1)).toBe('agent.end')
  })
})

describe('concurrent runs of one agent', () => {
  it('keep their events apart', async () => {
    const model = scriptedModel([({ messages }) => ({ text: JSON.stringify(messages.at(-1)?.content) })], {
      after: 'repeat-last',
    })
    const agent = createAgent({ name: 'a', model, tools: [tool({ name: 't', input: z.object({}), execute: () => 1 })] })
    const runs = await Promise.all(['one', 'two', 'three'].map((word) => watch(agent.stream(word))))
    for (const [index, { events, result }] of runs.entries()) {
      expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set([result.runId]))
      expect(result.text).toContain(['one', 'two', 'three'][index])
    }
  })
})
