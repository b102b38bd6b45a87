import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { HookContext, Message, ModelMessage } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { describe, expect, it, vi } from 'vitest'

import {
  askedModel,
  echo,
  extension,
  failure,
  lines,
  reported,
  say,
  transcript,
  watch,
} from '../hooks/hook-scenario.ts'

function agentOf(steps: readonly ScriptedStep[] = [{ text: 'done' }], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo], ...more }) }
}
const note: Message = {
  id: 'n',
  role: 'custom:note',
  createdAt: 1,
  content: [{ type: 'text', text: 'prefers mornings' }],
}
const question: Message = { id: 'q', role: 'user', createdAt: 2, content: [{ type: 'text', text: 'when?' }] }

describe('a message of a custom role', () => {
  it('stays in the history and reaches no model', async () => {
    const { agent, asked } = agentOf()
    const { messages } = await agent.run([note, question])
    expect(asked.map(lines)).toEqual([['user: when?']])
    expect(transcript(messages)).toEqual(['custom:note: prefers mornings', 'user: when?', 'assistant: done'])
  })

  it('reaches it where convertToModel maps it; the other messages keep the default of their role', async () => {
    const convertToModel = vi.fn((message: Message): ModelMessage | undefined =>
      message.role === 'custom:note' ? { role: 'user', content: `(note: ${textOf(message)})` } : undefined,
    )
    const { agent, asked } = agentOf([{ toolCalls: [say('x')] }, { text: 'done' }], { convertToModel })
    const { messages } = await agent.run([note, question])
    expect(asked.map((prompt) => lines(prompt).slice(0, 2))).toEqual([
      ['user: (note: prefers mornings)', 'user: when?'],
      ['user: (note: prefers mornings)', 'user: when?'],
    ])
    expect(convertToModel.mock.calls.map(([{ id }]) => id)).toEqual(messages.slice(0, -1).map(({ id }) => id))
  })

  it('holds data of the application: logged, shown to convertToModel, kept by other processes', async () => {
    const order = { id: 17, lines: [{ sku: 'a', n: 2 }] }
    const seen: unknown[] = []
    const store = memoryStore()
    const { agent, asked } = agentOf([{ text: 'one' }, { text: 'two' }], {
      store,
      convertToModel(message) {
        if (message.role !== 'custom:order') return undefined
        seen.push(message.data)
        return { role: 'user', content: `order ${JSON.stringify(message.data)}` }
      },
    })
    const given = { ...note, role: 'custom:order', data: order } as const
    const { sessionId, messages } = await agent.run([given, question])
    expect(messages[0]?.data).toMatchObject({ id: 17, lines: [{ sku: 'a', n: 2 }] })
    const session = await agent.resumeSession(sessionId)
    session.messages.append({ role: 'custom:order', content: '', data: { id: 18, at: new Date(0) } })
    await session.waitForIdle()
    const again = await agent.resumeSession(sessionId)
    expect(again.messages.at(-1)).toMatchObject({
      role: 'custom:order',
      data: { id: 18, at: '1970-01-01T00:00:00.000Z' },
    })
    await agent.run('more', { session: again })
    expect(lines(asked[1] ?? { messages: [] })[0]).toContain('order {"id":17,"lines":[{"sku":"a","n":2}]')
    expect(seen.at(-1)).toEqual({ id: 18, at: '1970-01-01T00:00:00.000Z' })
    expect(Object.isFrozen(again.messages.at(-1)?.data)).toBe(true)
  })

  it('holds data also where it comes without an id, in a run and in the history of a session', async () => {
    const { agent } = agentOf()
    const order = { role: 'custom:order', content: 'an order', data: { id: 17 } }
    const history = [order, { role: 'user', content: 'ship it' }] as unknown as ModelMessage[]
    const { messages } = await agent.run(history)
    expect(messages[0]).toMatchObject({ role: 'custom:order', data: { id: 17 } })
    const session = await agent.createSession({ messages: history })
    expect(session.messages.find(({ role }) => role === 'custom:order')?.data).toEqual({ id: 17 })
  })

  it('is the only one that holds data', async () => {
    const { agent } = agentOf()
    const { error } = await agent.run([note, { ...question, data: 1 }])
    expect(error).toMatchObject({ code: 'invalid-input', message: expect.stringContaining('custom: role') })
    const session = await agent.createSession()
    expect(() => session.messages.append({ content: 'x', data: 1 })).toThrow(/custom: role/)
    expect(() => session.messages.append({ role: 'custom:x', content: 'x', data: 1n })).toThrow(/BigInt|JSON/)
  })

  it.each<[string, () => unknown]>([
    ['a promise', async () => ({ role: 'user', content: 'x' })],
    ['a number', () => 17],
    ['null', () => null],
    ['a role that no model knows', () => [{ role: 'robot', content: 'x' }]],
  ])('fails the run by name where convertToModel returns %s', async (_, answer) => {
    const { agent, asked } = agentOf(undefined, { convertToModel: answer as () => undefined })
    const { status, error } = await agent.run([note, question])
    expect({ status, error }).toMatchObject({
      status: 'failed',
      error: { code: 'invalid-answer', message: expect.stringContaining('convertToModel'), hint: expect.any(String) },
    })
    expect(asked).toEqual([])
  })

  it('may become several messages, or none', async () => {
    const { agent, asked } = agentOf(undefined, {
      convertToModel: ({ role }) =>
        role === 'custom:note'
          ? [
              { role: 'user', content: 'note 1' },
              { role: 'user', content: 'note 2' },
            ]
          : role === 'user'
            ? []
            : undefined,
    })
    await agent.run([note, question])
    expect(asked.map(lines)).toEqual([['user: note 1', 'user: note 2']])
  })
})

