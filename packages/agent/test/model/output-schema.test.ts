import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { StandardSchemaV1 } from '@provost/core'
import { textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOfType,
  extension,
  failure,
  lines,
  only,
  say,
  transcript,
  watch,
} from '../hooks/hook-scenario.ts'

const place = z.object({ city: z.string(), people: z.number().int() })
const ulm = '{"city":"Ulm","people":126000}'

function agentOf<O extends StandardSchemaV1>(
  output: O,
  steps: readonly ScriptedStep[],
  more: Partial<AgentOptions> = {},
) {
  const asked: ScriptedPrompt[] = []
  return { asked, agent: createAgent({ ...more, name: 'geo', model: askedModel(asked, steps), tools: [echo], output }) }
}

describe('the output of a run', () => {
  it('is validated and typed after the schema', async () => {
    const result = await agentOf(place, [{ text: ulm }]).agent.run('Where?')
    if (result.status !== 'completed') throw result.error
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; people: number }>()
    expect(result.output).toEqual({ city: 'Ulm', people: 126_000 })
    expect(result.text).toBe(ulm)
  })

  it('is what the schema makes of the answer: defaults and transforms included', async () => {
    const schema = z.object({ day: z.string().transform((day) => new Date(day)), zone: z.string().default('UTC') })
    const result = await agentOf(schema, [{ text: '{"day":"2026-01-02"}' }]).agent.run('When?')
    expect(result.output).toEqual({ day: new Date('2026-01-02'), zone: 'UTC' })
  })

  it('is the text where there is no schema', async () => {
    const result = await createAgent({ name: 'a', model: scriptedModel([{ text: 'hi' }]) }).run('hello')
    expectTypeOf(result.output).toEqualTypeOf<string | undefined>()
    expect(result.output).toBe('hi')
  })

  it('stands as JSON in the log and in agent.end', async () => {
    const store = memoryStore()
    const { events, result } = await watch(agentOf(place, [{ text: ulm }], { store }).agent.stream('Where?'))
    expect(only(events, 'agent.end')).toMatchObject([{ output: { city: 'Ulm', people: 126_000 } }])
    expect(await entriesOfType(store, result, 'run')).toContainEqual(
      expect.objectContaining({ op: 'ended', output: { city: 'Ulm', people: 126_000 } }),
    )
  })

  it.for([
    ['```json\n', '\n```'],
    ['```\n', '\n```'],
    ['\n  ', '  \n'],
    ['```JSON\n\n', '\n\n```\n'],
  ])('may come in a fence or among blanks: %j', async ([before, after]) => {
    const result = await agentOf(place, [{ text: `${before}${ulm}${after}` }]).agent.run('Where?')
    expect(result.output).toEqual({ city: 'Ulm', people: 126_000 })
  })

  it('may be a list or a plain value', async () => {
    expect((await agentOf(z.array(z.number()), [{ text: '[1,2]' }]).agent.run('go')).output).toEqual([1, 2])
    expect((await agentOf(z.boolean(), [{ text: 'true' }]).agent.run('go')).output).toBe(true)
  })

  it('may be validated asynchronously', async () => {
    const schema = z.object({ city: z.string().refine(async (city) => city !== 'Atlantis', 'does not exist') })
    const { agent } = agentOf(schema, [{ text: '{"city":"Atlantis"}' }, { text: '{"city":"Ulm"}' }])
    expect((await agent.run('Where?')).output).toEqual({ city: 'Ulm' })
  })
})

