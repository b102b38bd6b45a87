import { createAgent } from '@provost/agent'
import type { AgentOptions, RunOptions } from '@provost/agent'
import { defineExtension } from '@provost/core'
import type { AgentEvent } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOfType,
  lines,
  only,
  say,
  transcript,
  typesOf,
  watch,
} from '../hooks/hook-scenario.ts'

const slow = tool({
  name: 'slow',
  input: z.object({ n: z.number() }),
  executionMode: 'sequential',
  execute: ({ n }) => `slow ${n}`,
})
const three: ScriptedStep = { toolCalls: [1, 2, 3].map((n) => ({ name: 'slow', input: { n } })) }
function agentOf(steps: readonly ScriptedStep[], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo, slow], ...more }) }
}

describe('turn.mode', () => {
  it('says after each answer whether it was one or calls for tools, and for how many', async () => {
    const { agent } = agentOf([
      { text: 'wait', toolCalls: [say('a'), say('b')] },
      { toolCalls: [say('c')] },
      { text: 'done' },
    ])
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'turn.mode').map(({ mode, queueSize, step }) => [step, mode, queueSize])).toEqual([
      [1, 'steer', 2],
      [2, 'steer', 1],
      [3, 'respond', 0],
    ])
  })
})

describe('a steer', () => {
  it('enters before the next model call; calls that have not started are skipped and say so', async () => {
    const { agent, asked } = agentOf([three, { text: 'as you wish' }])
    const stream = agent.stream('go')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'tool.execute.start') stream.steer('stop that')
    }
    const result = await stream.result
    expect(lines(asked[1] ?? { messages: [] }).slice(-2)).toEqual([
      'tool: [slow → slow 1] [slow → Skipped: the user said something new first.] [slow → Skipped: the user said something new first.]',
      'user: stop that',
    ])
    expect(only(events, 'tool.skipped')).toMatchObject([
      { toolName: 'slow', callId: `${result.runId}/1/call/1`, reason: 'Skipped: the user said something new first.' },
      { callId: `${result.runId}/1/call/2` },
    ])
    expect(only(events, 'agent.steered')).toMatchObject([{ text: 'stop that', messageId: expect.any(String) }])
    expect(only(events, 'turn.start').map(({ trigger }) => trigger)).toEqual(['input', 'steer'])
    assertWellFormed(result.messages)
  })

  it.each(['while the model writes', 'while the calls are judged'])('that comes %s skips all calls', async (moment) => {
    const ran: unknown[] = []
    const note = tool({ name: 'note', input: z.object({}), execute: () => ran.push('note') })
    const judge = defineExtension({
      name: 'judge',
      hooks: { 'tool.call': () => void (moment.endsWith('judged') && stream.steer('stop that')) },
    })
    const steps = [{ text: 'well', toolCalls: [{ name: 'note' }, { name: 'note' }] }, { text: 'as you wish' }]
    const { agent, asked } = agentOf(steps, { tools: [note], extensions: [judge] })
    const stream = agent.stream('go')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'text.delta' && event.delta === 'well' && moment.endsWith('writes')) stream.steer('stop that')
    }
    expect(ran).toEqual([])
    expect(only(events, 'tool.skipped')).toHaveLength(2)
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toMatch(/^user: stop that/)
  })

  it('leaves a call that a human has approved', async () => {
    const pay = tool({ name: 'pay', input: z.object({}), needsApproval: true, execute: () => 'paid' })
    const { agent } = agentOf([{ toolCalls: [{ name: 'pay' }, say('a')] }, { text: 'ok' }], { tools: [pay, echo] })
    const stream = agent.stream('go', {
      onApproval() {
        stream.steer('quick')
        return 'approve'
      },
    })
    expect(transcript((await stream.result).messages)[2]).toContain('[paid]')
  })

  it('begins a turn of its own: the one before ends first', async () => {
    const { agent } = agentOf([{ toolCalls: [say('a')] }, { text: 'as you wish' }])
    const stream = agent.stream('go')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'tool.execute.start') stream.steer('hm')
    }
    const types = typesOf(events)
    const at = types.indexOf('agent.steered')
    expect(types.slice(at - 1, at + 6)).toEqual([
      'step.end',
      'agent.steered',
      'turn.end',
      'turn.start',
      'message.start',
      'message.end',
      'step.start',
    ])
    const [, second] = only(events, 'turn.end')
    expect(transcript(second?.messages ?? [])).toEqual(['user: hm', 'assistant: as you wish'])
  })

  it('lets what is under way end', async () => {
    const gate = Promise.withResolvers<string>()
    const long = tool({ name: 'long', input: z.object({}), execute: () => gate.promise })
    const { agent } = agentOf([{ toolCalls: [{ name: 'long' }, { name: 'long' }] }, { text: 'ok' }], { tools: [long] })
    const stream = agent.stream('go')
    for await (const event of stream) {
      if (event.type !== 'tool.execute.start') continue
      stream.steer('hurry')
      gate.resolve('long')
    }
    expect(transcript((await stream.result).messages)[2]).toBe('tool: [long] [long]')
  })

  it('that comes when the run would end continues with it', async () => {
    const { agent } = agentOf([{ text: 'one' }, { text: 'two' }])
    const stream = agent.stream('go')
    for await (const event of stream) if (event.type === 'text.end' && event.text === 'one') stream.steer('and?')
    expect(transcript((await stream.result).messages)).toEqual([
      'user: go',
      'assistant: one',
      'user: and?',
      'assistant: two',
    ])
  })

  it('is trusted, and the word of the human', async () => {
    const store = memoryStore()
    const { agent } = agentOf([{ toolCalls: [say('a')] }, { text: 'ok' }], { store })
    const stream = agent.stream('go')
    for await (const event of stream) if (event.type === 'tool.execute.start') stream.steer('hm')
    const result = await stream.result
    const steers = (await entriesOfType(store, result, 'message')).filter(({ via }) => via === 'steer')
    expect(steers).toMatchObject([{ message: { role: 'user', label: { integrity: 'trusted' } } }])
  })

  it('may be asked for: before each step and between tools', async () => {
    const words = [[], [], ['stop that'], []]
    const getSteering = vi.fn((): readonly string[] => words.shift() ?? [])
    const { agent } = agentOf([three, { text: 'as you wish' }])
    const { messages } = await agent.run('go', { getSteering })
    expect(transcript(messages).slice(2, 4)).toEqual([
      'tool: [slow 1] [slow 2] [Skipped: the user said something new first.]',
      'user: stop that',
    ])
    expect(getSteering.mock.calls.length).toBeGreaterThanOrEqual(4)
  })

  it('may be asked for by the agent, in runs and sessions; a run with a callback of its own asks that one', async () => {
    const words = ['one', 'two']
    const more = ['and then?']
    const asked: string[] = []
    const { agent } = agentOf(
      Array.from({ length: 6 }, () => ({ text: 'ok' })),
      {
        getSteering: () => (asked.push('agent'), words.splice(0, 1)),
        getFollowUp: () => more.splice(0, 1),
      },
    )
    const first = await agent.run('go')
    expect(transcript(first.messages)).toEqual([
      'user: go',
      'user: one',
      'assistant: ok',
      'user: two',
      'assistant: ok',
      'user: and then?',
      'assistant: ok',
    ])
    asked.length = 0
    words.push('three')
    const own = await agent.run('go', { getSteering: () => [] })
    expect([transcript(own.messages), asked]).toEqual([['user: go', 'assistant: ok'], []])
    const session = await agent.createSession()
    session.send('go')
    const result = await session.waitForIdle()
    expect(transcript(result?.messages ?? [])).toContain('user: three')
  })

  it.each(['getSteering', 'getFollowUp'])('as %s of an agent is a function', (option) => {
    expect(() => agentOf([], { [option]: ['stop'] })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
  })
})

