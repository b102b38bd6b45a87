import { createAgent } from '@provost/agent'
import type { AgentOptions } from '@provost/agent'
import type { Principal } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { rich, tool } from '@provost/tools'
import type { ToolOptions } from '@provost/tools'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { entriesOfType, extension, only, watch } from '../hooks/hook-scenario.ts'

const input = z.object({ city: z.string(), days: z.number().optional() })

function setUp(
  cache: ToolOptions<typeof input, unknown, unknown, never>['cache'],
  more: Partial<AgentOptions> = {},
  execute: (given: { city: string }) => unknown = ({ city }) => `rain in ${city}`,
) {
  const ran: string[] = []
  const store = memoryStore()
  const weather = tool({
    name: 'weather',
    effect: 'read',
    input,
    ...(cache !== undefined && { cache }),
    execute: (given) => {
      ran.push(given.city)
      return execute(given)
    },
  })
  let asked: unknown = {}
  const model = scriptedModel(
    [
      ({ messages }) =>
        messages.at(-1)?.role === 'user'
          ? { toolCalls: [asked].flat().map((each) => ({ name: 'weather', input: each })) }
          : { text: 'done' },
    ],
    { after: 'repeat-last' },
  )
  const agent = createAgent({ name: 'desk', model, store, tools: [weather], ...more })
  async function ask(given: object, sessionId?: string, principal?: Principal) {
    asked = given
    return watch(agent.stream('go', { ...(sessionId !== undefined && { sessionId }), ...(principal && { principal }) }))
  }
  return { ask, ran, store, agent }
}

