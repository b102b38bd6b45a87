import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentStream } from '@provost/agent'
import type { CompositeContext, Decisions, Json, PendingWork, SessionStore, Tool, ToolResult } from '@provost/core'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { createWorld, mortal } from '../crash/crash-world.ts'
import type { Death, World } from '../crash/crash-world.ts'
import { collect, expectLogged, expectSound, readLog } from '../run/run-check.ts'

const n = z.object({ n: z.number() })

function write(world: World, callId: string, key: string, output: Json): Json {
  const known = world.effects.get(callId)
  if (known) known.keys.push(key)
  else world.effects.set(callId, { output, keys: [key] })
  return output
}

/** What a script does: one thing after the other, or several at once. */
type Act =
  | { readonly do: 'look' | 'book' | 'pay' | 'courier' | 'nested' | 'memo' | 'wait'; readonly n: number }
  | { readonly all: readonly Act[] }

async function play(ctx: CompositeContext, act: Act, at: string, told: Json[]): Promise<Json> {
  if ('all' in act) return Promise.all(act.all.map((one, index) => play(ctx, one, `${at}.${index}`, told)))
  const value = await (async (): Promise<Json> => {
    if (act.do === 'memo') return ctx.memo(at, () => `memo ${act.n}`)
    if (act.do === 'wait') return ctx.wait(at)
    const result: ToolResult = await ctx.call(act.do, { n: act.n }, { key: at })
    return [result.outcome, result.value ?? null]
  })()
  // The order that answers come in is part of what comes out.
  told.push(at)
  return value
}

async function playAll(ctx: CompositeContext, acts: readonly Act[]): Promise<Json> {
  const told: Json[] = []
  const values: Json[] = []
  for (const [index, act] of acts.entries()) values.push(await play(ctx, act, `${index}`, told))
  return { values, told }
}

function tools(world: World, acts: readonly Act[]): readonly Tool[] {
  return [
    tool({ name: 'look', input: n, effect: 'read', execute: ({ n: at }) => ({ at }) }),
    tool({
      name: 'book',
      input: n,
      execute: async ({ n: seat }, ctx) => write(world, ctx.callId, ctx.idempotencyKey, { seat }),
    }),
    tool({
      name: 'pay',
      input: n,
      needsApproval: true,
      execute: ({ n: amount }, ctx) => write(world, ctx.callId, ctx.idempotencyKey, `paid ${amount}`),
    }),
    tool({ name: 'courier', input: n }),
    tool({
      name: 'nested',
      input: n,
      composite: true,
      execute: ({ n: at }, ctx) =>
        playAll(ctx, [
          { do: 'book', n: at },
          {
            all: [
              { do: 'pay', n: at },
              { do: 'memo', n: at },
            ],
          },
        ]),
    }),
    tool({ name: 'script', input: z.object({}), composite: true, execute: (_, ctx) => playAll(ctx, acts) }),
  ]
}

function process(world: World, acts: readonly Act[], store: SessionStore): Agent {
  return createAgent({
    name: 'clerk',
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: JSON.stringify(messages.at(-1)) }
            : {
                toolCalls: [
                  { name: 'script', input: {} },
                  { name: 'book', input: { n: 1 } },
                  { name: 'script', input: {} },
                ],
              },
      ],
      { after: 'repeat-last' },
    ),
    tools: tools(world, acts),
    store,
  })
}

function answers(world: World, pending: PendingWork): Decisions {
  return {
    approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    toolResults: pending.remoteCalls.map(({ callId, input }) => ({ callId, output: { delivered: input } })),
    uncertain: pending.uncertain.map(({ callId }) => {
      const effect = world.effects.get(callId)
      return effect ? { callId, decision: 'done', output: effect.output } : { callId, decision: 'retry' }
    }),
    inputs: pending.inputs.map(({ id }) => ({ id, value: `answer to ${id.split('/').at(-1)}` })),
  }
}

