import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry, ScriptedPrompt } from '@provost/testing'
import { fromAiTool, tool } from '@provost/tools'
import { dynamicTool, jsonSchema, tool as aiTool } from 'ai'
import type { ModelMessage } from 'ai'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'

import { askedModel, entriesOf, extension, only, reported, watch } from '../hooks/hook-scenario.ts'

const city = z.object({ city: z.string() })
const rainy = { city: 'Oslo' }

function setUp(
  tools: NonNullable<AgentOptions['tools']>,
  steps: readonly ScriptedEntry[],
  more: Partial<AgentOptions> = {},
) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ name: 'desk', model: askedModel(asked, steps), tools, ...more }) }
}

/** One call of the tool `t`, and how it ended. */
async function callOf(
  given: NonNullable<AgentOptions['tools']>,
  input: unknown = rainy,
  more: Partial<AgentOptions> = {},
) {
  const { agent, asked } = setUp(given, [{ toolCalls: [{ name: 't', input }] }, { text: 'done' }], more)
  const { events, result } = await watch(agent.stream('go', { context: { user: 'ann' } }))
  const [end] = [...only(events, 'tool.execute.end'), ...only(events, 'tool.execute.error')]
  return { agent, asked, events, result, end }
}

function fail(): never {
  throw new Error('boom')
}

