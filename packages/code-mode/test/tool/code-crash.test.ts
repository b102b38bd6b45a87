import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentStream } from '@provost/agent'
import type { Decisions, Entry, Json, PendingWork, RunResult, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { codeMode } from '../fixture/subject.ts'

/** What survives a process: the store and the external effects. */
interface World {
  readonly store: SessionStore
  readonly effects: Map<string, { readonly output: Json; times: number }>
}

/** The store of one process that dies after the given number of appends: after storing one, or before the next. */
function mortal(store: SessionStore, lives: number, unanswered: boolean) {
  const died = Promise.withResolvers<void>()
  let appends = 0
  let dead = false
  const die = async (log: string, fence: number): Promise<never> => {
    dead = true
    // The lease of a dead process expires at once in this test.
    await store.release(log, fence)
    died.resolve()
    return new Promise(() => {})
  }
  const seen: SessionStore = {
    ...store,
    lease: (...given) => (dead ? new Promise(() => {}) : store.lease(...given)),
    async append(log, entries, at) {
      if (dead || appends >= lives) return die(log, at.fence)
      appends++
      const appended = await store.append(log, entries, at)
      return unanswered && appends === lives ? die(log, at.fence) : appended
    },
  }
  return { store: seen, died: died.promise, appends: () => appends }
}

const n = z.object({ n: z.number() })
const source = `const random = Math.random()
const said = []
const seen = await Promise.all([1, 2].map((n) => tools.look({ n })))
console.log(seen.length, 'seen')
const [booked, paid] = await Promise.all([tools.book({ n: seen[0].n }), tools.pay({ n: 80 })].map((call) => call.then((value) => (said.push(String(value)), value))))
const van = await tools.courier({ n: 3 })
if (said.length === 2) await tools.book({ n: 9 })
return { booked, paid, van, said, random, when: Date.now() }`

function processOf(world: World, store: SessionStore): Agent {
  const write = (callId: string, output: Json): Json => {
    const known = world.effects.get(callId)
    if (known) known.times++
    else world.effects.set(callId, { output, times: 1 })
    return output
  }
  return createAgent({
    name: 'clerk',
    store,
    extensions: [codeMode({ workers: 1 })],
    tools: [
      tool({ name: 'look', input: n, effect: 'read', execute: ({ n: at }) => ({ n: at }) }),
      tool({ name: 'book', input: n, execute: ({ n: seat }, { callId }) => write(callId, { seat }) }),
      tool({
        name: 'pay',
        input: n,
        needsApproval: true,
        execute: ({ n: sum }, { callId }) => write(callId, `paid ${sum}`),
      }),
      tool({ name: 'courier', input: n }),
    ],
    model: scriptedModel(
      [
        ({ messages }) =>
          messages.at(-1)?.role === 'tool'
            ? { text: JSON.stringify(messages.at(-1)) }
            : { toolCalls: [{ name: 'code_execute', input: { source } }] },
      ],
      { after: 'repeat-last' },
    ),
  })
}

function answers(world: World, pending: PendingWork): Decisions {
  return {
    approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: 'van 7' })),
    uncertain: pending.uncertain.map(({ callId }) => {
      const effect = world.effects.get(callId)
      return effect ? { callId, decision: 'done', output: effect.output } : { callId, decision: 'retry' }
    }),
  }
}

async function begin(world: World, sessionId: string, store: SessionStore): Promise<AgentStream> {
  const agent = processOf(world, store)
  const entries: Entry[] = []
  for await (const entry of world.store.read(sessionId)) entries.push(entry)
  const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  if (started?.type !== 'run' || started.op !== 'started') return agent.stream('Go.', { sessionId })
  const { manifest, runId } = started
  const json = { v: 1, manifest, agent: agent.name, cursor: { sessionId, runId, offset: entries.length } }
  return agent.stream(RunState.fromJSON(JSON.stringify(json), agent))
}

/** Resumes from the log until the run ends, each decision in another process. */
async function goOn(world: World, sessionId: string, store: SessionStore): Promise<RunResult> {
  let result = await (await begin(world, sessionId, store)).result
  for (let round = 0; result.status === 'suspended'; round++) {
    expect(round).toBeLessThan(20)
    result = await processOf(world, store).run(result.state, answers(world, result.pending))
  }
  return result
}

function outcomeOf({ status, messages }: RunResult): unknown {
  const parts = messages.flatMap(({ content }) => content)
  const result = parts.find((part) => part.type === 'tool-result')
  if (result?.type !== 'tool-result' || result.output.type !== 'json') return { status, messages }
  const value = z
    .object({ result: z.record(z.string(), z.json()), logs: z.array(z.string()) })
    .parse(result.output.value)
  return { status, logs: value.logs, ...value.result }
}

const expected = {
  status: 'completed',
  logs: ['2 seen'],
  booked: { seat: 1 },
  paid: 'paid 80',
  van: 'van 7',
  said: ['[object Object]', 'paid 80'],
  random: expect.any(Number),
  when: expect.any(Number),
}

test('a script whose process dies at any moment is resumed to the same result, without a repeated effect', async () => {
  const quiet = { store: memoryStore(), effects: new Map() }
  const counting = mortal(quiet.store, Infinity, false)
  const full = await goOn(quiet, 'quiet', counting.store)
  expect(outcomeOf(full)).toEqual(expected)
  const total = counting.appends()
  expect(total).toBeGreaterThan(10)
  const every = process.env['PROVOST_TEST_FULL'] === '1' ? 1 : 16
  const moments = Array.from({ length: total }, (_, at) => at).filter((at) => at % every === 0)
  for (const lives of moments) {
    for (const unanswered of every === 1 ? [true, false] : [lives % 2 === 0]) {
      const world: World = { store: memoryStore(), effects: new Map() }
      const dying = mortal(world.store, lives, unanswered)
      await Promise.race([goOn(world, 's', dying.store).catch(() => {}), dying.died])
      const result = await goOn(world, 's', world.store)
      expect(outcomeOf(result), `${lives} ${unanswered}`).toEqual(expected)
      expect(
        [...world.effects.values()].map(({ times }) => times),
        `${lives} ${unanswered}`,
      ).toEqual([1, 1, 1])
    }
  }
})