describe('a tool that keeps its results', () => {
  test('runs once for the same input, whatever the order of its fields; the log says whence the second came', async () => {
    const { ask, ran, store } = setUp(true)
    await ask({ city: 'Oslo', days: 1 }, 's')
    const { events, result } = await ask({ days: 1, city: 'Oslo' }, 's')
    await ask({ city: 'Rome' }, 's')
    expect(ran).toEqual(['Oslo', 'Rome'])
    expect(only(events, 'tool.execute.end')).toMatchObject([{ output: { type: 'text', value: 'rain in Oslo' } }])
    const calls = await entriesOfType(store, result, 'call')
    expect(calls.flatMap((entry) => (entry.op === 'settled' ? [entry.via] : []))).toEqual([
      'executed',
      'cache',
      'executed',
    ])
  })

  test('gives a kept result as it was: value, what the model sees, details and label', async () => {
    const full = () =>
      rich(
        { mm: 3 },
        {
          content: [{ type: 'text', text: 'three' }],
          details: { chart: 1 },
          label: { confidentiality: 'secret' },
          fields: { '/mm': { integrity: 'trusted' } },
        },
      )
    const values: unknown[] = []
    const look = extension('look', {
      'tool.result': ({ value, fields, via }) => void values.push([value, fields, via]),
    })
    const { ask } = setUp(true, { extensions: [look] }, full)
    const [first, second] = [await ask({ city: 'Oslo' }, 's'), await ask({ city: 'Oslo' }, 's')].map(({ events }) => {
      const [end] = only(events, 'tool.execute.end')
      return { output: end?.output, label: end?.label, details: end?.details }
    })
    expect(second).toEqual(first)
    expect(first).toMatchObject({ label: { confidentiality: 'secret' }, details: { chart: 1 } })
    expect(values).toMatchObject([
      [{ mm: 3 }, { '/mm': { integrity: 'trusted' } }, 'executed'],
      [{ mm: 3 }, { '/mm': { integrity: 'trusted' } }, 'cache'],
    ])
  })

  const ann = { id: 'ann', roles: ['admin'] }
  test.each([
    ['another session', 't', ann],
    ['another principal', 's', { id: 'bob', roles: ['admin'] }],
    ['a principal of other roles', 's', { id: 'ann', roles: [] }],
    ['no principal', 's', undefined],
  ] as const)('does not give it to %s', async (_, session, principal) => {
    const { ask, ran } = setUp(true)
    await ask({ city: 'Oslo' }, 's', ann)
    await ask({ city: 'Oslo' }, session, principal)
    expect(ran).toHaveLength(2)
    await ask({ city: 'Oslo' }, 's', ann)
    expect(ran).toHaveLength(2)
  })

  test('shares it between principals if the tool says so', async () => {
    const { ask, ran } = setUp({ share: 'agent' })
    await ask({ city: 'Oslo' }, 's', { id: 'ann' })
    await ask({ city: 'Oslo' }, 't', { id: 'bob' })
    expect(ran).toHaveLength(1)
  })

  test('keeps no errors, and nothing longer than it is good for', async () => {
    let fails = true
    const { ask, ran } = setUp({ ttlMs: 1_000 }, {}, () => {
      if (fails) throw new Error('down')
      return 'rain'
    })
    const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    await ask({ city: 'Oslo' }, 's')
    fails = false
    await ask({ city: 'Oslo' }, 's')
    clock.mockReturnValue(1_000_999)
    await ask({ city: 'Oslo' }, 's')
    expect(ran).toHaveLength(2)
    clock.mockReturnValue(1_001_000)
    await ask({ city: 'Oslo' }, 's')
    expect(ran).toHaveLength(3)
  })

  test('is governed all the same: a deny holds, and hooks on results see kept ones again', async () => {
    let open = true
    const seen: string[] = []
    const gate = extension('gate', {
      'tool.call': () => (open ? undefined : { deny: 'closed' }),
      'tool.result': (result) => {
        seen.push(result.via)
        return { ...result, output: { type: 'text', value: `[${seen.length}]` } }
      },
    })
    const { ask, ran } = setUp(true, { extensions: [gate] })
    await ask({ city: 'Oslo' }, 's')
    const { events } = await ask({ city: 'Oslo' }, 's')
    expect(only(events, 'tool.execute.end')[0]?.output).toEqual({ type: 'text', value: '[2]' })
    expect(seen).toEqual(['executed', 'cache'])
    open = false
    const denied = await ask({ city: 'Oslo' }, 's')
    expect(only(denied.events, 'tool.execute.end')).toEqual([])
    expect(ran).toHaveLength(1)
  })

  test('forgets what was not used for longest beyond a thousand results', async () => {
    const { ask, ran } = setUp(true)
    await ask(
      Array.from({ length: 1_000 }, (_, i) => ({ city: `${i}` })),
      's',
    )
    await ask({ city: '0' }, 's')
    await ask({ city: 'new' }, 's')
    expect(ran).toHaveLength(1_001)
    await ask({ city: '0' }, 's')
    expect(ran).toHaveLength(1_001)
    await ask({ city: '1' }, 's')
    expect(ran).toHaveLength(1_002)
  })
})

test('without `cache` every call runs', async () => {
  const { ask, ran } = setUp(undefined)
  await ask({ city: 'Oslo' }, 's')
  await ask({ city: 'Oslo' }, 's')
  expect(ran).toHaveLength(2)
})

test.each([
  ['a tool that says nothing of its effect', {}],
  ['a tool that writes', { effect: 'write' }],
  ['a tool that tells outsiders', { effect: 'egress' }],
] as const)('%s may not keep results', (_, more) => {
  expect(() => tool({ name: 'pay', input, cache: true, execute: () => 1, ...more })).toThrow(
    /cannot be used: its effect/,
  )
})

test.each([
  ['a remote tool', { name: 't', input, effect: 'read', cache: true }],
  ['a time that is none', { name: 't', input, effect: 'read', cache: { ttlMs: Number.NaN }, execute: () => 1 }],
] as const)('%s is refused with a remedy', (_, options) => {
  expect(() => tool(options)).toThrow(
    expect.objectContaining({ code: 'invalid-tool', hint: expect.stringContaining(' ') }),
  )
})
