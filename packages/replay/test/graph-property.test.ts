import { createAgent, foldLog, handoff, RunState } from '@provost/agent'
import type { Agent, AgentStream, Handoff } from '@provost/agent'
import { mortal } from '@provost/agent/test/crash/crash-world'
import { readLog } from '@provost/agent/test/run/run-check'
import { textOf } from '@provost/core'
import type {
  AgentEvent,
  Decisions,
  Entry,
  FilterDescriptor,
  HandoffMode,
  PendingWork,
  SessionStore,
  Tool,
} from '@provost/core'
import { replayHandoffs, replayInputs, replaySession } from '@provost/replay'
import { filters, memoryStore } from '@provost/sessions'
import { assertWellFormed, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** What an agent of a random graph does. */
type Node =
  | { readonly does: 'say' }
  | { readonly does: 'fail' }
  | { readonly does: 'pay' }
  | { readonly does: 'work' }
  | { readonly does: 'remote' }
  | { readonly does: 'call'; readonly children: readonly Node[]; readonly filter: FilterDescriptor | undefined }
  | { readonly does: 'fan'; readonly children: readonly Node[]; readonly how: 'concat' | 'first-success' }
  /** Hands over to all of them in one step, and may work in it as well. */
  | { readonly does: 'hand'; readonly targets: readonly Target[]; readonly works: boolean }
  /** Two agents that hand over to each other for ever. */
  | { readonly does: 'loop'; readonly mode: HandoffMode }

interface Target {
  readonly to: Node
  readonly mode: HandoffMode
  readonly filter: FilterDescriptor
}

const mode = fc.constantFrom<HandoffMode>('transfer', 'return')
const filter = fc.constantFrom<FilterDescriptor>(
  filters.full(),
  filters.lastN(2),
  filters.lastUser(),
  filters.stripToolCalls(),
  filters.summary(),
  filters.compose(filters.stripReasoning(), filters.bySensitivity({ keep: 'internal' })),
)

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<Node>({ does: 'say' }, { does: 'fail' }, { does: 'pay' }, { does: 'work' }, { does: 'remote' }),
    fc.record({
      does: fc.constant('call'),
      children: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
      filter: fc.option(filter, { nil: undefined }),
    }),
    fc.record({
      does: fc.constant('fan'),
      children: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
      how: fc.constantFrom('concat', 'first-success'),
    }),
    fc.record({
      does: fc.constant('hand'),
      targets: fc.array(fc.record({ to: tie('node'), mode, filter }), { minLength: 1, maxLength: 3 }),
      works: fc.boolean(),
    }),
    fc.record({ does: fc.constant('loop'), mode }),
  ),
}))

/** Keys that effects took place with. */
type Effects = Map<string, number>

/** What agents share: their store, what they did to the outside, and who they are by their names. */
interface Shared {
  readonly store: SessionStore
  readonly effects: Effects
  readonly agents: Map<string, Agent>
}

const usage = { inputTokens: 10, outputTokens: 5 }
const empty = z.object({})

function build(of: Node, name: string, shared: Shared): Agent {
  const agent = make(of, name, shared)
  shared.agents.set(name, agent)
  return agent
}

