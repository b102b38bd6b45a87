import { setImmediate as tick } from 'node:timers/promises'

import type { Orchestrator } from '@provost/agent'
import { agentic, foldLog } from '@provost/agent'
import { calls, clerk, comparable, createWorld, goOn, mortal } from '@provost/agent/test/crash/crash-world'
import type { Death, Outcome, Way, World } from '@provost/agent/test/crash/crash-world'
import { expectLogged, readLog } from '@provost/agent/test/run/run-check'
import { textOf } from '@provost/core'
import { planAndExecute, react } from '@provost/teams'
import { assertWellFormed } from '@provost/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const sessionId = 'session'

/** Drafts, has something from outside, then asks for better: by its own words, and by a tail behind an answer. */
const draftThenCritic: Orchestrator = async (run) => {
  await agentic()(run)
  const draft = textOf(run.view.messages.at(-1) ?? { content: '' })
  const opinion = await run.memo('opinion', async () => `${draft.length} letters are too many.`)
  await run.say(opinion)
  await run.model({ output: 'text' })
  if (run.calls.length > 0) await run.execute({ only: run.calls.slice(1).map(({ callId }) => callId) })
  await run.model({ tail: [{ content: 'And now as JSON.' }] })
  if (run.position !== 'finish') await agentic()(run)
}

/** Calls tools itself: before the model speaks, between its steps, and after its answer. */
const caller: Orchestrator = async (run) => {
  const found = await run.callTool('look', { n: 1 })
  await run.callTool('book', { n: 2 })
  await run.model()
  await run.execute()
  await run.callTool('pay', { n: found.outcome === 'ok' ? 80 : 1 })
  await run.callTool('breaks', { n: 1 })
  await run.model({ output: 'text' })
  await run.callTool('courier', { n: 7 })
  await agentic()(run)
}

/** What each does, how many of the effects it has, and how. */
const ways: Readonly<Record<string, Way & { readonly effects: number }>> = {
  react: {
    orchestrator: react(),
    effects: 2,
    script: [
      { toolCalls: calls(['look', 1]) },
      { text: 'I have to look.', toolCalls: calls(['look', 1], ['book', 2]) },
      { text: 'There it is: I book it.', toolCalls: calls(['book', 2]) },
      { reasoning: 'It costs.', toolCalls: calls(['pay', 80], ['breaks', 1]) },
      { text: 'It has to be brought.', toolCalls: calls(['courier', 7]) },
      { text: 'It is done.' },
      { text: '{"done": true}' },
    ],
  },
  planAndExecute: {
    orchestrator: planAndExecute(),
    effects: 4,
    script: [
      { text: '{"steps": ["look", "pay"]}' },
      { text: 'Looking.', toolCalls: calls(['look', 1], ['book', 2]) },
      { text: 'Booked.' },
      { toolCalls: calls(['pay', 80], ['breaks', 1]) },
      { text: 'REPLAN: too dear.' },
      { text: 'First the notes.' },
      { text: '{"steps": ["note it", "send it"]}' },
      { toolCalls: calls(['note', 8], ['note', 9]) },
      { text: 'Noted.' },
      { toolCalls: calls(['courier', 7]) },
      { text: 'Sent.' },
      { text: 'All done.' },
      { text: '{"done": true}' },
    ],
  },
  'calls of its own': {
    orchestrator: caller,
    effects: 2,
    script: [{ toolCalls: calls(['note', 8], ['look', 9]) }, { text: 'Paid.' }, { text: '{"done": true}' }],
  },
  'one of your own': {
    orchestrator: draftThenCritic,
    effects: 2,
    script: [
      { text: 'Let me see.', toolCalls: calls(['look', 1], ['book', 2]) },
      { text: '{"done": false}' },
      { text: 'Half a sentence.', toolCalls: calls(['note', 1], ['pay', 3]) },
      { text: '{"done": true}' },
    ],
  },
}

/** One driver works until it dies, if it does. */
async function live(world: World, way: Way, lives: number, death: Death): Promise<void> {
  const { store, died } = mortal(world, lives, death)
  const work = goOn(clerk(world, store, way), world, sessionId)
  await (death === 'refused' ? work : Promise.race([work, died]))
  for (let i = 0; i < 5; i++) await tick()
}

async function finish(world: World, way: Way): Promise<Outcome> {
  const result = await goOn(clerk(world, mortal(world, Infinity, 'refused').store, way), world, sessionId)
  expect(result.error).toBeUndefined()
  assertWellFormed(result.messages)
  await expectLogged(world.store, result)
  expect(foldLog(await readLog(world.store, sessionId)).messages).toEqual(result.messages)
  return result
}

function memosOf(world: World): readonly string[] {
  return world.stored.flatMap((entry) => (entry.type === 'memo' ? [entry.id] : []))
}

/** An append that was not written leaves what a refused one leaves, and a death after the append before: some places show it. */
const every = process.env['PROVOST_TEST_FULL'] === '1' ? 1 : 13
const strides: Readonly<Record<Death, number>> = { unanswered: every, unwritten: 2 * every + 1, refused: 4 * every + 1 }

describe.for(Object.entries(ways))('a run led by %s', ([, way]) => {
  test.for<Death>(['unanswered', 'unwritten', 'refused'])(
    'whose driver dies after any append (%s) comes to the same end under another, nothing done twice',
    async (death) => {
      const whole = createWorld()
      const first = await finish(whole, way)
      expect(first).toMatchObject({ status: 'completed', output: { done: true } })
      const expected = comparable(first.messages, first.runId)
      const memos = memosOf(whole).length
      let appends = 0
      for (let lives = 0; ; lives += strides[death]) {
        const world = createWorld()
        await live(world, way, lives, death)
        const stored = world.stored.length
        const result = await finish(world, way)
        if (world.stored.length === stored) break
        appends++
        expect(comparable(result.messages, result.runId)).toEqual(expected)
        expect(result.output).toEqual({ done: true })
        expect([...world.effects.values()].map(({ keys }) => keys.length)).toEqual(Array(way.effects).fill(1))
        expect(memosOf(world)).toHaveLength(memos)
        expect(new Set(memosOf(world)).size).toBe(memos)
      }
      expect(appends * strides[death]).toBeGreaterThan(12)
    },
  )
  test('whose drivers die again and again gets there all the same', async () => {
    const lives = fc.array(fc.tuple(fc.nat(6), fc.constantFrom<Death>('unanswered', 'unwritten', 'refused')), {
      maxLength: 10,
    })
    await fc.assert(
      fc.asyncProperty(lives, async (deaths) => {
        const world = createWorld()
        for (const [appended, death] of deaths) await live(world, way, appended, death)
        expect(await finish(world, way)).toMatchObject({ status: 'completed', output: { done: true } })
        expect([...world.effects.values()].map(({ keys }) => keys.length)).toEqual(Array(way.effects).fill(1))
      }),
      { numRuns: every === 1 ? 16 : 2 },
    )
  })
})
