import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, Hooks, Message } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { secretRef } from '@provost/tools'
import { describe, expect, it, vi } from 'vitest'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  outside,
  reported,
  say,
  transcript,
  typesOf,
  watch,
} from './hook-scenario.ts'

function onInput(name: string, hook: NonNullable<Hooks['input']>): Extension {
  return extension(name, { input: hook })
}

function agentOf(
  extensions: readonly Extension[],
  steps: readonly ScriptedStep[] = [{ text: 'done' }],
  more: Partial<AgentOptions> = {},
) {
  const asked: ScriptedPrompt[] = []
  return {
    asked,
    agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo], ...more, extensions }),
  }
}

describe('input sees every message that enters', () => {
  it('the one a run starts with, whole and labelled', async () => {
    const seen: Message[] = []
    const { agent } = agentOf([onInput('look', (message) => void seen.push(message))])
    const { runId } = await agent.run('hello')
    expect(seen).toEqual([
      {
        id: `${runId}/0/message/input/0`,
        role: 'user',
        content: [{ type: 'text', text: 'hello' }],
        label: { integrity: 'trusted', confidentiality: 'internal', sources: [] },
        agent: 'a',
        createdAt: expect.any(Number),
      },
    ])
  })

  it('each of a history', async () => {
    const seen: string[] = []
    const { agent } = agentOf([onInput('look', (message) => void seen.push(`${message.role}: ${textOf(message)}`))])
    await agent.run([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ])
    expect(seen).toEqual(['user: a', 'assistant: b', 'user: c'])
  })

  it('steers and follow-ups', async () => {
    const seen: string[] = []
    const { agent } = agentOf(
      [onInput('look', (message) => void seen.push(textOf(message)))],
      [{ toolCalls: [say('x')] }, { text: 'done' }, { text: 'more' }],
    )
    const stream = agent.stream('go')
    stream.followUp('and then?')
    for await (const event of stream) if (event.type === 'tool.execute.start') stream.steer('wait')
    expect(seen).toEqual(['go', 'wait', 'and then?'])
  })

  it('and neither answers nor results nor complaints', async () => {
    const hook = vi.fn()
    const repair = extension('repair', {
      'model.response': (_message, { run }) => (run.step === 2 ? { repair: 'no' } : undefined),
    })
    const { agent } = agentOf(
      [onInput('look', hook), repair],
      [{ toolCalls: [say('x')] }, { text: 'a' }, { text: 'b' }],
    )
    await agent.run('go')
    expect(hook).toHaveBeenCalledTimes(1)
  })
})

