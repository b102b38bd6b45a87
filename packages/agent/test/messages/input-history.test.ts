import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Input, Message, ModelMessage } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { askedModel, echo, failure, lines, outside, say, transcript, watch } from '../hooks/hook-scenario.ts'

function agentOf(steps: readonly ScriptedStep[] = [{ text: 'done' }], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ name: 'a', model: askedModel(asked, steps), tools: [echo], ...more }) }
}
const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'echo', input: { value: 'x' } } as const
const result = {
  type: 'tool-result',
  toolCallId: 'c1',
  toolName: 'echo',
  output: { type: 'text', value: 'y' },
} as const

describe('a run takes', () => {
  it('the parts of one message, files included', async () => {
    const { agent, asked } = agentOf()
    const { messages } = await agent.run([
      { type: 'text', text: 'What is this?' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    ])
    expect(asked[0]?.messages).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png' },
        ],
      },
    ])
    expect(messages[0]?.content).toMatchObject([
      { type: 'text' },
      { type: 'file', data: { type: 'data', data: 'aGk=' } },
    ])
  })

  it('messages of the AI SDK, losing nothing: calls, results, bytes, signatures', async () => {
    const history: ModelMessage[] = [
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', image: new Uint8Array([104, 105]), mediaType: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } }, call],
      },
      { role: 'tool', content: [result] },
      { role: 'assistant', content: 'I saw.' },
      { role: 'user', content: 'and?' },
    ]
    const { agent, asked } = agentOf([{ text: 'done' }], { allowSystemMessages: true })
    const { messages } = await agent.run(history)
    expect(asked.map(lines)).toEqual([
      [
        'system: Be kind.',
        'user: look [file]',
        'assistant: (hm) [echo {"value":"x"}]',
        'tool: [echo → y]',
        'assistant: I saw.',
        'user: and?',
      ],
    ])
    expect(asked[0]?.messages[2]).toMatchObject({
      content: [{ providerOptions: { anthropic: { signature: 'sig' } } }, { toolCallId: 'c1' }],
    })
    expect(messages[0]?.content[1]).toMatchObject({ type: 'file', data: { type: 'data', data: 'aGk=' } })
    assertWellFormed(messages)
  })

  it('messages of ours, as another run gave them: the same prompt, with a new question behind', async () => {
    const first = agentOf([{ reasoning: 'hm', text: 'Let me see', toolCalls: [say('x')] }, { text: 'done' }])
    const { messages } = await first.agent.run('go')
    const second = agentOf()
    const question: Message = { id: 'q', role: 'user', createdAt: 1, content: [{ type: 'text', text: 'and?' }] }
    const { messages: all } = await second.agent.run([...messages, question])
    expect(lines(second.asked[0] ?? { messages: [] }).slice(0, 3)).toEqual(lines(first.asked[1] ?? { messages: [] }))
    expect(lines(second.asked[0] ?? { messages: [] }).slice(3)).toEqual(['assistant: done', 'user: and?'])
    expect(all.map(({ id }) => id).slice(0, 5)).toEqual([...messages.map(({ id }) => id), 'q'])
    expect(all.slice(0, 4).map(({ label }) => label)).toEqual(messages.map(({ label }) => label))
    assertWellFormed(all)
  })

  it('several messages of the human in a row', async () => {
    const { agent, asked } = agentOf()
    const { messages } = await agent.run([
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ])
    expect(asked.map(lines)).toEqual([['user: a', 'user: b']])
    assertWellFormed(messages)
  })

  it.for<readonly [string, unknown]>([
    ['nothing', undefined],
    ['a number', 7],
    ['an empty list', []],
    ['a list of texts', ['a', 'b']],
    [
      'parts among messages',
      [
        { role: 'user', content: 'a' },
        { type: 'text', text: 'b' },
      ],
    ],
    [
      'messages of the AI SDK among ours, whose labels would be lost',
      [
        { id: 'm', role: 'user', createdAt: 1, content: [{ type: 'text', text: 'a' }], label: outside('mail') },
        { role: 'user', content: 'b' },
      ],
    ],
    ['a role that is none', [{ role: 'boss', content: 'a' }]],
    ['a text without words', [{ type: 'text' }]],
    ['a file without bytes', [{ role: 'user', content: [{ type: 'file' }] }]],
    ['nothing for a part', [{ role: 'user', content: [null] }]],
    [
      'a call of no tool',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'tool-call' }] },
      ],
    ],
    ['a message of ours that lacks something', [{ id: 'm', role: 'user', createdAt: 1, content: [{ type: 'text' }] }]],
  ])('and not %s: the run fails and says what it takes', async ([, input]) => {
    const { agent, asked } = agentOf()
    const { events, result: end } = await watch(agent.stream(input as Input))
    expect(failure(end)).toMatchObject({ code: 'invalid-input', hint: expect.stringContaining('string') })
    expect(asked).toEqual([])
    expect(events.at(-1)?.type).toBe('agent.end')
  })
})

