import { createAgent, RunState } from '@provost/agent'
import type { Agent, AgentStream, Orchestrator } from '@provost/agent'
import type { Decisions, Json, Message, NewEntry, PendingWork, RunResult, SessionStore, Tool } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

import { collect, expectSound, readLog } from '../run/run-check.ts'

/** When a driver dies: with its append stored and unanswered, or in front of its next one. */
export type Death = 'unanswered' | 'unwritten' | 'refused'

/** What outlives any driver: the store, and what tools did to the outside. */
export interface World {
  readonly store: SessionStore
  /** Which calls of writing tools took effect, and how often. */
  readonly effects: Map<string, { readonly output: Json; readonly keys: string[] }>
  /** Entries as they were stored, without waiting. */
  readonly stored: NewEntry[]
}

export function createWorld(): World {
  return { store: memoryStore(), effects: new Map(), stored: [] }
}

/** A store seen by one driver: it dies after so many appends. */
export interface Mortal {
  readonly store: SessionStore
  readonly died: Promise<void>
}

/** @param lives how many appends are stored; the driver comes no further. */
export function mortal(world: Pick<World, 'store' | 'stored'>, lives: number, death: Death): Mortal {
  const { store } = world
  const died = Promise.withResolvers<void>()
  const held = new Map<string, number>()
  let appends = 0
  let dead = false
  const gone = (): Promise<never> =>
    death === 'refused' ? Promise.reject(new Error('the store is gone')) : new Promise<never>(() => {})
  const die = async (): Promise<never> => {
    dead = true
    // The leases of a dead driver expire at once, so that no test waits for them.
    for (const [log, fence] of held) await store.release(log, fence)
    died.resolve()
    return gone()
  }
  return {
    died: died.promise,
    store: {
      ...store,
      async lease(log, owner, ttlMs) {
        if (dead) return gone()
        const lease = await store.lease(log, owner, ttlMs)
        if (lease === 'busy') return lease
        held.set(log, lease.fence)
        // It has died meanwhile.
        return dead ? die() : lease
      },
      async append(log, entries, at) {
        if (dead || appends >= lives) return die()
        appends++
        const appended = await store.append(log, entries, at)
        world.stored.push(...entries)
        return death === 'unanswered' && appends === lives ? die() : appended
      },
    },
  }
}

function write(world: World, callId: string, key: string, output: Json): Json {
  const known = world.effects.get(callId)
  if (known) known.keys.push(key)
  else world.effects.set(callId, { output, keys: [key] })
  return output
}

const n = z.object({ n: z.number() })

function tools(world: World): readonly Tool[] {
  return [
    tool({ name: 'look', input: n, effect: 'read', execute: ({ n: at }) => ({ at, found: true }) }),
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
    tool({
      name: 'note',
      input: n,
      executionMode: 'sequential',
      execute: ({ n: line }, ctx) => write(world, ctx.callId, ctx.idempotencyKey, `line ${line}`),
    }),
    tool({
      name: 'breaks',
      input: n,
      effect: 'read',
      execute: (): string => {
        throw new Error('always')
      },
    }),
    tool({ name: 'courier', input: n }),
  ]
}

export const calls = (...list: readonly (readonly [name: string, n: unknown])[]): ScriptedStep['toolCalls'] & {} =>
  list.map(([name, at], index) => ({ name, input: { n: at }, id: `call_${index}` }))

/** Parallel reads and writes, an approval, a remote call, bad input, a failed attempt, a repaired answer. */
const script: readonly ScriptedStep[] = [
  { text: 'Let me see.', toolCalls: calls(['look', 1], ['book', 2], ['look', 3], ['book', 4], ['missing', 5]) },
  { reasoning: 'It costs.', toolCalls: calls(['pay', 80], ['look', 6], ['book', 'x'], ['breaks', 1]) },
  { toolCalls: calls(['courier', 7], ['note', 8], ['note', 9], ['courier', 10]) },
  { text: 'It is done.' },
  { text: '{"done": true}' },
]

/** Answers by what was said and what is stored, so that it does not matter which process asks. */
function model(world: World, steps: readonly ScriptedStep[]) {
  return scriptedModel(
    [
      ({ messages }: ScriptedPrompt): ScriptedStep => {
        const step = messages.filter(({ role }) => role === 'assistant').length
        const failed = world.stored.some((entry) => entry.type === 'attempt' && entry.outcome === 'discarded')
        if (step === 2 && !failed) return { text: ['Half a', ' sentence'], failAfterChunks: 1 }
        return steps[step] ?? { text: '{"done": true}' }
      },
    ],
    { after: 'repeat-last' },
  )
}

interface Output {
  done: boolean
}
export type Clerk = Agent<Output>

/** How a clerk works: led by an orchestrator, with a model that follows a script. */
export interface Way {
  readonly orchestrator?: Orchestrator
  readonly script?: readonly ScriptedStep[]
}

/** A new process: nothing of an earlier one but what is in the world. */
export function clerk(world: World, store: SessionStore = world.store, way: Way = {}): Clerk {
  return createAgent({
    name: 'clerk',
    instructions: 'Serve.',
    model: model(world, way.script ?? script),
    ...(way.orchestrator && { orchestrator: way.orchestrator }),
    tools: tools(world),
    output: z.object({ done: z.boolean() }),
    extensions: [
      {
        name: 'impatient',
        scope: 'agent',
        tools: [],
        skills: [],
        hooks: { 'model.error': () => ({ retryAfterMs: 0 }) },
      },
    ],
    store,
  })
}

/** An approver who answers every question; a call that took effect does not run again. */
export function answers(world: World, pending: PendingWork): Decisions {
  return {
    approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
    toolResults: pending.remoteCalls.map(({ callId, input }) => ({ callId, output: { delivered: input } })),
    uncertain: pending.uncertain.map(({ callId }) => {
      const effect = world.effects.get(callId)
      return effect ? { callId, decision: 'done', output: effect.output } : { callId, decision: 'retry' }
    }),
  }
}

export type Outcome = RunResult<Output>

/** Goes on with the run of a session until it ends: from the log, or from the beginning if there is none. */
export async function goOn(agent: Clerk, world: World, sessionId: string): Promise<Outcome> {
  const entries = await readLog(world.store, sessionId)
  const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
  let stream: AgentStream<Output>
  if (started?.type === 'run' && started.op === 'started') {
    const { manifest, runId } = started
    const json = { v: 1, manifest, agent: agent.name, cursor: { sessionId, runId, offset: entries.length } }
    stream = agent.stream(RunState.fromJSON(JSON.stringify(json), agent))
  } else stream = agent.stream('Book it.', { sessionId })
  for (;;) {
    const seen = await collect(stream)
    expectSound(seen)
    if (seen.result.status !== 'suspended') return seen.result
    stream = agent.stream(seen.result.state, answers(world, seen.result.pending))
  }
}

/** A history without what differs between two runs of the same: their ids and times. */
export function comparable(messages: readonly Message[], runId: string): unknown {
  return JSON.parse(
    JSON.stringify(messages.map((message) => ({ ...message, createdAt: 0 }))).replaceAll(runId, 'the-run'),
  )
}
