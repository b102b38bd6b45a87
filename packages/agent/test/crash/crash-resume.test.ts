import { setImmediate as tick } from 'node:timers/promises'

import { foldLog } from '@provost/agent'
import type { Message, RunStatus } from '@provost/core'
import { assertWellFormed } from '@provost/testing'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'

import { expectLogged, readLog } from '../run/run-check.ts'
import { clerk, comparable, createWorld, goOn, mortal } from './crash-world.ts'
import type { Death, World } from './crash-world.ts'

const sessionId = 'session'
/** At each append, or at some; always at the last. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
const every = full ? 1 : 7

/** What an undisturbed run comes to. */
let expected: unknown
let appends = 0
beforeAll(async () => {
  const world = createWorld()
  const result = await goOn(clerk(world, counted(world)), world, sessionId)
  expected = result.status === 'completed' && comparable(result.messages, result.runId)
})

function counted(world: World): World['store'] {
  const { store } = mortal(world, Infinity, 'refused')
  return {
    ...store,
    append(...args) {
      appends++
      return store.append(...args)
    },
  }
}

/** A store that fails once, before or after it has written. */
function hiccup(world: World, lives: number, lost: boolean): World['store'] {
  const { store } = mortal(world, Infinity, 'refused')
  let left = lives
  return {
    ...store,
    async append(...args) {
      if (left-- !== 0) return store.append(...args)
      if (!lost) await store.append(...args)
      throw new Error('the connection is gone')
    },
  }
}

/** Whether a history ends with calls that wait for their results. */
function isOpen(messages: readonly Message[]): boolean {
  return messages.at(-1)?.content.some(({ type }) => type === 'tool-call') === true
}

/** One driver works until it dies, if it does. */
async function live(world: World, lives: number, death: Death): Promise<RunStatus | 'died'> {
  const { store, died } = mortal(world, lives, death)
  const work = goOn(clerk(world, store), world, sessionId).then(({ status }) => status)
  // A store that refuses does not keep its driver from ending.
  const end = await (death === 'refused' ? work : Promise.race([work, died.then(() => 'died' as const)]))
  // What its tools still do before the process is gone.
  for (let i = 0; i < 5; i++) await tick()
  return end
}

async function expectSameEnd(world: World): Promise<void> {
  const { store } = mortal(world, Infinity, 'refused')
  const result = await goOn(clerk(world, store), world, sessionId)
  expect(result).toMatchObject({ status: 'completed', output: { done: true } })
  expect(comparable(result.messages, result.runId)).toEqual(expected)
  assertWellFormed(result.messages)
  await expectLogged(world.store, result)
  expect(foldLog(await readLog(world.store, sessionId)).messages).toEqual(result.messages)
  // Two bookings, a payment and two notes; each with one key, once.
  expect([...world.effects.values()].map(({ keys }) => keys.length)).toEqual([1, 1, 1, 1, 1])
}

describe('a driver that dies', () => {
  test.for<Death>(['unanswered', 'unwritten', 'refused'])(
    'after any append (%s) leaves a log that another one brings to the same end, no effect twice',
    async (death) => {
      expect(appends).toBeGreaterThan(12)
      for (let lives = appends % every; lives <= appends; lives += every) {
        const world = createWorld()
        const survives = lives === appends && death !== 'unanswered'
        expect(await live(world, lives, death)).toBe(survives ? 'completed' : death === 'refused' ? 'failed' : 'died')
        await expectSameEnd(world)
      }
    },
  )

  test.for(['lost', 'answered by an error'])(
    'not at all, since only one append was %s, ends its run with a history that is well formed',
    async (fate) => {
      for (let lives = appends % every; lives < appends; lives += every) {
        const world = createWorld()
        const result = await goOn(clerk(world, hiccup(world, lives, fate === 'lost')), world, sessionId)
        const { messages } = foldLog(await readLog(world.store, sessionId))
        const resumed = await goOn(clerk(world, mortal(world, Infinity, 'refused').store), world, sessionId)
        // An end that was stored counts, whatever the store said of it.
        expect(fate === 'lost' ? ['failed'] : ['failed', 'completed']).toContain(result.status)
        expect([lives, resumed.status, resumed.error]).toEqual([lives, 'completed', undefined])
        // Where even the end could not be written, the log waits for another driver.
        if (!isOpen(messages)) assertWellFormed(messages)
        assertWellFormed(foldLog(await readLog(world.store, sessionId)).messages)
        expect([...world.effects.values()].map(({ keys }) => keys.length)).not.toContain(2)
      }
    },
  )

  test('again and again gets there all the same', async () => {
    const lives = fc.array(fc.tuple(fc.nat(6), fc.constantFrom<Death>('unanswered', 'unwritten', 'refused')), {
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(lives, async (deaths) => {
        const world = createWorld()
        for (const [appended, death] of deaths) await live(world, appended, death)
        await expectSameEnd(world)
      }),
      { numRuns: full ? 40 : 3 },
    )
  })
})
