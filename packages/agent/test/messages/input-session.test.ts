import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import { SessionBusyError, textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  reported,
  say,
  transcript,
  typesOf,
  watch,
} from '../hooks/hook-scenario.ts'

function agentOf(steps: readonly ScriptedStep[], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo], ...more }) }
}

describe('runs of one session', () => {
  it('continue the conversation; each gives the messages and the usage that are its own', async () => {
    const { agent, asked } = agentOf([
      { toolCalls: [say('x')], usage: { inputTokens: 1 } },
      { text: 'one', usage: { inputTokens: 2 } },
      { text: 'two', usage: { inputTokens: 4 } },
    ])
    const first = await agent.run('go')
    const second = await agent.run('on', { sessionId: first.sessionId })
    expect(second.sessionId).toBe(first.sessionId)
    expect(second.runId).not.toBe(first.runId)
    expect(lines(asked[2] ?? { messages: [] })).toEqual([
      'user: go',
      'assistant: [echo {"value":"x"}]',
      'tool: [echo → echo x]',
      'assistant: one',
      'user: on',
    ])
    expect(transcript(second.messages)).toEqual(['user: on', 'assistant: two'])
    expect([first.usage.inputTokens, second.usage.inputTokens]).toEqual([3, 4])
    assertWellFormed([...first.messages, ...second.messages])
  })

  it('begin it under any id that is given', async () => {
    const store = memoryStore()
    const { agent } = agentOf([{ text: 'one' }, { text: 'two' }], { store })
    const first = await agent.run('go', { sessionId: 'mine' })
    await agent.run('on', { sessionId: 'mine' })
    expect(first.sessionId).toBe('mine')
    expect((await entriesOfType(store, first, 'message')).map(({ message }) => textOf(message))).toEqual([
      'go',
      'one',
      'on',
      'two',
    ])
  })

  it('continue after one that failed or was aborted', async () => {
    const { agent, asked } = agentOf([
      {
        text: 'Half',
        toolCalls: [say('x')],
        failAfterChunks: 2,
        error: Object.assign(new Error('bad'), { status: 400 }),
      },
      { text: 'Stal', stall: true },
      { text: 'done' },
    ])
    const { sessionId, messages } = await agent.run('one')
    const stream = agent.stream('two', { sessionId })
    for await (const event of stream) if (event.type === 'text.delta') void stream.abort({ graceMs: 0 })
    const aborted = await stream.result
    const last = await agent.run('three', { sessionId })
    expect(last.text).toBe('done')
    expect(lines(asked[2] ?? { messages: [] })).toEqual(['user: one', 'user: two', 'user: three'])
    assertWellFormed([...messages, ...aborted.messages, ...last.messages])
  })

  it('of agents with one store see each other', async () => {
    const store = memoryStore()
    const { sessionId } = await agentOf([{ text: 'one' }], { store }).agent.run('go')
    const other = agentOf([{ text: 'two' }], { store, name: 'b' })
    await other.agent.run('on', { sessionId })
    expect(other.asked.map(lines)).toEqual([['user: go', 'assistant: one', 'user: on']])
  })

  it('say on whose behalf they act', async () => {
    const store = memoryStore()
    const { agent } = agentOf([{ text: 'one' }], { store })
    const result = await agent.run('go', { principal: { id: 'ann', roles: ['clerk'] } })
    expect(await entriesOfType(store, result, 'run')).toMatchObject([
      { op: 'started', principal: { id: 'ann', roles: ['clerk'] } },
      { op: 'ended' },
    ])
  })
})

describe('a second run in a session that is being written', () => {
  async function busy() {
    const gate = Promise.withResolvers<string>()
    const wait = tool({ name: 'wait', input: z.object({}), execute: () => gate.promise })
    const { agent } = agentOf([{ toolCalls: [{ name: 'wait' }] }, { text: 'one' }, { text: 'three' }], {
      tools: [wait],
    })
    const first = agent.stream('go', { sessionId: 's' })
    for await (const event of first) if (event.type === 'tool.execute.start') break
    return { agent, first, gate }
  }

  it('fails at once, says why, and changes nothing', async () => {
    const { agent, first, gate } = await busy()
    const { events, result } = await watch(agent.stream('me too', { sessionId: 's' }))
    const error = failure(result)
    expect(error).toBeInstanceOf(SessionBusyError)
    expect(error).toMatchObject({ code: 'session-busy', retryable: true })
    expect(typesOf(events)).toEqual(['agent.error', 'agent.end'])
    expect(reported(events)).toEqual(['store lease: Session s is being written by another run.'])
    gate.resolve('waited')
    expect(transcript((await first.result).messages)).toEqual([
      'user: go',
      'assistant: [wait]',
      'tool: [waited]',
      'assistant: one',
    ])
  })

  it('may come again when the first has ended', async () => {
    const { agent, first, gate } = await busy()
    gate.resolve('waited')
    await first.result
    expect(await agent.run('now', { sessionId: 's' })).toMatchObject({ status: 'completed', text: 'three' })
  })

  it('does not disturb runs of other sessions', async () => {
    const { agent, first, gate } = await busy()
    expect(await agent.run('hello')).toMatchObject({ status: 'completed' })
    gate.resolve('waited')
    await first.result
  })
})

it('a session whose run is suspended takes no other run: that one is resumed first', async () => {
  const ask = extension('ask', {
    'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: '?' } }),
  })
  const { agent } = agentOf([{ toolCalls: [say('x')] }, { text: 'one' }, { text: 'two' }], { extensions: [ask] })
  const first = await agent.run('go')
  const second = await agent.run('on', { sessionId: first.sessionId })
  expect(failure(second)).toMatchObject({ code: 'session-open' })
  const resumed = await agent.run(first.state, {
    approvals: first.pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
  })
  expect(resumed).toMatchObject({ status: 'completed', text: 'one' })
  expect(await agent.run('on', { sessionId: first.sessionId })).toMatchObject({ status: 'completed', text: 'two' })
})

it('the usage of a run belongs to the models that answered, failed attempts included', async () => {
  const small = scriptedModel([{ text: 'ok', usage: { inputTokens: 5, outputTokens: 1 } }], { modelId: 'small' })
  const { agent } = agentOf([], {
    model: scriptedModel([{ text: 'x', toolCalls: [say('y')], usage: { inputTokens: 3, outputTokens: 2 } }], {
      modelId: 'big',
    }),
    extensions: [
      extension('route', { 'model.request': (_request, { run }) => (run.step === 2 ? { model: small } : undefined) }),
    ],
    prices: { 'scripted/big': { input: 1_000_000, output: 0 }, 'scripted/small': { input: 0, output: 1_000_000 } },
  })
  const { usage, cost } = await agent.run('go')
  expect(usage).toMatchObject({
    inputTokens: 8,
    outputTokens: 3,
    byModel: { 'scripted/big': { inputTokens: 3, cost: 3 }, 'scripted/small': { inputTokens: 5, cost: 1 } },
  })
  expect(cost).toBe(4)
})
