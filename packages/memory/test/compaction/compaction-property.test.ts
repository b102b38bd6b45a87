import { createAgent, RunState } from '@provost/agent'
import type { Agent } from '@provost/agent'
import type { Extension, Label, RunResult, RunState as State, SessionStore, View } from '@provost/core'
import { defineExtension, joinLabels, labelOf, textOf } from '@provost/core'
import { compaction } from '@provost/memory'
import type { CompactionOptions } from '@provost/memory'
import { memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { entriesOf, isSummaryRequest, words } from '../fixture/compaction-scenario.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const timeout = full ? 900_000 : 30_000
const window = 2500
const sessionId = 's'

/** One call of a tool. */
interface Call {
  readonly does: 'read' | 'fail' | 'ask' | 'secret'
  readonly tokens: number
}
/** One response of the model. */
interface Step {
  readonly tokens: number
  readonly reasons: boolean
  readonly calls: readonly Call[]
}
interface Turn {
  readonly tokens: number
  readonly steps: readonly Step[]
  readonly ends: 'well' | 'aborted' | 'by hand'
}

const call: fc.Arbitrary<Call> = fc.record({
  does: fc.constantFrom('read' as const, 'read' as const, 'fail' as const, 'ask' as const, 'secret' as const),
  tokens: fc.integer({ min: 1, max: 400 }),
})
const step: fc.Arbitrary<Step> = fc.record({
  tokens: fc.nat(120),
  reasons: fc.boolean(),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
})
const turn: fc.Arbitrary<Turn> = fc.record({
  tokens: fc.integer({ min: 1, max: 250 }),
  steps: fc.array(step, { maxLength: 5 }),
  ends: fc.constantFrom('well' as const, 'well' as const, 'well' as const, 'aborted' as const, 'by hand' as const),
})
const play = fc.array(turn, { minLength: 4, maxLength: full ? 14 : 9 })
const options: fc.Arbitrary<CompactionOptions> = fc.record({
  keepRecent: fc.constantFrom(0, 200, 700),
  strategy: fc.constantFrom('summarize' as const, ['clear-tool-results' as const, 'summarize' as const]),
  pinned: fc.constantFrom([], ['Amounts are in euros.']),
})

/** Observations of a running session. */
interface Seen {
  readonly views: View[]
  /** The join of the labels of all messages that were ever in a context. */
  ever: Label
}

/** Position of the session. The model of the test follows it instead of its prompts. */
interface Cursor {
  turn: number
  step: number
}

function requestOf(turns: readonly Turn[], at: number): string {
  return `Request R-${at}00${at}: ${words(turns[at]?.tokens ?? 1)}`
}

/** Checks the invariants of the prompt at each model call. */
function checker(turns: readonly Turn[], cursor: Cursor, seen: Seen): Extension {
  const written = new Map<string, string>()
  return defineExtension({
    name: 'checker',
    hooks: {
      'model.request'(request, { view, run, intent }) {
        cursor.step = run.step
        const { messages, tokens, overhead, label } = view
        const sent = messages.filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool')
        assertWellFormed(sent)
        expect(tokens + overhead).toBeLessThanOrEqual(window)
        // The latest request occurs verbatim and once.
        expect(messages.filter((one) => textOf(one) === requestOf(turns, cursor.turn))).toHaveLength(1)
        expect(intent).toHaveLength(cursor.turn + 1)
        // Ids name one message each.
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
        // Text and reasoning of the model occur unchanged or not at all.
        for (const message of messages) {
          if (message.role !== 'assistant') continue
          const text = JSON.stringify(message.content)
          expect(written.get(message.id) ?? text).toBe(text)
          written.set(message.id, text)
        }
        // Compaction makes no content more trusted or less confidential.
        seen.ever = joinLabels(seen.ever, ...messages.map(labelOf))
        expect([label.integrity, label.confidentiality]).toEqual([seen.ever.integrity, seen.ever.confidentiality])
        seen.views.push({ messages, tokens, overhead, label, model: request.model, trigger: view.trigger })
      },
    },
  })
}

function agentOf(
  turns: readonly Turn[],
  cursor: Cursor,
  seen: Seen,
  given: CompactionOptions,
  store: SessionStore,
): Agent {
  const act = tool({
    name: 'act',
    effect: 'read',
    needsApproval: ({ does }) => does === 'ask',
    input: z.object({ does: z.string(), tokens: z.number() }),
    returns: (_, { does }) => ({
      confidentiality: does === 'secret' ? 'secret' : 'internal',
      sources: [`act:${does}`],
    }),
    execute: ({ does, tokens }) => {
      if (does === 'fail') throw new Error('It failed.')
      return `found ${words(tokens)}`
    },
  })
  const model = scriptedModel(
    [
      (prompt): ScriptedStep => {
        if (isSummaryRequest(prompt)) return { text: 'They worked. '.repeat(4) }
        const { steps = [], ends } = turns[cursor.turn] ?? {}
        const now = steps[cursor.step - 1]
        if (!now) return ends === 'aborted' ? { text: 'half', stall: true } : { text: 'done' }
        return {
          text: words(now.tokens),
          ...(now.reasons && {
            reasoning: { text: 'hm', providerMetadata: { scripted: { signature: `${cursor.turn}.${cursor.step}` } } },
          }),
          toolCalls: now.calls.map(({ does, tokens }) => ({ name: 'act', input: { does, tokens }, id: 'same' })),
        }
      },
    ],
    { after: 'repeat-last' },
  )
  return createAgent({
    name: 'a',
    instructions: 'You help.',
    model,
    tools: [act],
    store,
    extensions: [compaction({ window, ...given }), checker(turns, cursor, seen)],
  })
}

/** Plays one turn to its end, with its approvals. */
async function playTurn(agent: Agent, turns: readonly Turn[], at: number, resumed?: State<string>): Promise<RunResult> {
  const { ends } = turns[at] ?? {}
  const onApproval = (): 'approve' | 'deny' => (at % 2 === 0 ? 'approve' : 'deny')
  const stream = resumed
    ? agent.stream(resumed, { onApproval })
    : agent.stream(requestOf(turns, at), { sessionId, onApproval })
  for await (const event of stream) {
    if (ends === 'aborted' && event.type === 'text.delta' && event.delta === 'half') void stream.abort()
  }
  return stream.result
}

function expectCompacted(entries: Awaited<ReturnType<typeof entriesOf>>): number {
  let cuts = 0
  for (const entry of entries) {
    if (entry.type !== 'view') continue
    cuts++
    const { beforeTokens = 0, afterTokens = 0, source } = entry.compacted ?? {}
    expect(afterTokens).toBeLessThan(beforeTokens)
    expect(afterTokens).toBeLessThan(source === 'step' ? window * 0.85 : beforeTokens)
  }
  return cuts
}

test(
  'every request after any conversation is well formed, fits, and keeps the user request and the labels',
  { timeout },
  async () => {
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(play, options, async (turns, given) => {
        const store = memoryStore()
        const cursor: Cursor = { turn: 0, step: 0 }
        const seen: Seen = { views: [], ever: joinLabels() }
        const agent = agentOf(turns, cursor, seen, given, store)
        for (const [at, { ends }] of turns.entries()) {
          cursor.turn = at
          const result = await playTurn(agent, turns, at)
          expect(result.status).toBe(ends === 'aborted' ? 'aborted' : 'completed')
          assertWellFormed(result.messages)
          if (ends !== 'by hand') continue
          const session = await agent.resumeSession(sessionId)
          await session.compact()
          assertWellFormed(session.messages.filter(({ role }) => role !== 'aborted' && role !== 'error'))
        }
        cuts += expectCompacted(await entriesOf(store, sessionId))
      }),
      full ? { numRuns: 150 } : { numRuns: 3, seed: 3 },
    )
    // Otherwise the test has no cases.
    expect(cuts).toBeGreaterThan(full ? 150 : 3)
  },
)

