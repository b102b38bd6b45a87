import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'

import { createAgent, foldLog } from '@provost/agent'
import type { Message, SessionStore } from '@provost/core'
import { defineExtension } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed } from '@provost/testing'
import { describe, expect, test } from 'vitest'

import { look, model } from '../hooks/walker.ts'
import { readLog } from './run-check.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
/** The most steps: full runs show it with more of them. */
const most = full ? 2_000 : 100

/** What a run did, in numbers. */
interface Count {
  appends: number
  entries: number
  events: number
  conversions: number
  /** Of the prompt's messages, those that were not the same object as in the request before. */
  fresh: number
}

async function countRun(steps: number): Promise<Count & { readonly messages: readonly Message[] }> {
  const count: Count = { appends: 0, entries: 0, events: 0, conversions: 0, fresh: 0 }
  const store = memoryStore()
  const counted: SessionStore = {
    ...store,
    append(log, entries, at) {
      count.appends++
      count.entries += entries.length
      return store.append(log, entries, at)
    },
  }
  let last: readonly object[] = []
  const agent = createAgent({
    name: 'walker',
    model: model(steps, (prompt) => {
      count.fresh += prompt.filter((message, index) => message !== last[index]).length
      last = prompt
    }),
    tools: [look],
    store: counted,
    maxSteps: steps,
    convertToModel: () => {
      count.conversions++
      return undefined
    },
  })
  const stream = agent.stream('Go.')
  for await (const _ of stream) count.events++
  const { messages, status, sessionId } = await stream.result
  expect(status).toBe('completed')
  expect(isDeepStrictEqual(foldLog(await readLog(store, sessionId)).messages, messages)).toBe(true)
  return { ...count, messages }
}

describe(`a run of ${most} steps does in each what a run of 20 does`, () => {
  test('appends, entries, events, conversions, and nothing sent twice as another object', async () => {
    const [short, long] = [await countRun(20), await countRun(most)]
    for (const [steps, count] of [
      [20, short],
      [most, long],
    ] as const) {
      expect(count.messages).toHaveLength(2 * steps)
      // The last answer is never sent.
      expect(count.conversions).toBe(count.messages.length - 1)
      expect(count.fresh).toBe(count.messages.length - 1)
    }
    assertWellFormed(long.messages)
    for (const what of ['appends', 'entries', 'events'] as const) {
      // The same for each step, but for the beginning and the end.
      const each = (long[what] - short[what]) / (most - 20)
      expect(each).toBe(Math.round(each))
      expect(short[what]).toBeLessThan(each * 20 + 15)
    }
  })

  test('walks, copies and writes no more of what is there already', async () => {
    const [first, second, last] = [await leastWork(20), await leastWork(40), await leastWork(most)]
    for (const what of ['frozen', 'parsed', 'written', 'characters', 'copied'] as const) {
      const early = (second[what] - first[what]) / 20
      const late = (last[what] - second[what]) / (most - 40)
      // Step numbers get longer.
      expect(late, `${what} in each step`).toBeLessThanOrEqual(early * 1.1)
    }
    // Or nothing was counted.
    expect(last.frozen).toBeGreaterThan(most)
  })

  test('also with an extension on every step', async () => {
    const steps = full ? 300 : 60
    const calls = { request: 0, response: 0, call: 0, result: 0, event: 0 }
    const agent = createAgent({
      name: 'walker',
      model: model(steps),
      tools: [look],
      maxSteps: steps,
      extensions: [
        defineExtension({
          name: 'counter',
          hooks: {
            'model.request': () => void calls.request++,
            'model.response': () => void calls.response++,
            'tool.call': () => void calls.call++,
            'tool.result': () => void calls.result++,
            event: () => void calls.event++,
          },
        }),
      ],
    })
    expect((await agent.run('Go.')).status).toBe('completed')
    expect(calls).toMatchObject({ request: steps, response: steps, call: 2 * (steps - 1), result: 2 * (steps - 1) })
  })
})

/** How often the built-ins were called that walk, copy and write values, and how much they wrote. */
interface Work {
  frozen: number
  parsed: number
  written: number
  characters: number
  copied: number
}

/** What other tests have left at work in this process counts as well, now and then: the least is what the run does. */
async function leastWork(steps: number): Promise<Work> {
  const [one, other] = [await workOf(steps), await workOf(steps)]
  return {
    frozen: Math.min(one.frozen, other.frozen),
    parsed: Math.min(one.parsed, other.parsed),
    written: Math.min(one.written, other.written),
    characters: Math.min(one.characters, other.characters),
    copied: Math.min(one.copied, other.copied),
  }
}

async function workOf(steps: number): Promise<Work> {
  const work: Work = { frozen: 0, parsed: 0, written: 0, characters: 0, copied: 0 }
  const agent = createAgent({ name: 'walker', model: model(steps), tools: [look], maxSteps: steps })
  // Everything is loaded and compiled before anything is counted.
  await agent.run('Go.', { maxSteps: 1 })
  const { freeze, isFrozen } = Object
  const { parse, stringify } = JSON
  const clone = globalThis.structuredClone
  try {
    Object.isFrozen = (value) => {
      work.frozen++
      return isFrozen(value)
    }
    Object.freeze = <T>(value: T) => {
      work.frozen++
      return freeze(value)
    }
    JSON.parse = (...args: Parameters<typeof parse>): unknown => {
      work.parsed++
      return parse(...args)
    }
    JSON.stringify = (...args: unknown[]): string => {
      work.written++
      const text: string = Reflect.apply(stringify, JSON, args)
      work.characters += text?.length ?? 0
      return text
    }
    globalThis.structuredClone = <T>(value: T): T => {
      work.copied++
      return clone(value)
    }
    const stream = agent.stream('Go.')
    for await (const _ of stream) continue
    expect((await stream.result).status).toBe('completed')
  } finally {
    Object.assign(Object, { freeze, isFrozen })
    Object.assign(JSON, { parse, stringify })
    globalThis.structuredClone = clone
  }
  return work
}

test('what stays of a run grows with its messages, not with their square', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const child = fileURLToPath(new URL('held-child.ts', import.meta.url))
  const args = ['--expose-gc', ...process.execArgv, child, String(Math.max(100, most / 2))]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { some, many }: { some: number; many: number } = JSON.parse(stdout)
  // Five times the steps: five times as much, where the square would be twenty-five times.
  expect(many / some).toBeLessThan(10)
})