describe('what went wrong before', () => {
  const bad = Object.assign(new Error('bad request'), { status: 400 })

  it('is not shown to the model in the next run of the session', async () => {
    const { agent, asked } = agentOf([{ text: 'Half', failAfterChunks: 1, error: bad }, { text: 'done' }])
    const { sessionId, messages } = await agent.run('go')
    expect(transcript(messages)).toEqual(['user: go', 'error: Half'])
    await agent.run('again', { sessionId })
    expect(lines(asked[1] ?? { messages: [] })).toEqual(['user: go', 'user: again'])
  })

  it('is, where convertToModel maps it', async () => {
    const { agent, asked } = agentOf([{ text: 'Half', failAfterChunks: 1, error: bad }, { text: 'done' }], {
      convertToModel: (message) =>
        message.role === 'error'
          ? { role: 'assistant', content: `${textOf(message)}… (${message.error?.message})` }
          : undefined,
    })
    const { sessionId } = await agent.run('go')
    await agent.run('again', { sessionId })
    expect(lines(asked[1] ?? { messages: [] })).toEqual(['user: go', 'assistant: Half… (bad request)', 'user: again'])
  })
})

describe('reasoning', () => {
  const thought: ScriptedStep = {
    reasoning: { text: 'hm', providerMetadata: { anthropic: { signature: 'c2ln' } } },
    text: 'Let me see',
    toolCalls: [say('x')],
  }

  it('goes back to the model as it came, with its signature', async () => {
    const { agent, asked } = agentOf([thought, { text: 'done' }])
    await agent.run('go')
    expect(asked[1]?.messages[1]).toMatchObject({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'c2ln' } } },
        { type: 'text' },
        { type: 'tool-call' },
      ],
    })
  })

  it('is stripped from the prompt where the agent says so, and stays in the history', async () => {
    const { agent, asked } = agentOf([thought, { text: 'done' }], { reasoningRetention: 'strip' })
    const { messages } = await agent.run('go')
    expect(lines(asked[1] ?? { messages: [] })[1]).toBe('assistant: Let me see [echo {"value":"x"}]')
    expect(messages[1]?.content[0]).toMatchObject({ type: 'reasoning', text: 'hm' })
  })

  it('is no part of the text of an answer', async () => {
    const { agent } = agentOf([{ reasoning: 'hm', text: 'Yes' }])
    expect(await agent.run('go')).toMatchObject({ text: 'Yes', output: 'Yes' })
  })
})

describe('instructions', () => {
  it('stand in front of every prompt, and in no history', async () => {
    const { agent, asked } = agentOf([{ toolCalls: [say('x')] }, { text: 'done' }], { instructions: 'You help.' })
    const { messages } = await agent.run('go')
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: You help.', 'system: You help.'])
    expect(messages.map(({ role }) => role)).not.toContain('system')
  })

  it('of a function are asked for once a run, with the context of a hook', async () => {
    const instructions = vi.fn((ctx: HookContext) =>
      Promise.resolve(`You help ${ctx.principal?.id} in ${ctx.agent.name}.`),
    )
    const { agent, asked } = agentOf([{ toolCalls: [say('x')] }, { text: 'done' }, { text: 'more' }], { instructions })
    const { sessionId } = await agent.run('go', { principal: { id: 'ann' } })
    expect(instructions).toHaveBeenCalledTimes(1)
    await agent.run('on', { sessionId, principal: { id: 'bob' } })
    expect(instructions).toHaveBeenCalledTimes(2)
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual([
      'system: You help ann in a.',
      'system: You help ann in a.',
      'system: You help bob in a.',
    ])
  })

  it('of a function are the same when a suspended run continues', async () => {
    let asks = 0
    const ask = extension('ask', {
      'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: '?' } }),
    })
    const { agent, asked } = agentOf([{ toolCalls: [say('x')] }, { text: 'done' }], {
      instructions: () => `Version ${++asks}`,
      extensions: [ask],
    })
    const { state, pending } = await agent.run('go')
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: Version 1', 'system: Version 1'])
  })

  it('that cannot be made fail the run, and name the agent', async () => {
    const { agent, asked } = agentOf(undefined, { instructions: () => Promise.reject(new Error('no template')) })
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result)).toMatchObject({ code: 'hook-failed', message: expect.stringContaining('no template') })
    expect(reported(events)).toEqual(['hook a: The instructions hook of a threw: no template'])
    expect(asked).toEqual([])
  })
})
