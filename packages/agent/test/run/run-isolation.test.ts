import { setImmediate as tick } from 'node:timers/promises'

import { createAgent } from '@provost/agent'
import type { Fold, Json } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { collect, expectLogged, expectSound, only } from './run-check.ts'

const runs = process.env['PROVOST_TEST_FULL'] === '1' ? 200 : 16

/** The word that a run is about, from what its model sees. */
function wordIn({ messages }: ScriptedPrompt): string {
  const user = messages.find(({ role }) => role === 'user')
  return /word-\d+/.exec(JSON.stringify(user))?.[0] ?? ''
}

/** Three steps, the middle ones with two calls each. */
function answer(prompt: ScriptedPrompt) {
  const word = wordIn(prompt)
  const step = prompt.messages.filter(({ role }) => role === 'assistant').length
  if (step === 2) return { text: [`It was `, word], usage: { inputTokens: 3, outputTokens: 2 } }
  return {
    text: `${word} at ${step}. `,
    // All runs write the same ids.
    toolCalls: ['a', 'b'].map((name) => ({ name: 'echo', input: { word: `${word}-${name}` }, id: 'call_0' })),
    usage: { inputTokens: 3, outputTokens: 2 },
  }
}

test(`${runs} runs of one agent at once do not see each other`, async () => {
  let underWay = 0
  let most = 0
  const echo = tool({
    name: 'echo',
    input: z.object({ word: z.string() }),
    async execute({ word }, { callId, context }) {
      most = Math.max(most, ++underWay)
      // No two runs take turns in the same way.
      for (let i = Number(/\d+/.exec(word)?.[0]) % 7; i >= 0; i--) await tick()
      underWay--
      return { word, callId, context }
    },
  })
  const callsOf: Fold<readonly string[]> = {
    key: 'calls',
    initial: [],
    apply: (calls, entry) => (entry.type === 'call' && entry.op === 'started' ? [...calls, entry.callId] : calls),
  }
  const noted = new Map<string, Json[]>()
  const notes = defineExtension({
    name: 'notes',
    hooks: {
      input: (message) => ({ tail: [{ content: `aside: ${textOf(message)}` }] }),
      async 'tool.result'(result, ctx) {
        const memo = await ctx.memo('first', () => textOf(ctx.intent[0] ?? { content: '' }))
        const seen = [memo, ...ctx.fold(callsOf), ctx.run.id, textOf(ctx.view.messages[0] ?? { content: '' })]
        noted.set(ctx.run.id, [...(noted.get(ctx.run.id) ?? []), ...seen])
        return { ...result, details: { in: ctx.run.id } }
      },
    },
  })
  const store = memoryStore()
  const agent = createAgent({
    name: 'crowd',
    instructions: (ctx) => `You serve ${String(ctx.context)}.`,
    model: scriptedModel([answer], { after: 'repeat-last' }),
    tools: [echo],
    extensions: [notes],
    store,
  })
  const all = await Promise.all(
    Array.from({ length: runs }, (_, n) => collect(agent.stream(`Say word-${n}!`, { context: `client-${n}` }))),
  )

  expect(most).toBeGreaterThan(runs)
  expect(new Set(all.map(({ runId }) => runId)).size).toBe(runs)
  expect(new Set(all.map(({ result }) => result.sessionId)).size).toBe(runs)
  for (const [n, seen] of all.entries()) {
    const { result, runId, events } = seen
    expect(result).toMatchObject({ status: 'completed', text: `It was word-${n}` })
    expect(result.usage).toMatchObject({ inputTokens: 9, outputTokens: 6 })
    expectSound(seen)
    const told = JSON.stringify([result.messages, events, noted.get(runId)])
    expect(new Set(told.match(/word-\d+/g))).toEqual(new Set([`word-${n}`]))
    expect(new Set(told.match(/client-\d+/g))).toEqual(new Set([`client-${n}`]))
    expect(new Set(told.match(/[\da-f]{8}(-[\da-f]{4,12}){4}/g))).toEqual(new Set([runId, result.sessionId]))
    expect(only(events, 'tool.execute.end').map(({ details }) => details)).toEqual(
      [1, 2, 3, 4].map(() => ({ in: runId })),
    )
  }
  await Promise.all(all.map(({ result }) => expectLogged(store, result)))
})

test('a run that fails, one that is aborted and one that continues share an agent and nothing else', async () => {
  const agent = createAgent({
    name: 'crowd',
    model: scriptedModel(
      [
        (prompt) => {
          const word = wordIn(prompt)
          if (word === 'word-0') return { error: Object.assign(new Error('bad key'), { status: 401 }) }
          return word === 'word-1' ? { text: ['Half ', 'more'], stall: true, failAfterChunks: 1 } : { text: word }
        },
      ],
      { after: 'repeat-last' },
    ),
  })
  const [failing, stalling, fine] = [0, 1, 2].map((n) => agent.stream(`word-${n}`))
  if (!failing || !stalling || !fine) throw new Error('three streams')
  for await (const event of stalling) if (event.type === 'text.delta') void stalling.abort()
  const results = await Promise.all([failing.result, stalling.result, fine.result])
  expect(results.map(({ status }) => status)).toEqual(['failed', 'aborted', 'completed'])
  expect(results[2]?.text).toBe('word-2')
})
