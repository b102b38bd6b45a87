import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import { toJson } from '@provost/core'
import type { Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ScriptedEntry, ScriptedPrompt } from '@provost/testing'
import { tool, toolSet } from '@provost/tools'
import { jsonSchema } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { askedModel, entriesOfType, extension, only, readOutput, watch } from '../hooks/hook-scenario.ts'

let made = 0
function deferred(name: string, description: string, args: readonly string[] = []): Tool {
  return tool({
    name,
    description,
    effect: 'read',
    input: z.object(Object.fromEntries(args.map((arg) => [arg, z.string().optional()]))),
    execute: () => `${name} ran`,
    deferLoading: true,
  })
}
const now = tool({ name: 'now', effect: 'read', input: z.object({}), execute: () => 'noon' })
const tools = [
  now,
  deferred('getInvoicePdf', 'Renders a bill for a customer.'),
  deferred('book_flight', 'Reserves a seat on a plane.', ['departureAirport']),
  deferred('weather', 'Tells whether it rains.'),
]
const find = (query: string) => ({ toolCalls: [{ name: 'tool_search', input: { query } }] })
const use = (name: string) => ({ toolCalls: [{ name, input: {} }] })

function setUp(steps: readonly ScriptedEntry[], more: Partial<AgentOptions> = {}) {
  const asked: ScriptedPrompt[] = []
  const agent = createAgent({ name: 'desk', model: askedModel(asked, steps), tools, ...more })
  const catalogues = (): string[][] => asked.map((prompt) => prompt.tools.map(({ name }) => name))
  return { agent, asked, catalogues }
}

describe('deferred tools', () => {
  test('stay out of the catalogue until they are found, and come to its end from the next step on', async () => {
    const { agent, asked, catalogues } = setUp([find('rain'), find('reserve plane'), use('weather'), { text: 'done' }])
    const { events, result } = await watch(agent.stream('go'))
    expect(result.status).toBe('completed')
    expect(catalogues()).toEqual([
      ['now', 'tool_search'],
      ['now', 'tool_search', 'weather'],
      ['now', 'tool_search', 'weather', 'book_flight'],
      ['now', 'tool_search', 'weather', 'book_flight'],
    ])
    // The same bytes as far as they go, so that a provider's cache holds.
    expect(JSON.stringify(asked[3]?.tools)).toContain(JSON.stringify(asked[0]?.tools).slice(0, -1))
    expect(only(events, 'tool.execute.end').map(({ toolName }) => toolName)).toEqual([
      'tool_search',
      'tool_search',
      'weather',
    ])
  })

  test.each([
    ['a word of its name', 'invoice', 'getInvoicePdf'],
    ['its name', 'getInvoicePdf', 'getInvoicePdf'],
    ['a word of its description', 'customer', 'getInvoicePdf'],
    ['an argument', 'departure airport', 'book_flight'],
    ['the start of a word', 'reserv', 'book_flight'],
    ['a word with a slip', 'wheather', 'weather'],
  ])('are found by %s', async (_, query, name) => {
    const { agent } = setUp([find(query), { text: 'done' }])
    const { events } = await watch(agent.stream('go'))
    const [end] = only(events, 'tool.execute.end')
    expect(end?.output).toMatchObject({ type: 'json', value: { tools: [{ name }] } })
    expect(end?.label.integrity).toBe('trusted')
  })

  test('called before they are found are refused with a hint; calls in the same step as the search too', async () => {
    const { agent } = setUp([
      { toolCalls: [find('rain').toolCalls[0], use('weather').toolCalls[0]].flatMap((call) => call ?? []) },
      use('weather'),
      { text: 'done' },
    ])
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.error')).toMatchObject([
      { error: { code: 'tool-deferred', message: expect.stringContaining('Find it with tool_search first') } },
    ])
    expect(only(events, 'tool.execute.end').at(-1)?.output).toMatchObject({ value: 'weather ran' })
  })

  test('stay found in later runs of the session, and for another agent object', async () => {
    const store = memoryStore()
    const first = await setUp([find('rain'), { text: 'done' }], { store }).agent.run('go')
    const { agent, catalogues } = setUp([use('weather'), { text: 'done' }], { store })
    const { events } = await watch(agent.stream('again', { sessionId: first.sessionId }))
    expect(catalogues()[0]).toEqual(['now', 'tool_search', 'weather'])
    expect(only(events, 'tool.execute.end')).toMatchObject([{ toolName: 'weather' }])
    expect(await entriesOfType(store, first, 'ext')).toMatchObject([
      { name: 'tool-search', data: { tools: ['weather'] } },
    ])
    const { agent: stranger, catalogues: theirs } = setUp([{ text: 'done' }], { store })
    await stranger.run('go')
    expect(theirs()).toEqual([['now', 'tool_search']])
  })

  test('nothing found says so, and promotes nothing', async () => {
    const { agent, catalogues } = setUp([find('§§§'), find('quantum'), { text: 'done' }])
    const { events } = await watch(agent.stream('go'))
    for (const { output } of only(events, 'tool.execute.end')) expect(readOutput(output)).toContain('Nothing found')
    expect(catalogues()[2]).toEqual(['now', 'tool_search'])
  })

  test('of a set speak for themselves: what is read of them is untrusted, and says whose it is', async () => {
    const { agent } = setUp([find('rain'), { text: 'done' }], { tools: toolSet('github', tools) })
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.end')[0]?.label).toMatchObject({ integrity: 'untrusted', sources: ['github'] })
  })

  test('whose schema cannot be made are shown with the reason, and not offered', async () => {
    const bad = tool({ name: 'rain_at', input: z.object({ at: z.date() }), execute: () => 1, deferLoading: true })
    const late = {
      rain_map: {
        description: 'Rain on a map.',
        inputSchema: jsonSchema(Promise.resolve({ type: 'object', properties: { city: { type: 'string' } } })),
        execute: () => 'map',
        deferLoading: true,
      },
    } as const
    const { agent, asked } = setUp([find('rain'), { text: 'done' }], { tools: [bad, late] })
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.end')[0]?.output).toMatchObject({
      value: { tools: expect.arrayContaining([{ name: 'rain_at', problem: expect.stringContaining('Date') }]) },
    })
    expect(asked[1]?.tools).toMatchObject([{ name: 'tool_search' }, { name: 'rain_map' }])
    expect(JSON.stringify(asked[1]?.tools)).toContain('city')
  })

  test('a hook can offer them without a search, and one after it can take them away for good', async () => {
    const offer = extension('offer', { 'model.request': () => ({ promote: ['weather', 'no such tool', 'now'] }) })
    const seen: string[][] = []
    const narrow = extension('narrow', {
      'model.request': ({ tools: offered }) => {
        seen.push(offered.map(({ name }) => name))
        return { tools: ['now'] }
      },
    })
    const one = setUp([use('weather'), { text: 'done' }], { extensions: [offer] })
    const { events } = await watch(one.agent.stream('go'))
    expect(one.catalogues()[0]).toEqual(['now', 'tool_search', 'weather'])
    expect(only(events, 'tool.execute.end')).toMatchObject([{ toolName: 'weather' }])
    const two = setUp([use('weather'), { text: 'done' }], {
      extensions: [offer, narrow, extension('again', { 'model.request': () => ({ promote: ['weather'] }) })],
    })
    const refused = await watch(two.agent.stream('go'))
    expect(two.catalogues()[0]).toEqual(['now'])
    expect(seen[0]).toEqual(['now', 'tool_search', 'weather'])
    expect(only(refused.events, 'tool.execute.error')).toMatchObject([{ error: { code: 'tool-deferred' } }])
  })

  test('a tool of the agent that is called tool_search keeps its name', async () => {
    const mine = tool({ name: 'tool_search', effect: 'read', input: z.object({}), execute: () => 'mine' })
    const { agent } = setUp([use('weather'), { text: 'done' }], { tools: [mine, ...tools] })
    expect(agent.registry.get('tool_search')).toBe(mine)
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.error')).toMatchObject([
      { error: { message: expect.stringContaining('tool-search_tool_search first') } },
    ])
  })
})

