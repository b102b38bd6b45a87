import { createAgent } from '@provost/agent'
import type { Label } from '@provost/core'
import { defineExtension, joinLabels, labelOf } from '@provost/core'
import { compaction, createMemory, sqliteMemory } from '@provost/memory'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { entriesOf, isSummaryRequest, words } from '../fixture/compaction-scenario.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const principal = { id: 'ann' }

const label = fc.record({
  integrity: fc.constantFrom('trusted' as const, 'trusted' as const, 'untrusted' as const),
  confidentiality: fc.constantFrom('public' as const, 'internal' as const, 'secret' as const),
  sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }).map((names) => names.toSorted()),
})
const turn = fc.record({
  /** Texts that the turn reads. Each contains a unique word that identifies it in any place. */
  reads: fc.array(fc.record({ label, tokens: fc.constantFrom(20, 150, 400) }), { maxLength: 3 }),
  /** The action of the model, with all such words that it sees. */
  deed: fc.constantFrom('answers', 'notes', 'searches', 'pins' as const),
})
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never
const conversation = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 7 }),
  /** Number of quarantined items that are confirmed before the next conversation. */
  confirms: fc.constantFrom(0, 0, 1),
})
const play = fc.array(conversation, { minLength: 2, maxLength: 3 })

let conversationsHeld = 0
/** Counts of the tested events, which must all occur. */
const seen = { cuts: 0, summaries: 0, recalled: 0, quarantined: 0, confirmed: 0 }

test('labels persist through compaction and memory, and nothing in quarantine leaves its conversation', async () => {
  await fc.assert(
    fc.asyncProperty(play, async (conversations) => {
      const memory = createMemory({
        store: sqliteMemory(':memory:'),
        blocks: [{ name: 'board', about: 'what matters' }],
        reminders: { limit: 4 },
      })
      const labels = new Map<string, Label>()
      const confirmed = new Set<string>()
      try {
        for (const { turns, confirms } of conversations) {
          await converse(turns, { memory, labels, confirmed })
          for (const { text, label: own } of await memory.list({ principal, limit: 1000 }))
            for (const word of wordsIn(text)) expect(covers(own, labels.get(word))).toBe(true)
          const waiting = await memory.list({ principal, states: ['quarantined'] })
          seen.quarantined += waiting.length
          for (const { id, text } of waiting.slice(0, confirms)) {
            await memory.confirm(id, { by: 'bob' })
            seen.confirmed++
            for (const word of wordsIn(text)) confirmed.add(word)
          }
        }
      } finally {
        await memory.close()
      }
    }),
    // A few random runs may miss an event; these cases cause all of them.
    full ? { numRuns: 60 } : { numRuns: 3, seed: 5 },
  )
  for (const [what, count] of Object.entries(seen)) expect({ what, count }).not.toEqual({ what, count: 0 })
})

interface World {
  readonly memory: ReturnType<typeof createMemory>
  /** The label of each text, by its word. */
  readonly labels: Map<string, Label>
  /** Words of confirmed items. */
  readonly confirmed: Set<string>
}

async function converse(turns: readonly Turn[], world: World): Promise<void> {
  const { memory, labels, confirmed } = world
  const store = memoryStore()
  const own = new Set<string>()
  /** The join of the labels of all texts that reached the model in this conversation. */
  let soFar = joinLabels()
  const sessionId = `s${++conversationsHeld}`
  let steps: (ScriptedStep | ((said: string) => ScriptedStep))[] = []

  const read = tool({
    name: 'read',
    effect: 'read',
    input: z.object({ n: z.number(), tokens: z.number() }),
    returns: (_, { n }) => labels.get(wordOf(n)) ?? joinLabels(),
    execute: ({ n, tokens }) => `About the topic: ${wordOf(n)} ${words(tokens)}`,
  })
  const model = scriptedModel(
    [
      (prompt) => {
        const found = wordsIn(JSON.stringify(prompt.messages))
        for (const word of found) {
          const given = labels.get(word)
          const foreign = !own.has(word)
          if (foreign) seen.recalled++
          // Untrusted texts come from tools of this conversation or were confirmed.
          expect({ word, leaked: foreign && given?.integrity === 'untrusted' && !confirmed.has(word) }).toMatchObject({
            leaked: false,
          })
          if (given) soFar = joinLabels(soFar, given)
        }
        const said = `About the topic: ${found.slice(-6).join(' ')}`
        if (isSummaryRequest(prompt)) {
          seen.summaries++
          return { text: said }
        }
        const step = steps.shift() ?? { text: said }
        return typeof step === 'function' ? step(said) : step
      },
    ],
    { after: 'repeat-last' },
  )
  const checker = defineExtension({
    name: 'checker',
    hooks: {
      'model.request'(_, { view }) {
        for (const message of view.messages)
          for (const word of wordsIn(JSON.stringify(message.content)))
            expect(covers(labelOf(message), labels.get(word))).toBe(true)
      },
      'model.response'(message) {
        // This includes sources that no message of the context contains any more.
        expect(covers(labelOf(message), soFar)).toBe(true)
      },
    },
  })
  const agent = createAgent({
    name: 'a',
    instructions: 'You help.',
    model,
    tools: [read],
    store: { ...store, private: true },
    extensions: [memory, compaction({ window: 3500, keepRecent: 300 }), checker],
  })
  for (const { reads, deed } of turns) {
    steps = reads.map(({ label: given, tokens }) => {
      const n = labels.size
      labels.set(wordOf(n), given)
      own.add(wordOf(n))
      return { toolCalls: [{ name: 'read', input: { n, tokens } }] }
    })
    if (deed === 'notes') steps.push((text) => ({ toolCalls: [{ name: 'memory_remember', input: { text } }] }))
    if (deed === 'pins')
      steps.push((text) => ({ toolCalls: [{ name: 'memory_edit', input: { block: 'board', text } }] }))
    if (deed === 'searches') steps.push({ toolCalls: [{ name: 'memory_recall', input: { query: 'topic' } }] })
    const { status, error } = await agent.run(`What about the topic? ${words(150)}`, { sessionId, principal })
    expect({ status, error }).toMatchObject({ status: 'completed' })
  }
  const entries = await entriesOf(store, sessionId)
  seen.cuts += entries.filter(({ type }) => type === 'view').length
}

function wordOf(n: number): string {
  return `canary${n}x`
}

function wordsIn(text: string): readonly string[] {
  return [...new Set(text.match(/canary\d+x/g))]
}

function covers(a: Label, b: Label | undefined): boolean {
  return b !== undefined && JSON.stringify(joinLabels(a, b)) === JSON.stringify(joinLabels(a))
}
