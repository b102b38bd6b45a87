import { createAgent } from '@provost/agent'
import { defineExtension, textOf } from '@provost/core'
import { compaction } from '@provost/memory'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { fetchPage, isSummaryRequest, page, words } from '../fixture/compaction-scenario.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const turns = full ? 3_000 : 60
const window = 32_000
const text = Object.fromEntries([20, 150, 700, 1500].map((tokens) => [tokens, words(tokens)]))
const sizes = [20, 150, 700, 150, 20, 1500, 150]

test(`a session of ${turns} turns stays in a window of 32,000 tokens, at every step`, async () => {
  let turn = 0
  let steps = 0
  let cuts = 0
  let longest = 0
  let rewritten = 0
  let asked = 0
  let before: readonly string[] = []
  const request = (): string => `turn ${turn} ${text[sizes[turn % sizes.length] ?? 20] ?? ''}`
  const agent = createAgent({
    name: 'a',
    instructions: 'You help.',
    tools: [fetchPage],
    model: scriptedModel(
      [
        (prompt) => {
          if (isSummaryRequest(prompt)) {
            asked = Math.max(asked, JSON.stringify(prompt.messages).length / 4)
            return { text: `Up to turn ${turn} they talked. ${words(300)}` }
          }
          const last = prompt.messages.at(-1)
          return last?.role === 'user' && turn % 3 === 0
            ? { toolCalls: [page(600), page(30)] }
            : { text: `answer ${turn} ${words(100)}` }
        },
      ],
      { after: 'repeat-last' },
    ),
    extensions: [
      compaction({ window }),
      defineExtension({
        name: 'checker',
        hooks: {
          'model.request'(_, { view }) {
            steps++
            const { messages, tokens, overhead } = view
            expect(tokens + overhead).toBeLessThanOrEqual(window)
            assertWellFormed(messages)
            expect(messages.findLast((one) => textOf(one) === request())).toBeDefined()
            longest = Math.max(longest, messages.length)
            const ids = messages.map(({ id }) => id)
            if (!before.every((id, at) => ids[at] === id)) rewritten++
            before = ids
          },
        },
      }),
    ],
  })
  const session = await agent.createSession({})
  session.on('context.compacted', ({ beforeTokens, afterTokens }) => {
    cuts++
    expect(afterTokens).toBeLessThan(beforeTokens * 0.8)
  })
  for (; turn < turns; turn++) {
    session.send(request())
    expect((await session.waitForIdle())?.status).toBe('completed')
  }
  expect(session.status).toBe('idle')
  // Only compactions change the prefix, and rarely.
  expect(cuts).toBeGreaterThan(turns / 100)
  expect(rewritten).toBeLessThanOrEqual(cuts)
  expect(steps / cuts).toBeGreaterThan(10)
  // The prompt of the summariser fits its window too.
  expect(asked).toBeLessThan(window)
  // The work of a step does not grow with the session.
  expect(longest).toBeLessThan(400)
})