/** Goes on with whatever the log tells, until the run ends. */
async function goOn(world: World, acts: readonly Act[], sessionId: string, store = world.store) {
  const agent = process(world, acts, store)
  const entries = await readLog(world.store, sessionId)
  const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  let stream: AgentStream
  if (started?.type === 'run' && started.op === 'started') {
    const { manifest, runId } = started
    const json = { v: 1, manifest, agent: agent.name, cursor: { sessionId, runId, offset: entries.length } }
    stream = agent.stream(RunState.fromJSON(JSON.stringify(json), agent))
  } else stream = agent.stream('Go.', { sessionId })
  for (let round = 0; ; round++) {
    expect(round).toBeLessThan(100)
    const seen = await collect(stream)
    if (store === world.store) expectSound(seen)
    if (seen.result.status !== 'suspended') return seen.result
    stream = agent.stream(seen.result.state, answers(world, seen.result.pending))
  }
}

async function undisturbed(acts: readonly Act[]): Promise<{ appends: number; text: string; effects: number }> {
  const world = createWorld()
  let appends = 0
  const store: SessionStore = {
    ...world.store,
    append: (...given) => {
      appends++
      return world.store.append(...given)
    },
  }
  const { text, runId } = await goOn(world, acts, 's', store)
  return { appends, text: text.replaceAll(runId, 'run'), effects: world.effects.size }
}

async function crashing(acts: readonly Act[], deaths: readonly (readonly [lives: number, death: Death])[]) {
  const world = createWorld()
  for (const [lives, death] of deaths) {
    const driver = mortal(world, lives, death)
    await Promise.race([goOn(world, acts, 's', driver.store), driver.died])
  }
  const result = await goOn(world, acts, 's')
  return { world, result }
}

/** Approvals and results come in their own time: values are compared, and that no answer was told twice. */
function sum(text: string): { readonly values: readonly string[]; readonly told: number } {
  const found = [...text.matchAll(/"values":(.*?),"told":\[(.*?)\]/g)]
  return {
    values: found.map((one) => one[1] ?? ''),
    told: found.reduce((total, one) => total + (one[2] ?? '').split(',').length, 0),
  }
}

const acts: readonly Act[] = [
  { do: 'memo', n: 1 },
  {
    all: [
      { do: 'look', n: 1 },
      { do: 'book', n: 2 },
      { do: 'pay', n: 3 },
      { do: 'courier', n: 4 },
    ],
  },
  { do: 'nested', n: 5 },
  {
    all: [
      { do: 'wait', n: 6 },
      { do: 'nested', n: 7 },
      { do: 'book', n: 8 },
    ],
  },
]

test('a composite comes to the same, wherever its process dies, and no effect happens twice unasked', async () => {
  const whole = await undisturbed(acts)
  const full = globalThis.process.env['PROVOST_TEST_FULL'] === '1'
  const deaths = ['unanswered', 'unwritten'] as const
  for (let lives = 1; lives < whole.appends; lives += full ? 1 : 17) {
    // An append that was not written leaves what a death after the one before it does: otherwise they take turns.
    for (const death of full ? deaths : deaths.slice(lives % 2, (lives % 2) + 1)) {
      const { world, result } = await crashing(acts, [[lives, death]])
      expect(result.status, `${lives} ${death}`).toBe('completed')
      expect(sum(result.text), `${lives} ${death}`).toEqual(sum(whole.text))
      expect(world.effects.size).toBe(whole.effects)
      for (const { keys } of world.effects.values()) expect(keys).toHaveLength(1)
      assertWellFormed(result.messages)
      await expectLogged(world.store, result)
    }
  }
})

const leaf = fc.record({
  do: fc.constantFrom(
    'look' as const,
    'book' as const,
    'pay' as const,
    'courier' as const,
    'nested' as const,
    'memo' as const,
    'wait' as const,
  ),
  n: fc.nat(9),
})
const anyAct: fc.Arbitrary<Act> = fc.oneof(leaf, fc.record({ all: fc.array(leaf, { minLength: 1, maxLength: 4 }) }))

test('so do random ones, whose processes die again and again', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAct, { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom<Death>('unanswered', 'unwritten')), {
        maxLength: 4,
      }),
      async (list, deaths) => {
        const whole = await undisturbed(list)
        const { world, result } = await crashing(list, deaths)
        expect(result.status).toBe('completed')
        expect(sum(result.text)).toEqual(sum(whole.text))
        for (const { keys } of world.effects.values()) expect(keys).toHaveLength(1)
        assertWellFormed(result.messages)
      },
    ),
    { numRuns: globalThis.process.env['PROVOST_TEST_FULL'] === '1' ? 300 : 3 },
  )
})