describe('a history from outside is repaired', () => {
  it.for<readonly [string, readonly ModelMessage[], readonly string[]]>([
    [
      'a call without a result gets an error',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call] },
        { role: 'user', content: 'b' },
      ],
      ['user: a', 'assistant: [echo {"value":"x"}]', 'tool: [echo → This call was never finished.]', 'user: b'],
    ],
    [
      'so does one at the end',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call] },
      ],
      ['user: a', 'assistant: [echo {"value":"x"}]', 'tool: [echo → This call was never finished.]'],
    ],
    [
      'and one of several',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call, { ...call, toolCallId: 'c2' }] },
        { role: 'tool', content: [result] },
        { role: 'user', content: 'b' },
      ],
      [
        'user: a',
        'assistant: [echo {"value":"x"}] [echo {"value":"x"}]',
        'tool: [echo → y] [echo → This call was never finished.]',
        'user: b',
      ],
    ],
    [
      'a result without a call goes',
      [
        { role: 'user', content: 'a' },
        { role: 'tool', content: [result] },
        { role: 'user', content: 'b' },
      ],
      ['user: a', 'user: b'],
    ],
    [
      'system messages move to the front',
      [
        { role: 'user', content: 'a' },
        { role: 'system', content: 's' },
      ],
      ['system: s', 'user: a'],
    ],
    [
      'the first turn becomes the human one',
      [
        { role: 'assistant', content: 'hello' },
        { role: 'user', content: 'a' },
      ],
      ['user: (The conversation begins with the assistant.)', 'assistant: hello', 'user: a'],
    ],
  ])('%s', async ([, history, prompt]) => {
    const { agent, asked } = agentOf([{ text: 'done' }], { allowSystemMessages: true })
    const { messages, status } = await agent.run(history)
    expect(status).toBe('completed')
    expect(asked.map(lines)).toEqual([prompt])
    assertWellFormed(messages)
  })

  it('in whatever disorder it comes', async () => {
    const id = fc.constantFrom('c1', 'c2', '')
    const message: fc.Arbitrary<ModelMessage> = fc.oneof(
      fc.record({ role: fc.constant('user' as const), content: fc.constantFrom('a', 'b') }),
      fc.record({ role: fc.constant('system' as const), content: fc.constant('s') }),
      fc.record({ role: fc.constant('assistant' as const), content: fc.constant('hello') }),
      fc.record({
        role: fc.constant('assistant' as const),
        content: fc.array(
          id.map((toolCallId) => ({ ...call, toolCallId })),
          { minLength: 1, maxLength: 3 },
        ),
      }),
      fc.record({
        role: fc.constant('tool' as const),
        content: fc.array(
          id.map((toolCallId) => ({ ...result, toolCallId })),
          { minLength: 1, maxLength: 3 },
        ),
      }),
    )
    // System messages and results of nothing are no conversation: they are refused.
    const spoken = (history: readonly ModelMessage[]): boolean =>
      history.some(({ role }) => role === 'user' || role === 'assistant')
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }).filter(spoken), async (history) => {
        const { agent, asked } = agentOf([{ text: 'done' }], { allowSystemMessages: true })
        const { messages, status } = await agent.run(history)
        expect(status).toBe('completed')
        assertWellFormed(messages)
        const wireIds = (asked[0]?.messages ?? []).flatMap(({ role, content }) =>
          role === 'assistant' ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : [],
        )
        expect(new Set(wireIds).size).toBe(wireIds.length)
        expect(wireIds).not.toContain('')
      }),
    )
  })

  it('also when it comes to a session that knows those ids already', async () => {
    const store = memoryStore()
    const { agent } = agentOf([{ text: 'one' }, { text: 'two' }], { store })
    const history: ModelMessage[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [result] },
      { role: 'user', content: 'b' },
    ]
    const first = await agent.run(history)
    const second = await agent.run(history, { sessionId: first.sessionId })
    assertWellFormed([...first.messages, ...second.messages])
    expect(transcript(second.messages)).toEqual([...transcript(first.messages).slice(0, -1), 'assistant: two'])
  })
})
