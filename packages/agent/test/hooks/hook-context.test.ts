import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, Hooks, Message, View } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  outside,
  reported,
  say,
  transcript,
  watch,
} from './hook-scenario.ts'

function onContext(name: string, hook: NonNullable<Hooks['context']>): Extension {
  return extension(name, { context: hook })
}
function agentOf(steps: readonly ScriptedStep[], extensions: readonly Extension[], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  return {
    asked,
    agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo], ...more, extensions }),
  }
}
const three: readonly ScriptedStep[] = [{ toolCalls: [say('a')] }, { toolCalls: [say('b')] }, { text: 'done' }]

/** Cuts the first rows of messages in one step. */
function cutIn(step: number, from: number, to: number, words: string | null = 'so far'): Extension {
  return onContext('cut', ({ messages }, { run }) => {
    const [first, last] = [messages[from], messages.at(to)]
    if (run.step !== step || !first || !last) return undefined
    return { from: first.id, to: last.id, with: words === null ? [] : [{ content: words }] }
  })
}

describe('context', () => {
  it('sees before each step what the model is about to see', async () => {
    const seen: unknown[] = []
    const { agent } = agentOf(three, [
      onContext(
        'look',
        ({ messages, label, tokens, trigger }) =>
          void seen.push([messages.map(({ role }) => role), label.integrity, tokens > 0, trigger]),
      ),
    ])
    await agent.run('go')
    expect(seen).toEqual([
      [['user'], 'trusted', true, 'step'],
      [['user', 'assistant', 'tool'], 'untrusted', true, 'step'],
      [['user', 'assistant', 'tool', 'assistant', 'tool'], 'untrusted', true, 'step'],
    ])
  })

  it('counts more tokens as the view grows, and fewer after a cut', async () => {
    const tokens: number[] = []
    const look = onContext('look', (view) => void tokens.push(view.tokens))
    const { agent } = agentOf(three, [look, cutIn(3, 0, -1, 'x'), look])
    await agent.run('go on and tell me about it')
    expect(tokens).toHaveLength(6)
    const [first = 0, , second = 0, , third = 0, cut = 0] = tokens
    expect([first < second, second < third, cut < first]).toEqual([true, true, true])
  })
})