function make(of: Node, name: string, shared: Shared): Agent {
  const { store, effects } = shared
  const base = { name, store, settings: { maxRetries: 0 } }
  if (of.does === 'say') return createAgent({ ...base, model: model({ text: name, usage }) })
  if (of.does === 'fail') return createAgent({ ...base, model: model({ error: new Error('broken') }) })
  const tools: Tool[] = []
  const handoffs: Handoff[] = []
  if (of.does === 'loop') {
    const pong = `${name}_pong`
    const back: Agent = createAgent({
      ...base,
      name: pong,
      handoffs: () => [handoff(front, { mode: of.mode })],
      model: model({ toolCalls: [{ name: `transfer_to_${name}`, input: {} }], usage }, { text: `${pong} done`, usage }),
    })
    const front: Agent = createAgent({
      ...base,
      handoffs: () => [handoff(back, { mode: of.mode })],
      model: model({ toolCalls: [{ name: `transfer_to_${pong}`, input: {} }], usage }, { text: `${name} done`, usage }),
    })
    shared.agents.set(pong, back)
    return front
  }
  if (of.does === 'pay' || of.does === 'work' || (of.does === 'hand' && of.works)) {
    tools.push(
      tool({
        name: of.does === 'pay' ? 'pay' : 'work',
        input: empty,
        idempotent: true,
        needsApproval: of.does === 'pay',
        execute: (_, ctx) => {
          effects.set(ctx.idempotencyKey, (effects.get(ctx.idempotencyKey) ?? 0) + 1)
          return 'ok'
        },
      }),
    )
  }
  if (of.does === 'remote') tools.push(tool({ name: 'remote', input: empty }))
  else if (of.does === 'hand') {
    for (const [index, { to, ...crossing }] of of.targets.entries()) {
      handoffs.push(handoff(build(to, `${name}_${index}`, shared), crossing))
    }
  } else if (of.does === 'call') {
    for (const [index, child] of of.children.entries()) {
      const agent = build(child, `${name}_${index}`, shared)
      const inputFilter = of.filter && { inputFilter: of.filter }
      const shape = { input: empty, prompt: () => 'Go.' }
      tools.push(agent.toTool({ name: `child_${index}`, description: 'A child.', ...inputFilter, ...shape }))
    }
  } else if (of.does === 'fan') {
    const children = of.children.map((child, index) => ({
      agent: build(child, `${name}_${index}`, shared),
      input: 'Go.',
    }))
    tools.push(
      tool({
        name: 'fan',
        input: empty,
        composite: true,
        execute: async (_, ctx) =>
          (await ctx.fanOut({ children, mergeStrategy: of.how, maxConcurrentChildren: 2 })).output,
      }),
    )
  }
  const names = [...handoffs.map(({ to }) => `transfer_to_${to}`), ...tools.map((one) => one.name)]
  const toolCalls = names.map((called) => ({ name: called, input: {} }))
  return createAgent({
    ...base,
    tools,
    handoffs,
    model: model({ reasoning: `${name} thinks`, toolCalls, usage }, { text: `${name} done`, usage }),
  })
}

/** Goes by what it is sent, so that it goes on in any process. */
function model(first: ScriptedStep, then: ScriptedStep = first): ReturnType<typeof scriptedModel> {
  return scriptedModel([({ messages }) => (JSON.stringify(messages.at(-1)).includes('"role":"tool"') ? then : first)], {
    after: 'repeat-last',
  })
}

function answers(pending: PendingWork, approve: boolean): Decisions {
  return {
    approvals: pending.approvals.map(({ id }) => ({ id, decision: approve ? 'approve' : 'deny' })),
    toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: 'delivered' })),
    uncertain: pending.uncertain.map(({ callId }) => ({ callId, decision: 'retry' })),
  }
}

function isWaiting({ approvals, remoteCalls, uncertain }: PendingWork): boolean {
  return approvals.length + remoteCalls.length + uncertain.length > 0
}

async function logsOf(store: SessionStore, log: string): Promise<ReadonlyMap<string, readonly Entry[]>> {
  const logs = new Map<string, readonly Entry[]>()
  const open = [log]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (logs.has(name)) continue
    const entries = await readLog(store, name)
    logs.set(name, entries)
    for (const entry of entries) if (entry.type === 'child') open.push(entry.log)
  }
  return logs
}

function expectLineage(events: readonly AgentEvent[], root: string): void {
  const parentsOf = new Map(events.map(({ runId, parents }) => [runId, parents]))
  for (const { runId, parents, seq } of events) {
    expect(parents).toEqual(parentsOf.get(runId))
    const chain = [runId, ...parents]
    expect(chain.at(-1)).toBe(root)
    for (const [index, id] of chain.entries()) expect(parentsOf.get(id)).toEqual(chain.slice(index + 1))
    expect(events[seq - 1]?.seq).toBe(seq)
  }
}

/** What is done to a run from outside, at which of its events. */
interface Meddling {
  /** 0: it is not aborted. */
  readonly abortAt: number
  /** The run of that event is told something. */
  readonly sayAt: readonly number[]
}