describe('the model', () => {
  it('is asked for JSON after the schema, in every step', async () => {
    const { agent, asked } = agentOf(place, [{ toolCalls: [say('x')] }, { text: ulm }])
    await agent.run('Where?')
    const format = {
      type: 'json',
      name: 'output',
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, people: { type: 'integer' } },
        required: ['city', 'people'],
      },
    }
    expect(asked.map(({ options }) => options.responseFormat)).toMatchObject([format, format])
  })

  it('may use tools first: only its final answer is held against the schema', async () => {
    const { agent } = agentOf(place, [{ text: 'Let me look.', toolCalls: [say('x')] }, { text: ulm }])
    const { output, messages } = await agent.run('Where?')
    expect(output).toEqual({ city: 'Ulm', people: 126_000 })
    expect(transcript(messages)).toEqual([
      'user: Where?',
      'assistant: Let me look. [echo]',
      'tool: [echo x]',
      `assistant: ${ulm}`,
    ])
  })

  it('that misses the schema is told where, and asked once more', async () => {
    const { agent, asked } = agentOf(place, [{ text: '{"city":7}' }, { text: ulm }])
    const { status, output, messages } = await agent.run('Where?')
    expect([status, output]).toEqual(['completed', { city: 'Ulm', people: 126_000 }])
    const complaint = lines(asked[1] ?? { messages: [] }).at(-1)
    expect(complaint).toMatch(/^user: The answer does not fit.*city: .*; people: /)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    assertWellFormed(messages)
  })

  it('that writes no JSON is reported', async () => {
    const { agent, asked } = agentOf(place, [{ text: 'In Ulm.' }, { text: ulm }])
    expect((await agent.run('Where?')).status).toBe('completed')
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toContain('it is not JSON')
  })

  it('may use a tool for the repair', async () => {
    const { agent } = agentOf(place, [{ text: 'In Ulm.' }, { toolCalls: [say('x')] }, { text: ulm }])
    expect((await agent.run('Where?')).output).toEqual({ city: 'Ulm', people: 126_000 })
  })

  it('gets its one repair although an extension asked for one of its own before', async () => {
    const polite = extension('polite', {
      'model.response': (message) => (textOf(message) === 'No.' ? { repair: 'Be polite.' } : undefined),
    })
    const { agent } = agentOf(place, [{ text: 'No.' }, { text: 'In Ulm, please.' }, { text: ulm }], {
      extensions: [polite],
    })
    expect((await agent.run('Where?')).output).toEqual({ city: 'Ulm', people: 126_000 })
  })

  it('is told nothing of the size of a book, however wrong it is', async () => {
    const items = z.array(z.object({ id: z.number() }))
    const wrong = JSON.stringify(Array.from({ length: 500 }, () => ({ id: 'x'.repeat(50) })))
    const { agent, asked } = agentOf(items, [{ text: wrong }, { text: '[]' }])
    await agent.run('List them')
    expect(lines(asked[1] ?? { messages: [] }).at(-1)?.length).toBeLessThan(2_000)
  })
})

describe('a run whose answer fits not even the second time', () => {
  const steps: readonly ScriptedStep[] = [
    { text: 'Ulm', usage: { inputTokens: 1, outputTokens: 1 } },
    { text: 'Ulm!', usage: { inputTokens: 2, outputTokens: 2 } },
  ]

  it('fails, and says why', async () => {
    const { agent, asked } = agentOf(place, steps)
    const result = await agent.run('Where?')
    expect(failure(result)).toMatchObject({
      code: 'output-invalid',
      message: expect.stringContaining('not JSON'),
      hint: expect.stringContaining('schema'),
    })
    expect(result.output).toBeUndefined()
    expect(asked).toHaveLength(2)
    assertWellFormed(result.messages)
  })

  it('keeps what was said, and counts what it cost', async () => {
    const { agent } = agentOf(place, steps)
    const { messages, usage } = await agent.run('Where?')
    expect(transcript(messages).at(-1)).toBe('error: Ulm!')
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 3 })
  })

  it('emits no end of an answer that did not count', async () => {
    const { events } = await watch(agentOf(place, steps).agent.stream('Where?'))
    expect(only(events, 'message.end').map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'user',
      'error',
    ])
    expect(only(events, 'agent.end')).toMatchObject([{ status: 'failed', error: { code: 'output-invalid' } }])
  })
})

describe('stream.output', () => {
  it('is the output alone', async () => {
    const output = await agentOf(place, [{ text: ulm }]).agent.stream('Where?').output
    expectTypeOf(output).toEqualTypeOf<{ city: string; people: number }>()
    expect(output.city).toBe('Ulm')
  })

  it('rejects with the error of a run that failed', async () => {
    const { agent } = agentOf(place, [{ text: 'x' }, { text: 'y' }])
    await expect(agent.stream('Where?').output).rejects.toMatchObject({ name: 'ProvostError', code: 'output-invalid' })
  })

  it('rejects where there is none: suspended or aborted', async () => {
    const ask = extension('ask', { 'tool.call': () => ({ ask: { reason: '?' } }) })
    const suspended = agentOf(place, [{ toolCalls: [say('x')] }], { extensions: [ask] }).agent.stream('go')
    await expect(suspended.output).rejects.toMatchObject({ code: 'run-suspended' })
    const aborted = agentOf(place, [{ text: 'x', stall: true }]).agent.stream('go')
    void aborted.abort({ graceMs: 0 })
    await expect(aborted.output).rejects.toMatchObject({ code: 'run-aborted' })
  })

  it('need not be looked at: a run that fails rejects nothing by itself', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    await agentOf(place, [{ text: 'x' }, { text: 'y' }]).agent.stream('Where?').result
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

it('a suspended run keeps its output schema when it continues', async () => {
  const ask = extension('ask', {
    'tool.call': (_call, { approval }) => (approval ? undefined : { ask: { reason: '?' } }),
  })
  const { agent } = agentOf(place, [{ toolCalls: [say('x')] }, { text: 'Ulm' }, { text: ulm }], { extensions: [ask] })
  const { state, pending } = await agent.run('Where?')
  const result = await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })) })
  expect(result.output).toEqual({ city: 'Ulm', people: 126_000 })
})