/** How many tools are deferred at most: full runs show it with more of them. */
const most = process.env['PROVOST_TEST_FULL'] === '1' ? 10_000 : 1_000

describe(`${most} deferred tools`, () => {
  const many = Array.from({ length: most }, (_, i) => {
    const schema = {
      type: 'object',
      get properties() {
        made++
        return { [`argument${i}`]: { type: 'string' as const } }
      },
    } as const
    return tool({
      name: `tool_${i}`,
      description: `Does thing ${i}.`,
      input: schema,
      effect: 'read',
      execute: () => i,
      deferLoading: true,
    })
  })

  test('cost no schema and no word in the request or the log before they are found', async () => {
    made = 0
    const store = memoryStore()
    const { agent, asked } = setUp([{ text: 'done' }], { tools: [now, ...many], store })
    const result = await agent.run('go')
    expect(result.status).toBe('completed')
    expect(made).toBe(0)
    expect(asked[0]?.tools).toHaveLength(2)
    expect(JSON.stringify(toJson(await entriesOfType(store, result, 'run'))).length).toBeLessThan(5_000)
  })

  test('answer words that all of them have, whole or begun, with some', async () => {
    const { agent, catalogues } = setUp([find('thing'), find('thin'), { text: 'done' }], {
      tools: many.slice(0, most / 2),
    })
    const { events } = await watch(agent.stream('go'))
    for (const { output } of only(events, 'tool.execute.end')) expect(readOutput(output)).toContain('tool_0')
    expect(catalogues()[2]).toHaveLength(6)
  })

  test('are indexed once, and few of them loaded', async () => {
    const [last, other] = [most - 1, most / 2 - 289]
    const script = [find(`tool ${last}`), find(`thing ${other}`), use(`tool_${last}`), { text: 'done' }]
    const { agent, catalogues } = setUp(script, { tools: [now, ...many] })
    const { events } = await watch(agent.stream('go'))
    expect(only(events, 'tool.execute.end').at(-1)?.output).toMatchObject({ value: last })
    expect(catalogues().at(-1)?.length).toBeLessThan(15)
    expect(catalogues().at(-1)).toContain(`tool_${other}`)
  })
})

test('examples of deferred tools stay out of the context until the tool is found', async () => {
  const fly = tool({
    name: 'fly',
    description: 'Reserves a seat on a plane.',
    input: z.object({ from: z.string() }),
    examples: [{ input: { from: 'ZRH-example' } }],
    execute: () => 'ok',
    deferLoading: true,
  })
  const { agent, asked } = setUp([find('seat'), use('now'), { text: 'done' }], { tools: [now, fly] })
  await agent.run('go')
  const has = (value: unknown): boolean => JSON.stringify(value).includes('ZRH-example')
  expect(asked.map(({ messages }) => has(messages))).toEqual([false, false, false])
  expect(asked.map(({ tools: offered }) => has(offered))).toEqual([false, true, true])
})

test('the registry lists the tools that are offered from the start', () => {
  const { agent } = setUp([])
  expect(agent.registry.listEager().map(({ name }) => name)).toEqual(['now', 'tool_search'])
  expect(agent.registry.tools).toHaveLength(5)
})