describe('an answer of input', () => {
  it('takes the place of the message: it alone is logged, sent and taken for the words of the human', async () => {
    const store = memoryStore()
    const intents: string[] = []
    const mask = onInput('mask', (message) => ({ message: { content: textOf(message).replace('4111', '[card]') } }))
    const look = extension('look', {
      'model.request': (_request, { intent }) => void intents.push(...intent.map(textOf)),
    })
    const { agent, asked } = agentOf([mask, look], undefined, { store })
    const { events, result } = await watch(agent.stream('pay with 4111'))
    expect(asked.map(lines)).toEqual([['user: pay with [card]']])
    expect(intents).toEqual(['pay with [card]'])
    expect(only(events, 'agent.start')[0]?.input.map(textOf)).toEqual(['pay with [card]'])
    expect(JSON.stringify([events, await entriesOfType(store, result, 'message')]).includes('4111')).toBe(false)
  })

  it('goes through the extensions in order, each with what those before it made of the message', async () => {
    const add = (name: string): Extension =>
      onInput(name, (message) => ({ message: { content: `${textOf(message)} ${name}` } }))
    const { agent, asked } = agentOf([add('one'), add('two')])
    await agent.run('go')
    expect(asked.map(lines)).toEqual([['user: go one two']])
  })

  it('keeps role and label where it brings none of its own', async () => {
    const rewrite = onInput('rewrite', () => ({ message: { content: 'x' } }))
    const { agent } = agentOf([rewrite])
    const { messages } = await agent.run([
      { id: 'm1', role: 'user', content: [{ type: 'text', text: 'hi' }], createdAt: 1, label: outside('mail') },
    ])
    expect(messages[0]).toMatchObject({ id: 'm1', role: 'user', label: outside('mail') })
  })

  it('may label the message', async () => {
    const classify = onInput('classify', (message) => ({
      message: { content: message.content, label: { confidentiality: 'secret' } },
    }))
    const { messages } = await agentOf([classify]).agent.run('go')
    expect(messages.map(({ label }) => label?.confidentiality)).toEqual(['secret', 'secret'])
  })

  it('adds a tail, sent behind the history until the run ends and never part of it', async () => {
    const store = memoryStore()
    const memory = onInput('memory', (message) => ({ tail: [{ content: `You know of ${textOf(message)}.` }] }))
    const { agent, asked } = agentOf([memory], [{ toolCalls: [say('x')] }, { text: 'done' }, { text: 'next' }], {
      store,
    })
    const { messages, sessionId } = await agent.run('Ann')
    expect(asked.map((prompt) => lines(prompt).at(-1))).toEqual(['user: You know of Ann.', 'user: You know of Ann.'])
    expect(transcript(messages)).toEqual(['user: Ann', 'assistant: [echo]', 'tool: [echo x]', 'assistant: done'])
    await agent.run('Bob', { sessionId })
    expect(lines(asked[2] ?? { messages: [] }).slice(-2)).toEqual(['user: Bob', 'user: You know of Bob.'])
  })

  it('whose tail is labelled joins that label to the answers', async () => {
    const memory = onInput('memory', () => ({ tail: [{ content: 'x', label: outside('notes') }] }))
    const { messages } = await agentOf([memory]).agent.run('go')
    expect(messages.map(({ label }) => label?.sources)).toEqual([[], ['notes']])
  })

  it('adds its tail before that of the request', async () => {
    const { agent, asked } = agentOf([
      extension('both', {
        'model.request': () => ({ tail: [{ content: 'request' }] }),
        input: () => ({ tail: [{ content: 'input' }] }),
      }),
    ])
    await agent.run('go')
    expect(asked.map(lines)).toEqual([['user: go', 'user: input', 'user: request']])
  })

  it('stops the run before anything is asked, and the log tells of it', async () => {
    const store = memoryStore()
    const guard = onInput('guard', (_message, ctx) => ctx.stop('off-topic', 'Only orders.'))
    const { agent, asked } = agentOf([guard], undefined, { store })
    const { events, result } = await watch(agent.stream('weather?'))
    expect(failure(result)).toMatchObject({ code: 'off-topic', message: 'Only orders.' })
    expect(asked).toEqual([])
    expect(typesOf(events).at(-1)).toBe('agent.end')
    expect(await entriesOfType(store, result, 'run')).toMatchObject([
      { op: 'started' },
      { op: 'ended', status: 'failed', error: { code: 'off-topic' } },
    ])
  })

  it('stops the run at a steer, too', async () => {
    const guard = onInput('guard', (message, ctx) => (textOf(message) === 'evil' ? ctx.stop('evil', 'no') : undefined))
    const { agent } = agentOf([guard], [{ toolCalls: [say('x')] }])
    const stream = agent.stream('go')
    for await (const event of stream) if (event.type === 'tool.execute.start') stream.steer('evil')
    const result = await stream.result
    expect(failure(result).code).toBe('evil')
    expect(transcript(result.messages)).not.toContain('user: evil')
  })
})