describe('tools of the AI SDK', () => {
  test.each<[string, object]>([
    ['a plain JSON Schema', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }],
    ['a JSON Schema without a type', { properties: { city: { type: 'string' } }, required: ['city'] }],
    ['jsonSchema()', jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })],
    ['zod', city],
  ])('may be plain objects in a record, with %s', async (_, inputSchema) => {
    const seen: unknown[] = []
    const execute = (input: unknown) => `rain ${seen.push(input)}`
    const tools: NonNullable<AgentOptions['tools']> = { t: { description: 'Weather.', inputSchema, execute } }
    const { end, asked } = await callOf(tools)
    expect(end).toMatchObject({ type: 'tool.execute.end', output: { type: 'text', value: 'rain 1' } })
    expect(seen).toEqual([rainy])
    expect(asked[0]?.tools).toMatchObject([{ name: 't', inputSchema: { required: ['city'] } }])
    const wrong = await callOf(tools, { city: 1 })
    expect(wrong.end).toMatchObject({ type: 'tool.execute.error' })
    expect(seen).toHaveLength(1)
  })

  test.each<[string, () => unknown, string, string]>([
    ['throws', () => fail(), 'boom', 'Correct its schema'],
    ['is asynchronous and throws', async () => fail(), 'returned a promise', 'jsonSchema(async'],
    ['returns a number', () => 17, 'not one that the AI SDK accepts', 'Use a Standard Schema'],
  ])('are rejected with a hint where a lazy schema %s', async (_, inputSchema, message, hint) => {
    // The rejection of an asynchronous schema is handled: vitest fails at an unhandled one.
    const tools = JSON.parse('{ "t": {} }')
    Object.assign(tools.t, { inputSchema, execute: () => 'rain' })
    expect(() => setUp(tools, [])).toThrow(
      expect.objectContaining({
        code: 'invalid-agent',
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      }),
    )
    await new Promise(setImmediate)
  })

  test('as plain objects are typed', () => {
    const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
    const agent = createAgent({
      name: 'desk',
      model: 'openai/gpt-5',
      tools: {
        weather: { description: 'Weather.', inputSchema, execute: ({ city: at }: { city: string }) => `rain in ${at}` },
      },
    })
    expect(agent.registry.get('weather')).toMatchObject({ description: 'Weather.', effect: 'egress', remote: false })
  })

  test('are taken as they are, under the names of their set, beside our own', async () => {
    const ours = tool({ name: 'ours', effect: 'read', input: city, execute: () => 'ours' })
    const theirs = aiTool({ description: 'Weather.', inputSchema: city, execute: ({ city: at }) => `rain in ${at}` })
    const list = [ours, { weather: theirs, again: ours }] as const
    expect(createAgent({ name: 'desk', model: 'openai/gpt-5', tools: list }).registry.tools).toMatchObject([
      { name: 'ours', effect: 'read' },
      {
        name: 'weather',
        description: 'Weather.',
        effect: 'egress',
        inputSchema: { required: ['city'] },
        remote: false,
      },
      { name: 'again', effect: 'read' },
    ])
    const { agent } = setUp({ weather: theirs, ours }, [
      { toolCalls: ['weather', 'ours'].map((name) => ({ name, input: rainy })) },
      { text: 'done' },
    ])
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.end').map(({ output }) => output)).toEqual([
      { type: 'text', value: 'rain in Oslo' },
      { type: 'text', value: 'ours' },
    ])
    expect(only(events, 'tool.execute.end')[0]?.label).toMatchObject({ integrity: 'untrusted', sources: ['weather'] })
  })

  test.each([
    ['zod 4', city],
    ['zod 3', z3.object({ city: z3.string() })],
    ['valibot', v.object({ city: v.string() })],
    ['arktype', type({ city: 'string' })],
    ['JSON Schema', jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })],
    [
      'a promise of JSON Schema',
      jsonSchema(Promise.resolve({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })),
    ],
    [
      'JSON Schema with a check of its own',
      jsonSchema(
        { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        {
          validate: (value) =>
            JSON.stringify(value).includes('Oslo')
              ? { success: true, value }
              : { success: false, error: new Error('no such city') },
        },
      ),
    ],
    [
      'a lazy schema',
      () => jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
    ],
  ])('describe and check their input with %s', async (_, inputSchema) => {
    const seen: unknown[] = []
    const t = dynamicTool({ inputSchema, execute: (input) => seen.push(input) })
    const good = await callOf({ t })
    expect(good.asked[0]?.tools).toMatchObject([
      { name: 't', inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
    ])
    expect(seen).toEqual([rainy])
    const bad = await callOf({ t }, { city: 5 })
    expect(bad.end).toMatchObject({ error: { code: 'invalid-tool-input' } })
    expect(seen).toHaveLength(1)
  })

  test('get the id of the call, the history before it, the signal and the app value', async () => {
    const seen: unknown[] = []
    const messages: ModelMessage[] = []
    const t = aiTool({
      inputSchema: city,
      contextSchema: z.object({ user: z.string().transform((name) => name.toUpperCase()) }),
      execute: (_, options) => {
        seen.push(options.toolCallId, options.abortSignal instanceof AbortSignal, options.context)
        messages.push(...options.messages)
      },
    })
    const { end } = await callOf({ t })
    expect(seen).toEqual([end?.callId, true, { user: 'ANN' }])
    expect(messages).toMatchObject([{ role: 'user', content: [{ type: 'text', text: 'go' }] }])
    const { agent } = setUp({ t }, [{ toolCalls: [{ name: 't', input: rainy }] }, { text: 'done' }])
    const { events } = await watch(agent.stream('go', { context: { user: 5 } }))
    expect(only(events, 'tool.execute.error')).toMatchObject([{ error: { code: 'invalid-context' } }])
  })

  test('that yield give whole results so far, also as text; the last one counts', async () => {
    const t = aiTool({
      inputSchema: city,
      async *execute() {
        yield 'looking'
        yield 'looking further'
        yield 'rain'
      },
    })
    const { events, end } = await callOf({ t })
    expect(only(events, 'tool.execute.partial').map((event) => 'value' in event && event.value)).toEqual([
      'looking',
      'looking further',
      'rain',
    ])
    expect(end).toMatchObject({ output: { type: 'text', value: 'rain' } })
  })

  test.each([
    ['text', { type: 'text', value: 'in short' }],
    ['JSON', { type: 'json', value: { short: true } }],
    ['an error', { type: 'error-text', value: 'in short' }],
    ['content', { type: 'content', value: [{ type: 'text', text: 'in short' }] }],
  ] as const)('say to the model what toModelOutput says, as %s', async (_, output) => {
    const t = aiTool({
      inputSchema: city,
      execute: async () => ({ degrees: [1, 2, 3] }),
      toModelOutput: ({ output: { degrees }, input, toolCallId }) => {
        expect([degrees, input, toolCallId !== '']).toEqual([[1, 2, 3], rainy, true])
        return output.type === 'content' ? { type: 'content', value: [...output.value] } : output
      },
    })
    const values: unknown[] = []
    const { end, asked } = await callOf({ t }, rainy, {
      extensions: [extension('look', { 'tool.result': ({ value }) => void values.push(value) })],
    })
    expect(end).toMatchObject({ output })
    expect(values).toEqual([{ degrees: [1, 2, 3] }])
    expect(JSON.stringify(asked[1]?.messages)).toContain(JSON.stringify(output.value).slice(1, -1))
  })

  test('that need approval wait for it, and state the reason', async () => {
    const seen: unknown[] = []
    const t = aiTool({
      inputSchema: city,
      needsApproval: ({ city: at }, { toolCallId, messages, context }) => {
        seen.push(at, toolCallId, messages.length, context)
        return true
      },
      execute: () => 'rain',
    })
    const { agent } = setUp({ t }, [{ toolCalls: [{ name: 't', input: rainy }] }, { text: 'done' }])
    const first = await agent.run('go', { context: 'app' })
    expect(first).toMatchObject({ status: 'suspended', pending: { approvals: [{ toolName: 't', input: rainy }] } })
    const [approval] = first.pending.approvals
    expect(seen).toEqual(['Oslo', approval?.callId, 1, 'app'])
    const second = await agent.run(first.state, { approvals: [{ id: approval?.id ?? '', decision: 'approve' }] })
    expect(second).toMatchObject({ status: 'completed', text: 'done' })
    const always = setUp({ t: { ...t, needsApproval: true } }, [{ toolCalls: [{ name: 't', input: rainy }] }])
    expect(await always.agent.run('go')).toMatchObject({ status: 'suspended' })
  })

  test('without execute are remote', async () => {
    const t = aiTool({ inputSchema: city, outputSchema: z.object({ degrees: z.number() }) })
    const { agent } = setUp({ t }, [{ toolCalls: [{ name: 't', input: rainy }] }, { text: 'done' }])
    const first = await agent.run('go')
    expect(first.pending.remoteCalls).toMatchObject([{ toolName: 't', input: rainy }])
    const callId = first.pending.remoteCalls[0]?.callId ?? ''
    expect(await agent.run(first.state, { toolResults: [{ callId, output: { degrees: 3 } }] })).toMatchObject({
      text: 'done',
    })
  })

  test('with an output schema have their output checked', async () => {
    const t = dynamicTool({ inputSchema: city, execute: () => ({ degrees: 'warm' }) })
    const { end } = await callOf({
      t: { ...t, outputSchema: jsonSchema({ properties: { degrees: { type: 'number' } } }) },
    })
    expect(end).toMatchObject({ error: { code: 'invalid-tool-output', message: expect.stringContaining('degrees') } })
  })

  test('hear of their input while it is written; what they throw there is reported and changes nothing', async () => {
    const heard: unknown[] = []
    const t = aiTool({
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
      onInputStart: ({ toolCallId }) => void heard.push(['start', toolCallId !== '']),
      onInputDelta: ({ inputTextDelta }) => void heard.push(inputTextDelta),
      onInputAvailable: ({ input, messages }) => {
        heard.push(input, messages.length)
        throw new Error('deaf')
      },
      execute: () => 'rain',
    })
    const { events, result, end } = await callOf({ t })
    expect(result.status).toBe('completed')
    expect(heard[0]).toEqual(['start', true])
    expect(heard.filter((piece) => typeof piece === 'string').join('')).toBe(JSON.stringify(rainy))
    expect(heard.slice(-2)).toEqual([{ city: 'Oslo', days: 3 }, 1])
    expect(reported(events)).toEqual(['hook tool-inputs: deaf'])
    expect(end).toMatchObject({ output: { value: 'rain' } })
  })

  test('go to the model with description, examples, strictness and options', async () => {
    const { asked } = await callOf({
      t: aiTool({
        description: () => 'Weather of today.',
        inputSchema: city,
        inputExamples: [{ input: rainy }],
        strict: true,
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
        execute: () => 1,
      }),
    })
    expect(asked[0]?.tools).toMatchObject([
      {
        description: 'Weather of today.\n\nExamples:\n- {"city":"Oslo"}',
        strict: true,
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
    ])
  })

  test('can be deferred, and are found', async () => {
    const t = aiTool({
      description: 'Tells whether it rains.',
      inputSchema: city,
      deferLoading: true,
      execute: () => 'rain',
    })
    const { agent, asked } = setUp({ t }, [
      { toolCalls: [{ name: 'tool_search', input: { query: 'rain' } }] },
      { toolCalls: [{ name: 't', input: rainy }] },
      { text: 'done' },
    ])
    await agent.run('go')
    expect(asked.map((prompt) => prompt.tools.length)).toEqual([1, 2, 2])
  })

  test('can be given what they cannot say of themselves', () => {
    const t = aiTool({ inputSchema: city, execute: () => 'rain' })
    expect(fromAiTool('weather', t, { effect: 'read', args: { city: 'destination' }, timeoutMs: 5 })).toMatchObject({
      effect: 'read',
      roles: { '/city': 'destination' },
      '~tool': { timeoutMs: 5 },
    })
  })

  test('can be given the fields that no outsider writes', async () => {
    const t = aiTool({ inputSchema: city, execute: () => ({ id: 7, note: 'rain' }) })
    const store = memoryStore()
    const given = await callOf([fromAiTool('t', t, { effect: 'read', trustedFields: ['/id'] })], rainy, { store })
    const settled = (await entriesOf(store, given.result.sessionId)).find(
      (entry) => entry.type === 'call' && entry.op === 'settled',
    )
    expect(settled).toMatchObject({ fields: { '/id': { integrity: 'trusted' } } })
    expect(() => fromAiTool('t', t, { trustedFields: ['id'] })).toThrow('trustedFields has "id"')
  })

  test('that fail are an error for the model, and leave a log that is JSON', async () => {
    const store = memoryStore()
    const t = aiTool({
      inputSchema: city,
      execute: (): string => {
        throw new Error('no satellite')
      },
    })
    const { end, result } = await callOf({ t }, rainy, { store })
    expect(end).toMatchObject({ error: { message: 'no satellite' } })
    expect(JSON.parse(JSON.stringify(await entriesOf(store, result.sessionId)))).not.toEqual([])
  })
})