describe('a follow-up', () => {
  it('enters when the run would end, and no earlier', async () => {
    const { agent, asked } = agentOf([{ toolCalls: [say('a')] }, { text: 'one' }, { text: 'two' }])
    const stream = agent.stream('go')
    stream.followUp('and then?')
    const { events, result } = await watch(stream)
    expect(asked.map((prompt) => lines(prompt).includes('user: and then?'))).toEqual([false, false, true])
    expect(transcript(result.messages).slice(3)).toEqual(['assistant: one', 'user: and then?', 'assistant: two'])
    expect(only(events, 'agent.followup.queued')).toMatchObject([{ text: 'and then?' }])
    expect(only(events, 'turn.start').map(({ trigger }) => trigger)).toEqual(['input', 'queue'])
    expect(only(events, 'turn.end').map(({ text }) => text)).toEqual(['one', 'two'])
    expect(result).toMatchObject({ status: 'completed', text: 'two', output: 'two' })
  })

  it('skips no call', async () => {
    const { agent } = agentOf([three, { text: 'one' }, { text: 'two' }])
    const stream = agent.stream('go')
    for await (const event of stream) if (event.type === 'tool.execute.start') stream.followUp('later')
    expect(typesOf((await watch(agentOf([three, { text: 'x' }]).agent.stream('go'))).events)).not.toContain(
      'tool.skipped',
    )
    expect(transcript((await stream.result).messages)[2]).toBe('tool: [slow 1] [slow 2] [slow 3]')
  })

  it('may be asked for, until there is none', async () => {
    const words = [['a'], ['b'], []]
    const getFollowUp: NonNullable<RunOptions['getFollowUp']> = () => Promise.resolve(words.shift() ?? [])
    const { agent } = agentOf([{ text: '1' }, { text: '2' }, { text: '3' }])
    expect(transcript((await agent.run('go', { getFollowUp })).messages)).toEqual([
      'user: go',
      'assistant: 1',
      'user: a',
      'assistant: 2',
      'user: b',
      'assistant: 3',
    ])
  })

  it('gives way to a steer', async () => {
    const { agent, asked } = agentOf([{ toolCalls: [say('a')] }, { text: 'one' }, { text: 'two' }])
    const stream = agent.stream('go')
    stream.followUp('later')
    for await (const event of stream) if (event.type === 'tool.execute.start') stream.steer('now')
    expect(lines(asked.at(-1) ?? { messages: [] }).filter((line) => line.startsWith('user'))).toEqual([
      'user: go',
      'user: now',
      'user: later',
    ])
  })
})
