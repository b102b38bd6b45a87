import { hash } from 'node:crypto'
import { setImmediate as tick } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { AgentStream } from '@provost/agent'
import type { AgentEvent, Json } from '@provost/core'
import { defineExtension } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { expectSound } from './run-check.ts'

const passing: ReadonlySet<AgentEvent['type']> = new Set([
  'text.delta',
  'reasoning.delta',
  'tool.call.delta',
  'tool.execute.partial',
  'tool.execute.progress',
])

/** An event without what counts for one reader only. */
function unnumbered(event: AgentEvent): unknown {
  return { ...event, seq: 0 }
}

/** The text that the deltas of each part come to (its hash: it is long), and the last value where they do not add up. */
function textsOf(events: readonly AgentEvent[]): ReadonlyMap<string, unknown> {
  const texts = new Map<string, Json>()
  for (const event of events) {
    const key = 'partId' in event ? `${event.messageId} ${event.partId}` : 'callId' in event ? event.callId : ''
    if ('delta' in event && event.delta !== undefined) {
      const at = `${event.type} ${key}`
      const text = texts.get(at)
      texts.set(at, (typeof text === 'string' ? text : '') + event.delta)
    } else if (event.type === 'tool.execute.progress') texts.set(`${event.type} ${key}`, event.data)
  }
  return new Map([...texts].map(([key, text]) => [key, typeof text === 'string' ? hash('sha256', text) : text]))
}

/** A run whose tool pours out text and progress in bursts, and everything it emitted. */
function pouring(bursts: readonly number[]) {
  const all: AgentEvent[] = []
  const agent = createAgent({
    name: 'pouring',
    model: scriptedModel([
      {
        text: words(400),
        reasoning: 'hm',
        toolCalls: [
          { name: 'pour', input: { n: 0 } },
          { name: 'pour', input: { n: 1 } },
        ],
      },
      { text: words(600) },
    ]),
    tools: [
      tool({
        name: 'pour',
        input: z.object({ n: z.number() }),
        async *execute({ n }, ctx) {
          for (const [index, burst] of bursts.entries()) {
            for (let i = 0; i < burst; i++) yield `${n}/${index}/${i} `
            ctx.progress({ n, index })
            await tick()
          }
        },
      }),
    ],
    extensions: [defineExtension({ name: 'all', hooks: { event: (event) => void all.push(event) } })],
  })
  return { stream: agent.stream('Go.'), all }
}

function words(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${index} `)
}

/** Expects that a reader got everything but the number of deltas. */
async function expectComplete(
  stream: AgentStream,
  read: readonly AgentEvent[],
  all: readonly AgentEvent[],
): Promise<void> {
  expectSound({ events: read, result: await stream.result, runId: stream.runId })
  const lasting = (events: readonly AgentEvent[]): readonly unknown[] =>
    events.filter(({ type }) => !passing.has(type)).map(unnumbered)
  expect(lasting(read)).toEqual(lasting(all))
  expect(textsOf(read)).toEqual(textsOf(all))
}

const full = process.env['PROVOST_TEST_FULL'] === '1'

test('a reader that comes when all is over gets everything from the start, its deltas joined', async () => {
  const burst = full ? 8_000 : 2_000
  const { stream, all } = pouring([500, burst, 500])
  await stream.result
  const read: AgentEvent[] = []
  for await (const event of stream) read.push(event)
  expect(all.length).toBeGreaterThan(2 * burst + 2_000)
  expect(read.length).toBeLessThan(1_200)
  expect(read[0]?.type).toBe('agent.start')
  await expectComplete(stream, read, all)
})

test('a reader of any pace loses nothing but the number of deltas', async () => {
  const paces = fc.array(fc.oneof(fc.nat(30), fc.nat(1_200)), { minLength: 1, maxLength: 40 })
  const bursts = fc.array(fc.oneof(fc.nat(30), fc.nat(900)), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(bursts, paces, async (poured, pace) => {
      const { stream, all } = pouring(poured)
      const read: AgentEvent[] = []
      let turn = 0
      let left = pace[0] ?? 0
      for await (const event of stream) {
        read.push(event)
        if (left-- > 0) continue
        left = pace[++turn % pace.length] ?? 0
        await tick()
      }
      await expectComplete(stream, read, all)
    }),
    { numRuns: full ? 12 : 4 },
  )
})

test('a reader that leaves early does not hold the run up', async () => {
  const { stream, all } = pouring([100])
  for await (const event of stream) if (event.type === 'step.start') break
  expect(await stream.result).toMatchObject({ status: 'completed' })
  expect(all.at(-1)?.type).toBe('agent.end')
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'stream-consumed' })
})
