import { createAgent } from '@provost/agent'
import type { Extension, Hooks, ToolResult } from '@provost/core'
import { ProvostError } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import {
  askedModel,
  echo,
  entriesOf,
  extension,
  failure,
  lines,
  only,
  outside,
  reported,
  say,
  transcript,
  watch,
} from './hook-scenario.ts'

const once = () => scriptedModel([{ toolCalls: [say('hi')] }, { text: 'done' }])
const none = z.object({})

function onResult(name: string, hook: NonNullable<Hooks['tool.result']>): Extension {
  return extension(name, { 'tool.result': hook })
}

describe('tool.result sees every result', () => {
  it('of a tool that ran: its value, what the model will see of it, its label and the effective input', async () => {
    const seen: ToolResult[] = []
    const look = tool({
      name: 'look',
      effect: 'read',
      input: z.object({ id: z.string() }),
      trustedFields: ['/id'],
      execute: ({ id }) =>
        rich({ id, note: 'hm' }, { content: [{ type: 'text', text: 'a note' }], details: { rows: 1 } }),
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'look', input: { id: '1' } }] }, { text: 'done' }]),
      tools: [look],
      extensions: [
        extension('rewrite', { 'tool.call': () => ({ args: { id: '2' } }) }),
        onResult('look', (result) => void seen.push(result)),
      ],
    })
    const { runId } = await agent.run('go')
    expect(seen).toEqual([
      {
        callId: `${runId}/1/call/0`,
        tool: agent.registry.get('look'),
        input: { id: '2' },
        outcome: 'ok',
        via: 'executed',
        value: { id: '2', note: 'hm' },
        output: { type: 'content', value: [{ type: 'text', text: 'a note' }] },
        label: outside('look'),
        fields: { '/id': { integrity: 'trusted', confidentiality: 'internal', sources: ['look'] } },
        details: { rows: 1 },
      },
    ])
  })

  it('of a tool that threw or took too long', async () => {
    const seen: string[] = []
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'fails' }, { name: 'hangs' }] }, { text: 'done' }]),
      tools: [
        tool({ name: 'fails', input: none, execute: () => Promise.reject(new Error('no disk')) }),
        tool({ name: 'hangs', input: none, timeoutMs: 5, execute: () => new Promise(() => {}) }),
      ],
      extensions: [onResult('look', ({ tool: { name }, outcome }) => void seen.push(`${name} ${outcome}`))],
    })
    await agent.run('go')
    expect(seen.toSorted()).toEqual(['fails error', 'hangs timeout'])
  })

  it('that came from a remote side', async () => {
    const seen: unknown[] = []
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'ask_user' }] }, { text: 'done' }]),
      tools: [tool({ name: 'ask_user', input: none })],
      extensions: [
        onResult('mark', (result) => {
          seen.push([result.via, result.value, result.label])
          return { ...result, output: { type: 'text', value: 'marked' } }
        }),
      ],
    })
    const { state, pending } = await agent.run('go')
    expect(seen).toEqual([])
    const { messages } = await agent.run(state, {
      toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: { blue: true } })),
    })
    expect(seen).toEqual([['remote', { blue: true }, outside('ask_user')]])
    expect(transcript(messages)[2]).toBe('tool: [marked]')
  })

  it('that another extension gave instead of the tool', async () => {
    const seen: unknown[] = []
    const agent = createAgent({
      name: 'a',
      model: once(),
      tools: [echo],
      extensions: [
        extension('cache', { 'tool.call': () => ({ result: 'from the cache', label: {} }) }),
        onResult('scrub', (result) => {
          seen.push([result.via, result.value])
          return { ...result, output: { type: 'text', value: 'scrubbed' } }
        }),
      ],
    })
    const { messages } = await agent.run('go')
    expect(seen).toEqual([['hook', 'from the cache']])
    expect(transcript(messages)[2]).toBe('tool: [scrubbed]')
  })

  it('and may stop the run at one that an extension gave', async () => {
    const agent = createAgent({
      name: 'a',
      model: once(),
      tools: [echo],
      extensions: [
        extension('cache', { 'tool.call': () => ({ result: 'poison', label: {} }) }),
        onResult('guard', (_result, ctx) => ctx.stop('poisoned', 'The cache is poisoned.')),
      ],
    })
    const result = await agent.run('go')
    expect(failure(result)).toMatchObject({ code: 'poisoned', message: 'The cache is poisoned.' })
    expect(JSON.stringify(result.messages)).not.toContain('poison"')
    assertWellFormed(result.messages)
  })
})