it('an input hook that throws fails the run, is named, and lets the message in nowhere', async () => {
  const store = memoryStore()
  const { agent, asked } = agentOf([onInput('broken', () => Promise.reject(new Error('no classifier')))], undefined, {
    store,
  })
  const { events, result } = await watch(agent.stream('hunter2'))
  expect(failure(result)).toMatchObject({ code: 'hook-failed' })
  expect(reported(events)).toEqual(['hook broken: The input hook of broken threw: no classifier'])
  expect(asked).toEqual([])
  expect(JSON.stringify([events, await entriesOfType(store, result, 'message')]).includes('hunter2')).toBe(false)
})

describe('session.start', () => {
  it('adds to the system prompt: text or messages, in the order of extensions, behind the instructions', async () => {
    const { agent, asked } = agentOf(
      [
        extension('one', { 'session.start': () => 'You serve Acme.' }),
        extension('none', { 'session.start': () => undefined }),
        extension('two', {
          'session.start': () => Promise.resolve([{ content: 'Be kind.' }, { content: 'Be brief.' }]),
        }),
      ],
      undefined,
      { instructions: 'You help.' },
    )
    const { messages } = await agent.run('go')
    expect(asked.map(lines)).toEqual([
      ['system: You help.', 'system: You serve Acme.', 'system: Be kind.', 'system: Be brief.', 'user: go'],
    ])
    expect(transcript(messages)).toEqual(['user: go', 'assistant: done'])
  })

  it('is asked once for each session and agent, and its words stay', async () => {
    const store = memoryStore()
    const hook = vi.fn(() => 'You serve Acme.')
    const start = extension('start', { 'session.start': hook })
    const { agent, asked } = agentOf([start], [{ text: '1' }, { text: '2' }, { text: '3' }], { store })
    const { sessionId } = await agent.run('a')
    await agent.run('b', { sessionId })
    expect(hook).toHaveBeenCalledTimes(1)
    await agent.run('c')
    expect(hook).toHaveBeenCalledTimes(2)
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual([
      'system: You serve Acme.',
      'system: You serve Acme.',
      'system: You serve Acme.',
    ])

    const other = createAgent({ name: 'other', model: scriptedModel([{ text: '4' }]), store, extensions: [start] })
    await other.run('d', { sessionId })
    expect(hook).toHaveBeenCalledTimes(3)
  })

  it('is not asked again when a suspended run continues', async () => {
    const hook = vi.fn(() => 'You serve Acme.')
    const ask = extension('ask', { 'tool.call': () => ({ ask: { reason: 'sure?' } }) })
    const { agent, asked } = agentOf(
      [extension('start', { 'session.start': hook }), ask],
      [{ toolCalls: [say('x')] }, { text: 'done' }],
    )
    const { state, pending } = await agent.run('go')
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
    expect(hook).toHaveBeenCalledTimes(1)
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: You serve Acme.', 'system: You serve Acme.'])
  })

  it('gives words that are logged, with their label, which joins that of the answers', async () => {
    const store = memoryStore()
    const start = extension('start', {
      'session.start': () => [{ content: 'The plan is X.', label: { confidentiality: 'secret', sources: ['plan'] } }],
    })
    const { agent } = agentOf([start], undefined, { store })
    const result = await agent.run('go')
    expect(await entriesOfType(store, result, 'message')).toContainEqual(
      expect.objectContaining({
        via: 'system',
        message: expect.objectContaining({
          role: 'system',
          label: expect.objectContaining({ confidentiality: 'secret' }),
        }),
      }),
    )
    expect(result.messages.at(-1)?.label).toMatchObject({ confidentiality: 'secret', sources: ['plan'] })
  })

  it('that throws fails the run, and is named', async () => {
    const { agent, asked } = agentOf([
      extension('broken', { 'session.start': () => Promise.reject(new Error('no tenant')) }),
    ])
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result).code).toBe('hook-failed')
    expect(reported(events)).toEqual(['hook broken: The session.start hook of broken threw: no tenant'])
    expect(asked).toEqual([])
  })

  it('that threw is asked again by the next run of the session', async () => {
    const hook = vi.fn().mockRejectedValueOnce(new Error('no tenant')).mockResolvedValue('You serve Acme.')
    const { agent, asked } = agentOf([extension('start', { 'session.start': hook })])
    const { sessionId } = await agent.run('a')
    await agent.run('b', { sessionId })
    expect(lines(asked[0] ?? { messages: [] })).toEqual(['system: You serve Acme.', 'user: a', 'user: b'])
  })
})

