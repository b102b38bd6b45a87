import { createAgent } from '@provost/agent'
import type { ToolContext } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

const value = 'hunter2/+"x'
const shown = '⟦secret:PASSWORD⟧'
beforeEach(() => vi.stubEnv('PROVOST_TEST_PASSWORD', value))
afterEach(() => vi.unstubAllEnvs())

/** What a tool reports, as listeners have it, and how many events there had been when each report was made. */
async function reported(...reports: readonly unknown[]) {
  const events: unknown[] = []
  const atOnce: number[] = []
  await runWith(async (ctx) => {
    for (const data of reports) {
      ctx.progress(data)
      // Listeners have a turn.
      await new Promise(setImmediate)
      atOnce.push(events.length)
    }
  }, events)
  return { events, atOnce }
}

async function runWith(report: (ctx: ToolContext) => unknown, events: unknown[]): Promise<void> {
  const reports = tool({
    name: 'reports',
    effect: 'read',
    input: z.object({}),
    async execute(_, ctx) {
      await report(ctx)
      return 'done'
    },
  })
  const agent = createAgent({
    name: 'desk',
    tools: [reports],
    model: scriptedModel([{ toolCalls: [{ name: 'reports' }] }, { text: 'done' }]),
    secrets: { PASSWORD: secretRef('env:PROVOST_TEST_PASSWORD') },
  })
  const stream = agent.stream('go')
  for await (const event of stream) if (event.type === 'tool.execute.progress') events.push(event.data)
  const result = await stream.result
  expect(result.status).toBe('completed')
}

describe('a secret that is split over neighbouring reports of progress', () => {
  test('is held back until it is whole, and shows as its token where it began', async () => {
    const { events, atOnce } = await reported('user: hunt', 'er2/+"x and', ' more')
    expect(events).toEqual([`user: ${shown}`, ' and', ' more'])
    expect(atOnce).toEqual([0, 2, 3])
  })

  test('letter by letter', async () => {
    const { events } = await reported(...value.split(''), '!')
    expect(events).toEqual([shown, ...Array.from({ length: value.length - 1 }, () => ''), '!'])
  })

  test('is found at any place of a report, beside others', async () => {
    const { events } = await reported(
      { out: ['a hunter'], n: 1 },
      { out: ['2/+"x'], err: 'hunt', n: 2 },
      { err: 'ing' },
    )
    expect(events).toEqual([{ out: [`a ${shown}`], n: 1 }, { out: [''], err: 'hunt', n: 2 }, { err: 'ing' }])
  })

  test('is found in other writings, also where an escape is split', async () => {
    const { events } = await reported('a hunter2', String.raw`\/\u00`, String.raw`2b\"x b`)
    expect(events).toEqual([`a ${shown}`, '', ' b'])
  })

  test('is no secret when the call ends, and is reported then', async () => {
    expect((await reported('almost hunter')).events).toEqual(['almost hunter'])
  })

  test('cannot be kept waiting by empty reports without end', async () => {
    const { events } = await reported('hunter', ...Array.from({ length: 100 }, () => ''), '2/+"x')
    expect(events.join('')).not.toContain('hunt')
    expect(events).toHaveLength(102)
  })
})

test('reports of something else are reported at once, as they are', async () => {
  const reports = [
    'Downloading',
    'Done h',
    { status: 'hashing', left: 3 },
    { status: 'finish', left: 2 },
    17,
    null,
    'x h',
  ]
  const { events, atOnce } = await reported(...reports)
  expect(events).toEqual(reports)
  expect(atOnce).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('wherever a text is cut, what is told of it together is the text without the secret', async () => {
  const word = fc.constantFrom(value, 'hunter', 'h', ' ', 'u', '%', '\\', encodeURIComponent(value), 'well')
  await fc.assert(
    fc.asyncProperty(
      fc.array(word, { maxLength: 8 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 6 })),
      async (words, sizes) => {
        const text = words.join('')
        const pieces: string[] = []
        for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
          pieces.push(text.slice(at, at + (sizes.next().value ?? 1)))
        }
        const { events } = await reported(...pieces)
        expect(events).toHaveLength(pieces.length)
        const told = events.join('')
        expect(told).not.toContain(value)
        expect(told).not.toContain(encodeURIComponent(value))
        expect(told.replaceAll(shown, '')).not.toMatch(/hunter2/)
      },
    ),
    { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 500 : 40 },
  )
})

test('values that are yielded are held back in the same way', async () => {
  const yields = tool({
    name: 'yields',
    effect: 'read',
    input: z.object({}),
    async *execute() {
      for (const out of ['a hunt', 'er2/+"x', ' b']) yield { out }
    },
  })
  const told: unknown[] = []
  const agent = createAgent({
    name: 'desk',
    tools: [yields],
    model: scriptedModel([{ toolCalls: [{ name: 'yields' }] }, { text: 'done' }]),
    secrets: { PASSWORD: secretRef('env:PROVOST_TEST_PASSWORD') },
  })
  for await (const event of agent.stream('go')) if (event.type === 'tool.execute.partial') told.push(event.value)
  expect(told).toEqual([{ out: `a ${shown}` }, { out: '' }, { out: ' b' }])
})

test('a tool that declares the secret has it as it is, whatever is told', async () => {
  const got: unknown[] = []
  const login = tool({
    name: 'login',
    effect: 'read',
    secrets: ['PASSWORD'],
    input: z.object({ password: z.string(), file: z.object({ mediaType: z.string(), data: z.string() }).optional() }),
    execute(input, ctx) {
      got.push(input, ctx.secrets.PASSWORD)
      return 'in'
    },
  })
  const file = { mediaType: 'text/plain', data: Buffer.from(`my ${value}`).toString('base64') }
  const agent = createAgent({
    name: 'desk',
    tools: [login],
    model: scriptedModel([
      { toolCalls: [{ name: 'login', input: { password: value } }] },
      // In a file it cannot be turned back: such a call does not run.
      { toolCalls: [{ name: 'login', input: { password: 'x', file } }] },
      { text: 'done' },
    ]),
    secrets: { PASSWORD: secretRef('env:PROVOST_TEST_PASSWORD') },
  })
  const result = await agent.run('go')
  expect(got).toEqual([{ password: value }, value])
  expect(JSON.stringify(result)).toContain('secret-denied')
  expect(agent.scrub(new Error(`401 for ${value}`))).toMatchObject({ message: `401 for ${shown}` })
})