describe('an edit of the view', () => {
  it('changes what is sent from then on, and never what was said', async () => {
    const store = memoryStore()
    const { agent, asked } = agentOf(three, [cutIn(3, 0, 2)], { store })
    const result = await agent.run('go')
    expect(asked.map(lines)).toEqual([
      ['user: go'],
      ['user: go', 'assistant: [echo {"value":"a"}]', 'tool: [echo → echo a]'],
      ['user: so far', 'assistant: [echo {"value":"b"}]', 'tool: [echo → echo b]'],
    ])
    expect(transcript(result.messages)).toEqual([
      'user: go',
      'assistant: [echo]',
      'tool: [echo a]',
      'assistant: [echo]',
      'tool: [echo b]',
      'assistant: done',
    ])
    expect(await entriesOfType(store, result, 'view')).toMatchObject([
      {
        from: `${result.runId}/0/message/input/0`,
        to: `${result.runId}/1/message/tool`,
        reason: 'edit',
        with: [{ role: 'user', content: [{ text: 'so far' }] }],
      },
    ])
    assertWellFormed(result.messages)
  })

  it('holds for the later runs of the session', async () => {
    const { agent, asked } = agentOf([...three, { text: 'again' }], [cutIn(3, 0, 2)])
    const { sessionId } = await agent.run('go')
    await agent.run('and?', { sessionId })
    expect(lines(asked[3] ?? { messages: [] })).toEqual([
      'user: so far',
      'assistant: [echo {"value":"b"}]',
      'tool: [echo → echo b]',
      'assistant: done',
      'user: and?',
    ])
  })

  it('rebuilds the prefix once; after it the prefix stands still again', async () => {
    const { agent, asked } = agentOf(
      [...three.slice(0, 2), { toolCalls: [say('c')] }, { text: 'done' }],
      [cutIn(2, 0, 0)],
    )
    await agent.run('go')
    const [first, second, third] = asked.map(({ messages }) => messages)
    expect(second?.[0]).not.toBe(first?.[0])
    for (const [at, message] of (second ?? []).entries()) expect(third?.[at]).toBe(message)
  })

  it('may leave nothing in the place', async () => {
    const { agent, asked } = agentOf(three, [cutIn(3, 1, 2, null)])
    await agent.run('go')
    expect(lines(asked[2] ?? { messages: [] })).toEqual([
      'user: go',
      'assistant: [echo {"value":"b"}]',
      'tool: [echo → echo b]',
    ])
  })

  it('does not touch instructions and session.start', async () => {
    const { agent, asked } = agentOf(
      three,
      [extension('start', { 'session.start': () => 'Be kind.' }), cutIn(3, 0, -1)],
      { instructions: 'You help.' },
    )
    await agent.run('go')
    expect(lines(asked[2] ?? { messages: [] })).toEqual(['system: You help.', 'system: Be kind.', 'user: so far'])
  })

  it('does not touch what the human said: the intent', async () => {
    const intents: string[][] = []
    const { agent } = agentOf(three, [
      cutIn(2, 0, 0),
      extension('look', { 'model.request': (_request, { intent }) => void intents.push(intent.map(textOf)) }),
    ])
    await agent.run('go')
    expect(intents).toEqual([['go'], ['go'], ['go']])
  })

  it('carries the label of what it replaces, unless it says otherwise', async () => {
    const { messages } = await agentOf(three, [cutIn(3, 0, -1)]).agent.run('go')
    expect(messages.at(-1)?.label).toEqual(outside('echo'))

    const declassify = onContext('declassify', (view, { run }) => {
      const [from, to] = [view.messages[0], view.messages.at(-1)]
      if (run.step !== 3 || !from || !to) return undefined
      return { from: from.id, to: to.id, with: [{ content: 'x', label: { integrity: 'trusted', sources: ['human'] } }] }
    })
    const after = await agentOf(three, [declassify]).agent.run('go')
    expect(after.messages.at(-1)?.label).toEqual({
      integrity: 'trusted',
      confidentiality: 'internal',
      sources: ['human'],
    })
  })

  it('does not take away the label of the system prompt', async () => {
    const start = extension('start', {
      'session.start': () => [{ content: 'X', label: { confidentiality: 'secret' } }],
    })
    const clean = onContext('clean', ({ messages }, { run }) => {
      const [first, last] = [messages[0], messages.at(-1)]
      if (run.step !== 3 || !first || !last) return undefined
      return { from: first.id, to: last.id, with: [{ content: 'x', label: { confidentiality: 'public' } }] }
    })
    const { messages } = await agentOf(three, [start, clean]).agent.run('go')
    expect(messages.at(-1)?.label?.confidentiality).toBe('secret')
  })

  it('by several extensions: the later one sees the view as cut', async () => {
    const seen: string[][] = []
    const { agent } = agentOf(three, [
      cutIn(3, 0, 2),
      onContext('look', (view: View) => void seen.push(transcript(view.messages))),
    ])
    await agent.run('go')
    expect(seen[2]).toEqual(['user: so far', 'assistant: [echo]', 'tool: [echo b]'])
  })
})

describe('an edit that cannot be made fails the run, is named and changes nothing', () => {
  it.for<readonly [string, (messages: readonly Message[]) => readonly [string, string], RegExp]>([
    ['a call without its result', (m) => [m[0]?.id ?? '', m[1]?.id ?? ''], /separate call .* from its result/],
    ['a result without its call', (m) => [m[2]?.id ?? '', m[2]?.id ?? ''], /separate call .* from its result/],
    ['an end before its beginning', (m) => [m[2]?.id ?? '', m[0]?.id ?? ''], /no range/],
    ['a message that is not there', (m) => ['elsewhere', m[2]?.id ?? ''], /no range/],
  ])('%s', async ([, range, complaint]) => {
    const store = memoryStore()
    const torn = onContext('torn', ({ messages }, { run }) => {
      const [from, to] = range(messages)
      return run.step === 2 ? { from, to, with: [{ content: 'x' }] } : undefined
    })
    const { agent, asked } = agentOf(three, [torn], { store })
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result)).toMatchObject({ code: 'hook-failed', message: expect.stringMatching(complaint) })
    expect(reported(events)).toEqual([expect.stringMatching(/^hook torn: /)])
    expect(await entriesOfType(store, result, 'view')).toEqual([])
    expect(asked).toHaveLength(1)
    assertWellFormed(result.messages)
  })

  it('a hook that throws', async () => {
    const { agent } = agentOf(three, [onContext('broken', () => Promise.reject(new Error('no summary')))])
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result).code).toBe('hook-failed')
    expect(reported(events)).toEqual(['hook broken: The context hook of broken threw: no summary'])
  })
})
