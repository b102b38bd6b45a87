import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Extension, JsonSchema, Tool, ToolInfo } from '@provost/core'
import { defineExtension, isCallTo, ProvostError, wireToolName } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { tool, toolSet } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { askedModel, extension, only, watch } from '../hooks/hook-scenario.ts'

const says = (name: string, answer: string): Tool =>
  tool({ name, effect: 'read', input: z.object({}), execute: () => answer })
const model = scriptedModel([{ text: 'done' }], { after: 'repeat-last' })
const withTools = (name: string, ...tools: readonly Tool[]): Extension => defineExtension({ name, tools })
const names = (tools: readonly ToolInfo[]): string[] => tools.map(({ name }) => name)

function thrownBy(options: Partial<AgentOptions>): ProvostError {
  try {
    createAgent({ name: 'desk', model, ...options })
  } catch (thrown) {
    if (thrown instanceof ProvostError) return thrown
  }
  throw new Error('No ProvostError was thrown.')
}

describe('when two tools want one name', () => {
  const search = says('search', 'mine')
  const mixed = [...toolSet('git hub', [says('search', 'theirs')]), search]
  const extensions = [withTools('memory', says('search', 'remembered')), withTools('mem.ory', says('look', 'seen'))]

  test('by default the later one is renamed after its set or extension; the registry tells who, and whence', () => {
    const { registry } = createAgent({ name: 'desk', model, tools: mixed, extensions })
    expect(names(registry.tools)).toEqual(['search', 'git_hub_search', 'memory_search', 'look'])
    expect(registry.get('search')).toBe(search)
    expect(registry.source('search')).toEqual({ kind: 'agent', name: 'desk' })
    expect(registry.source('git_hub_search')).toEqual({ kind: 'set', name: 'git hub' })
    expect(registry.get('git_hub_search')?.set).toBe('git hub')
    expect(registry.source('look')).toEqual({ kind: 'extension', name: 'mem.ory' })
    expect(registry.collisions).toEqual([
      {
        wanted: 'search',
        name: 'git_hub_search',
        source: { kind: 'set', name: 'git hub' },
        takenBy: { kind: 'agent', name: 'desk' },
      },
      {
        wanted: 'search',
        name: 'memory_search',
        source: { kind: 'extension', name: 'memory' },
        takenBy: { kind: 'agent', name: 'desk' },
      },
    ])
    expect([registry, registry.tools, registry.collisions].every(Object.isFrozen)).toBe(true)
  })

  test('each is called by its new name, and its extension still knows it', async () => {
    const own = says('search', 'remembered')
    const known: string[] = []
    const memory = defineExtension({
      name: 'memory',
      tools: [own],
      hooks: { 'tool.call': (call) => void (isCallTo(call, own) && known.push(call.callId)) },
    })
    const calling = scriptedModel([
      { toolCalls: ['search', 'memory_search'].map((name) => ({ name, input: {} })) },
      { text: 'done' },
    ])
    const agent = createAgent({ name: 'desk', model: calling, tools: [search], extensions: [memory] })
    const { events } = await watch(agent.stream('go'))
    const ends = only(events, 'tool.execute.end')
    expect(ends.map(({ toolName, output }) => [toolName, 'value' in output && output.value])).toEqual([
      ['search', 'mine'],
      ['memory_search', 'remembered'],
    ])
    expect(known).toEqual([ends[1]?.callId])
    expect(ends[1]?.label.sources).toEqual(['memory_search'])
  })

  test('`priority` leaves the later one out', () => {
    const { registry } = createAgent({ name: 'desk', model, tools: mixed, extensions, toolCollisions: 'priority' })
    expect(names(registry.tools)).toEqual(['search', 'look'])
    expect(registry.collisions.map(({ name }) => name)).toEqual([undefined, undefined])
  })

  test('`error` makes no agent, and names both', () => {
    expect(thrownBy({ tools: mixed, toolCollisions: 'error' })).toMatchObject({
      code: 'duplicate-tool',
      message: 'A tool of the agent desk and one of the tool set git hub are named search.',
    })
  })

  test('two of the agent itself are a mistake, since no prefix tells them apart; the same one twice is one', () => {
    expect(thrownBy({ tools: [search, says('search', 'other')] })).toMatchObject({
      code: 'duplicate-tool',
      hint: expect.stringContaining('Rename'),
    })
    expect(names(createAgent({ name: 'desk', model, tools: [search, search] }).registry.tools)).toEqual(['search'])
  })

  test('whatever sets are called, every tool has a name of its own, also as providers see it', () => {
    const word = fc.stringMatching(/^[a-z._]{1,3}$/)
    const set = fc.tuple(word, fc.uniqueArray(word, { maxLength: 4 }))
    fc.assert(
      fc.property(fc.uniqueArray(set, { selector: ([name]) => name, maxLength: 6 }), (sets) => {
        const all = sets.flatMap(([name, its]) =>
          toolSet(
            name,
            its.map((one) => says(one, name)),
          ),
        )
        const { registry } = createAgent({ name: 'desk', model, tools: all })
        const wire = names(registry.tools).map(wireToolName)
        expect(new Set(wire).size).toBe(all.length)
        for (const one of registry.tools) expect(registry.get(one.name)).toBe(one)
        for (const [name, its] of sets)
          expect(registry.tools.filter((one) => one.set === name)).toHaveLength(its.length)
      }),
    )
  })
})