async function follow(
  stream: AgentStream,
  store: SessionStore,
  { abortAt, sayAt }: Meddling,
): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) {
    events.push(event)
    if (events.length === abortAt) void stream.abort()
    if (!sayAt.includes(events.length)) continue
    const { id, runId: to } = event
    const said = { to, mode: events.length % 2 === 0 ? 'steer' : 'queue', input: `to ${to}: ${id}` }
    await store.deliver('graph', `send/${id}`, said, 'sender')
  }
  return events
}

/** What was said to a run stands in its log and in no other, once. */
function expectLetters(logs: Iterable<readonly Entry[]>): void {
  const seen = new Set<string>()
  for (const entry of [...logs].flat()) {
    if (entry.type !== 'message' || (entry.via !== 'steer' && entry.via !== 'queue')) continue
    const text = textOf(entry.message)
    expect(text.startsWith(`to ${entry.runId}: `)).toBe(true)
    expect(seen.size).toBeLessThan(seen.add(text).size)
  }
}

/**
 * Each log replays: the loop comes to it again, and the same bytes cross each of its handoffs.
 *
 * @param cut from 0 to 1: it replays up to there as well.
 */
async function expectReplays(
  logs: ReadonlyMap<string, readonly Entry[]>,
  { agents }: Shared,
  cut: number,
): Promise<void> {
  for (const entries of logs.values()) {
    for (const { entry, intact } of [...replayHandoffs(entries), ...replayInputs(entries)])
      expect([entry.id, intact]).toEqual([entry.id, true])
    const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
    const agent = started && agents.get(started.agent)
    if (!agent) continue
    expect(await replaySession(agent, entries)).toBeUndefined()
    expect(await replaySession(agent, entries.slice(0, Math.floor(cut * entries.length)))).toBeUndefined()
  }
}

/** Crashes after which the winner of a race is known and one of the others was not entered again. */
const leftWaiting: [Node, Meddling & { approve: boolean; lives: number; cut: number }][] = [16, 18].map((lives) => [
  { does: 'fan', how: 'first-success', children: [{ does: 'pay' }, { does: 'say' }, { does: 'remote' }] },
  { approve: false, abortAt: 0, sayAt: [], lives, cut: 0.5 },
])

const full = process.env['PROVOST_TEST_FULL'] === '1'
const seed = process.env['PROVOST_TEST_SEED'] === undefined ? undefined : Number(process.env['PROVOST_TEST_SEED'])

/** Builds the agents of a graph. */
function world(graph: Node, store: SessionStore, effects: Effects): Shared & { readonly agent: Agent } {
  const shared: Shared = { store, effects, agents: new Map() }
  return { ...shared, agent: build(graph, 'root', shared) }
}