test('a run interrupted before or after any append resumes, and no compaction happens twice', { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(
      play,
      options,
      fc.array(fc.integer({ min: 1, max: 14 }), { maxLength: 12 }),
      async (turns, given, deaths) => {
        const store = memoryStore()
        const cursor: Cursor = { turn: 0, step: 0 }
        const seen: Seen = { views: [], ever: joinLabels() }
        const left = [...deaths]
        for (const at of turns.keys()) {
          cursor.turn = at
          for (;;) {
            const died = Promise.withResolvers<'died'>()
            const dying = dyingStore(store, left.shift() ?? Number.POSITIVE_INFINITY, () => died.resolve('died'))
            const agent = agentOf(turns, cursor, seen, given, dying)
            const state = await openState(store, agent, at)
            if (state === 'over') break
            const result = await Promise.race([playTurn(agent, turns, at, state), died.promise])
            if (result === 'died') continue
            expect(result.status).toMatch(/^(completed|aborted)$/)
            break
          }
        }
        const entries = await entriesOf(store, sessionId)
        expectCompacted(entries)
        expect(entries.map(({ offset }) => offset)).toEqual(entries.map((_, index) => index + 1))
        // A cut names messages of the current context, never of an outdated one.
        const ids = new Set<string>()
        for (const entry of entries) {
          if (entry.type !== 'view') continue
          const key = `${entry.from} ${entry.to}`
          expect(ids.has(key) && entry.with.every(({ id }) => !id.startsWith(entry.id))).toBe(false)
          ids.add(key)
        }
      },
    ),
    { numRuns: full ? 80 : 2 },
  )
})

/** Returns the store for a driver that dies at an append: before it, or between the write and the response. */
function dyingStore(store: SessionStore, at: number, die: () => void): SessionStore {
  let appends = 0
  let dead = false
  const gone = new Promise<never>(() => {})
  const end = async (log: string, fence: number): Promise<never> => {
    dead = true
    // Releases the lease here instead of waiting for its expiry.
    await store.release(log, fence)
    die()
    return gone
  }
  return {
    ...store,
    lease: (log, owner, ttlMs) => (dead ? gone : store.lease(log, owner, ttlMs)),
    async append(log, entries, place) {
      if (dead) return gone
      if (++appends < at) return store.append(log, entries, place)
      if (at % 2 === 0) await store.append(log, entries, place)
      return end(log, place.fence)
    },
  }
}

/** Returns the state of the turn's run if it has started; `over` after its end. */
async function openState(store: SessionStore, agent: Agent, at: number): Promise<State<string> | 'over' | undefined> {
  const entries = await entriesOf(store, sessionId)
  const runs = entries.filter((entry) => entry.type === 'run' && entry.op === 'started')
  const started = runs[at]
  if (started?.type !== 'run' || started.op !== 'started') return undefined
  if (entries.some((entry) => entry.runId === started.runId && entry.type === 'run' && entry.op === 'ended'))
    return 'over'
  const { manifest, runId } = started
  const cursor = { sessionId, runId, offset: entries.length }
  return RunState.fromJSON(JSON.stringify({ v: 1, manifest, agent: agent.name, cursor }), agent)
}