describe('a name with characters that providers refuse', () => {
  const odd = 'günther.search/v2'

  test('goes to the model in a safe form, is mapped back, and is in the history the way it was sent', async () => {
    const asked: ScriptedPrompt[] = []
    const wire = wireToolName(odd)
    expect(wire).toMatch(/^[\w-]{1,64}$/)
    const agent = createAgent({
      name: 'desk',
      model: askedModel(asked, [{ toolCalls: [{ name: wire, input: {} }] }, { text: 'done' }]),
      tools: [says(odd, 'found'), says('__proto__', 'nothing')],
      settings: { toolChoice: { tool: odd } },
    })
    const { events, result } = await watch(agent.stream('go'))
    expect(result.status).toBe('completed')
    expect(only(events, 'tool.call.start')[0]?.toolName).toBe(odd)
    expect(only(events, 'tool.execute.end')).toMatchObject([{ toolName: odd, output: { value: 'found' } }])
    expect(asked[0]?.tools.map(({ name }) => name)).toEqual([wire, '__proto__'])
    expect(JSON.stringify(asked[1]?.messages)).toContain(wire)
    expect(JSON.stringify(asked[1]?.messages)).not.toContain(odd)
  })

  test('cannot be taken by a tool that is called what another one looks like to providers', () => {
    const tools = [says(odd, 'mine'), ...toolSet('evil', [says(wireToolName(odd), 'theirs')])]
    expect(names(createAgent({ name: 'desk', model, tools }).registry.tools)).toEqual([
      odd,
      `evil_${wireToolName(odd)}`,
    ])
  })
})

test('worked examples reach the model, with what they give and why', async () => {
  const asked: ScriptedPrompt[] = []
  const refund = tool({
    name: 'refund',
    description: 'Refunds an order.',
    input: z.object({ order: z.number() }),
    examples: [{ input: { order: 17 }, output: 'refunded', note: 'all of it' }, { input: { order: 18 } }],
    execute: () => 'refunded',
  })
  await createAgent({ name: 'desk', model: askedModel(asked, [{ text: 'done' }]), tools: [refund] }).run('go')
  expect(asked[0]?.tools).toMatchObject([
    {
      description: 'Refunds an order.\n\nExamples:\n- {"order":17} gives "refunded" (all of it)\n- {"order":18}',
    },
  ])
})

describe('a schema that no model should be sent', () => {
  const huge: JsonSchema = { type: 'object', properties: { code: { enum: ['x'.repeat(5 * 1024 * 1024)] } } }
  const wide = Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => [`f${i}`, {}]))
  const circle: JsonSchema = { type: 'object' }
  circle.properties = { self: circle }

  test.each<readonly [string, JsonSchema]>([
    ['of 5 MB', huge],
    ['that runs in a circle', circle],
    ['with a hundred thousand fields', { type: 'object', properties: wide }],
  ])('%s is refused in a short sentence', (_, input) => {
    let thrown: unknown
    try {
      tool({ name: 'big', input, execute: () => 1 })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'invalid-tool', hint: expect.stringContaining('Describe less') })
    expect(thrown instanceof Error && thrown.message.length).toBeLessThan(300)
  })
})

test('a hook that takes tools away is respected, and what it took cannot be called', async () => {
  const asked: ScriptedPrompt[] = []
  const agent = createAgent({
    name: 'desk',
    model: askedModel(asked, [{ toolCalls: [{ name: 'b', input: {} }] }, { text: 'done' }]),
    tools: [says('a', '1'), says('b', '2')],
    extensions: [extension('less', { 'model.request': () => ({ tools: ['a'] }) })],
  })
  const { events } = await watch(agent.stream('go'))
  expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['a'])
  expect(only(events, 'tool.execute.error')).toMatchObject([
    { error: { message: expect.stringContaining('not offered') } },
  ])
})