test('runs end, usage adds up, events lead to the root, histories are well formed and logs replay, whatever agents, approvers and processes do', async () => {
  await fc.assert(
    fc.asyncProperty(
      node,
      fc.record({
        approve: fc.boolean(),
        abortAt: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 60 })),
        sayAt: fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 3 }),
        lives: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 40 })),
        cut: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      async (graph, { approve, abortAt, sayAt, lives, cut }) => {
        // Other processes can deliver to a store that outlives this one.
        const { ephemeral: _, ...store } = memoryStore()
        const effects: Effects = new Map()
        const sessionId = 'graph'
        const crash = lives < Number.POSITIVE_INFINITY
        if (crash) {
          const first = mortal({ store, stored: [] }, lives, 'unwritten')
          const dying = world(graph, first.store, effects).agent.stream('Go.', { sessionId })
          await Promise.race([follow(dying, store, { abortAt: 0, sayAt }), first.died])
        }
        const shared = world(graph, store, effects)
        const { agent } = shared
        const entries = await readLog(store, sessionId)
        const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
        let stream: AgentStream
        if (started?.type === 'run' && started.op === 'started') {
          const { manifest, runId } = started
          const json = { v: 1, manifest, agent: agent.name, cursor: { sessionId, runId, offset: entries.length } }
          stream = agent.stream(RunState.fromJSON(JSON.stringify(json), agent))
        } else stream = agent.stream('Go.', { sessionId })
        for (let round = 0; ; round++) {
          expect(round).toBeLessThan(60)
          const events = await follow(stream, store, {
            abortAt: crash ? 0 : abortAt,
            sayAt: round < 3 ? sayAt : [],
          })
          const result = await stream.result
          expectLineage(events, stream.runId)
          const logs = await logsOf(store, sessionId)
          const all = [...logs.values()].flat()
          expectLetters(logs.values())
          if (result.status === 'suspended') {
            if (!isWaiting(result.pending)) throw new Error('suspended without a pending wait')
            stream = agent.stream(result.state, answers(result.pending, approve))
            continue
          }
          const paid = all.reduce(
            (sum, entry) => sum + (entry.type === 'attempt' ? (entry.usage.inputTokens ?? 0) : 0),
            0,
          )
          expect(result.usage.inputTokens ?? 0).toBe(paid)
          for (const own of logs.values()) {
            if (own.length === 0) continue
            const { run, messages } = foldLog(own)
            expect(['completed', 'failed', 'aborted']).toContain(run?.status)
            assertWellFormed(messages)
          }
          await expectReplays(logs, shared, cut)
          // Only a process that died may have an effect that is tried again, under the same key.
          expect(crash || [...effects.values()].every((times) => times === 1)).toBe(true)
          return
        }
      },
    ),
    {
      numRuns: full ? 120 : 4,
      ...(seed !== undefined && { seed }),
      // A run that hangs is told with its graph, and a machine that is slow tries less.
      timeout: 60_000,
      interruptAfterTimeLimit: full ? 120_000 : 50_000,
      markInterruptAsFailure: false,
      examples: leftWaiting,
    },
  )
})

test('a crash at any moment repeats no child that has ended', async () => {
  const graph: Node = {
    does: 'fan',
    how: 'concat',
    children: [
      { does: 'work' },
      { does: 'call', children: [{ does: 'work' }, { does: 'pay' }], filter: undefined },
      { does: 'say' },
    ],
  }
  const store = memoryStore()
  let appends = 0
  const counting: SessionStore = {
    ...store,
    append: (log, entries, at) => (appends++, store.append(log, entries, at)),
  }
  const calm = world(graph, counting, new Map()).agent
  const before = await calm.run('Go.', { sessionId: 'calm' })
  const undisturbed = await calm.run(before.state, answers(before.pending, true))
  expect(undisturbed.status).toBe('completed')
  for (let lives = 1; lives < appends; lives += full ? 1 : 9) {
    const shared = memoryStore()
    const effects: Effects = new Map()
    const first = mortal({ store: shared, stored: [] }, lives, 'unwritten')
    const dying = world(graph, first.store, effects).agent
    const run = async (): Promise<unknown> => {
      const paused = await dying.run('Go.', { sessionId: 's' })
      return dying.run(paused.state, answers(paused.pending, true))
    }
    await Promise.race([run(), first.died])
    const joined = async (): Promise<readonly string[]> =>
      [...(await logsOf(shared, 's')).values()]
        .flat()
        .flatMap((entry) =>
          entry.type === 'child' && entry.op === 'joined' && entry.status === 'completed' ? [entry.log] : [],
        )
    const ended = await joined()
    const lengths = new Map<string, number>()
    for (const log of ended) lengths.set(log, (await readLog(shared, log)).length)
    const agent = world(graph, shared, effects).agent
    const entries = await readLog(shared, 's')
    const started = entries.find((entry) => entry.type === 'run' && entry.op === 'started')
    if (started?.type !== 'run' || started.op !== 'started') continue
    const json = {
      v: 1,
      manifest: started.manifest,
      agent: agent.name,
      cursor: { sessionId: 's', runId: started.runId, offset: entries.length },
    }
    let result = await agent.run(RunState.fromJSON(JSON.stringify(json), agent))
    for (let round = 0; result.status === 'suspended' && round < 5; round++) {
      result = await agent.run(result.state, answers(result.pending, true))
    }
    expect([lives, result.status, result.text]).toEqual([lives, 'completed', undisturbed.text])
    for (const [log, length] of lengths) expect((await readLog(shared, log)).length).toBe(length)
  }
})