describe('an answer of tool.result', () => {
  it('takes the place of the result for the model, the history and the events; the later see it', async () => {
    const asked: ScriptedPrompt[] = []
    const seen: unknown[] = []
    const shout = onResult('shout', (result) => ({ ...result, output: { type: 'text', value: 'LOUD' } }))
    const agent = createAgent({
      name: 'a',
      model: askedModel(asked, [{ toolCalls: [say('hi')] }, { text: 'done' }]),
      tools: [echo],
      extensions: [shout, onResult('after', ({ output }) => void seen.push(output))],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(seen).toEqual([{ type: 'text', value: 'LOUD' }])
    expect(lines(asked[1] ?? { messages: [] }).at(-1)).toBe('tool: [echo → LOUD]')
    expect(transcript(result.messages)[2]).toBe('tool: [LOUD]')
    expect(only(events, 'tool.execute.end')).toMatchObject([{ output: { type: 'text', value: 'LOUD' } }])
  })

  it('sets the label, which joins that of all that follows', async () => {
    const agent = createAgent({
      name: 'a',
      model: once(),
      tools: [echo],
      extensions: [
        onResult('classify', (result) => ({
          ...result,
          label: { integrity: 'untrusted', confidentiality: 'secret', readers: ['ann'], sources: ['hr'] },
        })),
      ],
    })
    const { events, result } = await watch(agent.stream('go'))
    const label = { integrity: 'untrusted', confidentiality: 'secret', readers: ['ann'], sources: ['hr'] }
    expect(only(events, 'tool.execute.end')).toMatchObject([{ label }])
    expect(result.messages.slice(2).map((message) => message.label)).toEqual([label, label])
  })

  it('can say that a result will do after all', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'fails' }] }, { text: 'done' }]),
      tools: [tool({ name: 'fails', input: none, execute: () => Promise.reject(new Error('no disk')) })],
      extensions: [
        onResult('default', (result) => ({ ...result, outcome: 'ok', output: { type: 'json', value: [] }, value: [] })),
      ],
    })
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.error')).toEqual([])
    expect(only(events, 'tool.execute.end')).toMatchObject([{ output: { type: 'json', value: [] } }])
  })

  it('is for its own call, whatever id it bears', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('a'), say('b')] }, { text: 'done' }]),
      tools: [echo],
      extensions: [onResult('mixed-up', (result) => ({ ...result, callId: `${result.callId.slice(0, -1)}0` }))],
    })
    const { messages } = await agent.run('go')
    expect(transcript(messages)[2]).toBe('tool: [echo a] [echo b]')
    assertWellFormed(messages)
  })

  it.each([
    ['a hook has thrown', undefined],
    ['a hook has left it out', { outcome: 'ok' as const }],
    ['a hook has named another', { outcome: 'ok' as const, parentCallId: 'other' }],
  ])('is for a call of its composite, also where %s', async (_, given) => {
    const seen: (readonly [name: string, of: string | undefined])[] = []
    const script = tool({
      name: 'script',
      composite: true,
      input: none,
      execute: async (_none, ctx) => (await ctx.call('echo', { value: 'x' }, { key: 'x' })).outcome,
    })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'script', input: {} }] }, { text: 'done' }]),
      tools: [script, echo],
      extensions: [
        onResult('careless', ({ parentCallId: __, ...result }) => {
          if (given) return { ...result, ...given }
          throw new Error('no')
        }),
        onResult('next', ({ tool: { name }, parentCallId }) => void seen.push([name, parentCallId])),
      ],
    })
    const { runId } = await agent.run('go')
    expect(seen).toEqual([
      ['echo', `${runId}/1/call/0`],
      ['script', undefined],
    ])
  })

  it('stops the run: the result is withheld, the others are kept, the history is whole', async () => {
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [say('fine'), say('hot')] }]),
      tools: [echo],
      extensions: [
        onResult('guard', (result, ctx) =>
          JSON.stringify(result.value).includes('hot') ? ctx.stop('too-hot', 'Do not go on.') : undefined,
        ),
      ],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(failure(result)).toMatchObject({ code: 'too-hot', message: 'Do not go on.' })
    expect(transcript(result.messages)[2]).toBe('tool: [echo fine] [The run was stopped.]')
    expect(JSON.stringify(events)).not.toContain('echo hot')
    assertWellFormed(result.messages)
  })
})