describe('run.start', () => {
  it('adds to the system prompt of a run, in the order of extensions, between the instructions and session.start', async () => {
    const { agent, asked } = agentOf(
      [
        extension('one', { 'session.start': () => 'You serve Acme.', 'run.start': () => 'It is Monday.' }),
        extension('none', { 'run.start': () => undefined }),
        extension('two', { 'run.start': async (ctx) => `Ask ${ctx.principal?.id}.` }),
      ],
      undefined,
      { instructions: 'You help.' },
    )
    await agent.run('go', { principal: { id: 'ann' } })
    expect(asked.map(lines)).toEqual([
      ['system: You help.\n\nIt is Monday.\n\nAsk ann.', 'system: You serve Acme.', 'user: go'],
    ])
  })

  it('is called in each run, also in one that resumes, and the log does not repeat its text', async () => {
    const store = memoryStore()
    let day = 0
    const ask = extension('ask', { 'tool.call': () => ({ ask: { reason: 'sure?' } }) })
    const { agent, asked } = agentOf(
      [extension('day', { 'run.start': () => `Day ${++day}.` }), ask],
      [{ toolCalls: [say('x')] }, { text: 'done' }, { text: 'again' }],
      { store },
    )
    const { state, pending, sessionId } = await agent.run('go')
    const result = await agent.run(state, {
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    })
    await agent.run('more', { sessionId })
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: Day 1.', 'system: Day 2.', 'system: Day 3.'])
    expect(JSON.stringify(await entriesOfType(store, result, 'message'))).not.toContain('Day')
  })

  it('gives the model no value of a secret', async () => {
    const leak = extension('leak', { 'run.start': () => 'The key is k-1234567890.' })
    vi.stubEnv('RUN_START_KEY', 'k-1234567890')
    const { agent, asked } = agentOf([leak], undefined, { secrets: { KEY: secretRef('env:RUN_START_KEY') } })
    vi.unstubAllEnvs()
    await agent.run('go')
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: The key is ⟦secret:KEY⟧.'])
  })

  it('is called for the agent that a handoff leads to', async () => {
    const asked: ScriptedPrompt[] = []
    const names = extension('names', { 'run.start': (ctx) => `You are ${ctx.agent.name}.` })
    const billing = createAgent({ name: 'billing', model: askedModel(asked, [{ text: 'paid' }]), extensions: [names] })
    const desk = createAgent({
      name: 'desk',
      model: askedModel(asked, [{ toolCalls: [{ name: 'transfer_to_billing', input: { message: 'pay' } }] }]),
      handoffs: [billing],
      extensions: [names],
    })
    await desk.run('go')
    expect(asked.map((prompt) => lines(prompt)[0])).toEqual(['system: You are desk.', 'system: You are billing.'])
  })

  it('may end the run, and fails it with an answer that is not text', async () => {
    const closed = extension('hours', { 'run.start': (ctx) => ctx.stop('closed', 'Come back tomorrow.') })
    expect(failure(await agentOf([closed]).agent.run('go')).code).toBe('closed')
    // @ts-expect-error messages, as session.start takes them
    const wrong = extension('wrong', { 'run.start': () => [{ content: 'Be kind.' }] })
    expect(failure(await agentOf([wrong]).agent.run('go'))).toMatchObject({
      code: 'hook-failed',
      message: expect.stringContaining('The run.start hook of wrong returned an invalid answer.'),
    })
  })
})