it('a tool.result hook that throws withholds the result: it is in no event, no message and no entry', async () => {
  const store = memoryStore()
  const agent = createAgent({
    name: 'a',
    store,
    model: scriptedModel([{ toolCalls: [say('one'), say('two')] }, { text: 'done' }]),
    tools: [echo],
    extensions: [
      onResult('guard', (result) => {
        if (result.callId.endsWith('0')) throw new Error('cannot read')
      }),
    ],
  })
  const { events, result } = await watch(agent.stream('go'))
  expect(result.status).toBe('completed')
  expect(transcript(result.messages)[2]).toBe('tool: [The result was withheld: a check failed.] [echo two]')
  expect(reported(events)).toEqual(['hook guard: cannot read'])
  expect(JSON.stringify([events, await entriesOf(store, result.sessionId)])).not.toContain('echo one')
})

describe('the code of a failed call', () => {
  async function errorAfter(hook: NonNullable<Hooks['tool.result']>, code = 'out-of-stock') {
    const order = tool({ name: 'order', input: none, execute: () => Promise.reject(new ProvostError(code, 'Secret.')) })
    const agent = createAgent({
      name: 'a',
      model: scriptedModel([{ toolCalls: [{ name: 'order' }] }, { text: 'done' }]),
      tools: [order],
      extensions: [onResult('guard', hook)],
    })
    const { events } = await watch(agent.stream('go'))
    return only(events, 'tool.execute.error').map(({ error }) => error)
  }
  const changed: NonNullable<Hooks['tool.result']> = (result) => ({
    ...result,
    output: { type: 'error-text', value: 'failed' },
  })

  it('stays where a hook changes the output, with the changed text', async () => {
    expect(await errorAfter(changed)).toEqual([{ code: 'out-of-stock', message: 'failed' }])
  })

  it('is dropped where it is a text, or where a hook throws', async () => {
    expect(await errorAfter(changed, 'A secret text.')).toEqual([{ code: 'tool-error', message: 'failed' }])
    const thrown = await errorAfter(() => Promise.reject(new Error('cannot read')))
    expect(thrown).toMatchObject([{ code: 'tool-error' }])
  })

  it('is dropped where the tool is remote', async () => {
    const far = tool({ name: 'far', input: none })
    const model = scriptedModel([{ toolCalls: [{ name: 'far' }] }, { text: 'done' }])
    const agent = createAgent({ name: 'a', model, tools: [far], extensions: [onResult('guard', changed)] })
    const { state, pending } = await agent.run('go')
    const error = { code: 'out-of-stock', message: 'Secret.' }
    const toolResults = pending.remoteCalls.map(({ callId }) => ({ callId, error }))
    const { events } = await watch(agent.stream(state, { toolResults }))
    expect(only(events, 'tool.execute.error')).toMatchObject([{ error: { code: 'tool-error', message: 'failed' } }])
  })
})

describe('what a tool said when it failed', () => {
  const leaky = tool({ name: 'leaky', input: none, execute: () => Promise.reject(new Error('password is hunter2')) })

  async function leaks(hook: NonNullable<Hooks['tool.result']>): Promise<boolean> {
    const store = memoryStore()
    const agent = createAgent({
      name: 'a',
      store,
      model: scriptedModel([{ toolCalls: [{ name: 'leaky' }] }, { text: 'done' }]),
      tools: [leaky],
      extensions: [onResult('guard', hook)],
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.error')).toHaveLength(1)
    return JSON.stringify([events, await entriesOf(store, result.sessionId)]).includes('hunter2')
  }

  it('is in the event and the log where the hooks let it pass', async () => {
    expect(await leaks(() => undefined)).toBe(true)
  })

  it('is in neither where a hook has rewritten it', async () => {
    expect(await leaks((result) => ({ ...result, output: { type: 'error-text', value: 'failed' } }))).toBe(false)
  })

  it('is in neither where a hook threw', async () => {
    expect(await leaks(() => Promise.reject(new Error('cannot read')))).toBe(false)
  })
})
