import { createAgent, handoff, RunState } from '@provost/agent'
import type { Entry, FanOut, Json, Label, Message, RunResult, SessionStore } from '@provost/core'
import { defineExtension, joinLabels, labelOf } from '@provost/core'
import { exportSession, importSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { full } from '../fixture/full.ts'

// Paths: steps, parallel calls, approvals, remote results, agents as tools, fan-outs of every kind, results that are read
// page by page, views that replace history by unlabelled text, messages of memory behind it, handoffs of both kinds,
// resume in another process, and export to another store.

const label = fc.record({
  integrity: fc.constantFrom('trusted' as const, 'untrusted' as const),
  confidentiality: fc.constantFrom('public' as const, 'internal' as const, 'secret' as const),
  sources: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 2 }).map((names) => names.toSorted()),
})
const merges = ['concat', 'first-success', 'judge-merge', 'custom'] as const
const read = fc.record({
  label,
  how: fc.constantFrom('run', 'ask', 'remote', 'fail', 'spill', 'child', 'fan' as const),
  /** Of a fan-out: how its children are merged, and what the second of them reads. */
  merge: fc.constantFrom(...merges),
  other: label,
})
const flow = fc.record({
  steps: fc.array(fc.array(read, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
  resumes: fc.boolean(),
  hands: fc.constantFrom('no', 'transfer', 'return' as const),
  ofB: label,
  cuts: fc.boolean(),
  recalls: fc.option(label, { nil: undefined }),
  moves: fc.constantFrom('no', 'signed', 'unsigned' as const),
})

let [pages, children, cutOff] = [0, 0, 0]
const merged = new Set<string>()
const privateStore = () => ({ ...memoryStore(), private: true as const })

test('no path loses a label: later messages carry the join of all labels read before', async () => {
  await fc.assert(
    fc.asyncProperty(flow, async ({ steps, resumes, moves, hands, ofB, cuts, recalls }) => {
      const store = privateStore()
      const labels = new Map<string, Label>()
      const readTool = (name: string, { how, label: own, merge, other }: Read) => {
        labels.set(name, how === 'fail' ? { ...own, integrity: 'untrusted' } : own)
        if (how === 'child') return lookerAt(`child of ${name}`, own).toTool({ name, description: 'Reads.' })
        if (how === 'fan') {
          // first-success takes the first child; all other strategies take both.
          if (merge !== 'first-success') labels.set(name, joinLabels(own, other))
          return fanTool(name, merge, [lookerAt('one', own), lookerAt('two', other)])
        }
        return tool({
          name,
          effect: 'read',
          input: z.object({}),
          returns: own,
          needsApproval: how === 'ask',
          ...(how === 'spill' && { truncation: 'spill', maxResultTokens: 40 }),
          ...(how !== 'remote' && {
            execute: () =>
              how === 'fail' ? Promise.reject(new Error('no')) : how === 'spill' ? 'long data '.repeat(200) : 'data',
          }),
        })
      }
      if (hands === 'return') labels.set('transfer_to_b', ofB)
      const tools = steps.flatMap((step, n) => step.map((one, m) => readTool(`read_${n}_${m}`, one)))
      const calls = [
        ...steps.map((step, n) => step.map((_, m) => ({ name: `read_${n}_${m}`, input: { task: 'read' } }))),
        ...(hands === 'no' ? [] : [[{ name: 'transfer_to_b', input: { message: 'go on' } }]]),
      ]
      // A process that resumes gets the remaining results, whatever part of the history it has.
      let asked = 0
      const model = () =>
        scriptedModel([() => (asked < calls.length ? { toolCalls: calls[asked++] ?? [] } : { text: 'said' })], {
          after: 'repeat-last',
        })
      let cut = false
      const reminders = defineExtension({
        name: 'reminders',
        scope: 'tree',
        hooks: {
          context(view) {
            const [, from] = view.messages
            const to = view.messages.at(-1)
            if (!cuts || cut || !from || !to || to.role !== 'tool') return undefined
            cut = true
            return { from: from.id, to: to.id, with: [{ role: 'user', content: 'Much was read.' }] }
          },
          'model.request': () =>
            recalls && { tail: [{ role: 'user', content: 'It is remembered that…', label: recalls }] },
        },
      })
      const team = (asking = model(), where: SessionStore = store) => {
        const common = { model: asking, tools, store: where, extensions: [reminders] }
        // An agent that responds and hands back has read something itself.
        const b = hands === 'return' ? lookerAt('b', ofB) : createAgent({ name: 'b', ...common })
        const mode = hands === 'return' ? 'return' : 'transfer'
        return createAgent({ name: 'a', handoffs: [handoff(b, { mode })], ...common })
      }
      const agent = () => team()
      let result: RunResult = await agent().run('go')
      for (let turns = 0; result.status === 'suspended' && turns < 20; turns++) {
        const { approvals, remoteCalls } = result.pending
        const owner = agent()
        const written: Json = JSON.parse(JSON.stringify(result.state))
        const state = resumes ? RunState.fromJSON(written, owner) : result.state
        result = await owner.run(state, {
          approvals: approvals.map(({ id }) => ({ id, decision: 'approve' })),
          toolResults: remoteCalls.map(({ callId }) => ({ callId, output: 'data' })),
        })
      }
      expect(result.status).toBe('completed')
      cutOff += Number(cut)
      const history = result.messages
      const results = history.flatMap(({ content }) =>
        content.filter((part) => part.type === 'tool-result' && labels.has(part.toolName)),
      )
      expect(results).toHaveLength(labels.size)
      const said = history.filter(({ role }) => role === 'assistant')
      expect(said.at(-1)?.agent).toBe(hands === 'transfer' ? 'b' : 'a')
      expect(recalls && said.some((message) => !covers(labelOf(message), recalls))).not.toBe(true)
      let soFar = joinLabels()
      for (const message of history) {
        const own = labelOf(message)
        expect(message.role !== 'assistant' || covers(own, soFar)).toBe(true)
        for (const part of message.content.filter(({ type }) => type === 'tool-result')) {
          const given = 'toolName' in part ? labels.get(part.toolName) : undefined
          expect(given === undefined || (part.label && covers(part.label, given))).toBe(true)
        }
        soFar = joinLabels(soFar, own)
      }
      for (const given of labels.values()) expect(covers(soFar, given)).toBe(true)

      // The request and the response of a child carry all labels that its parent read before.
      const log = await entriesOf(store, result.sessionId)
      for (const entry of log) {
        if (entry.type !== 'child' || entry.op !== 'spawned') continue
        const { parentCallId = entry.callId } = entry
        const before = joinLabels(...history.filter(({ id }) => !isAfter(history, id, parentCallId)).map(labelOf))
        const inner = (await entriesOf(store, entry.log)).flatMap((one) =>
          one.type === 'message' && one.via === 'model' && one.message.content.length > 0 ? [one.message] : [],
        )
        for (const message of inner) expect(covers(labelOf(message), before)).toBe(true)
        // A late child is ended before it responds.
        const joined = log.find((one) => one.type === 'child' && one.op === 'joined' && one.callId === entry.callId)
        const aborted = joined?.type === 'child' && joined.op === 'joined' && joined.status === 'aborted'
        expect(aborted || inner.length > 0).toBe(true)
        children++
      }

      // A page of a long result carries the label of the whole, also in a later run.
      for (const part of history.flatMap(({ content }) => content)) {
        const [handle] = part.type === 'tool-result' ? (/res_[\w-]{22}/.exec(JSON.stringify(part.output)) ?? []) : []
        if (hands === 'transfer' || handle === undefined || part.type !== 'tool-result') continue
        const asking = scriptedModel([{ toolCalls: [{ name: 'read_result', input: { handle } }] }, { text: 'read' }])
        const reader = team(asking)
        const { messages } = await reader.run('go on reading', { sessionId: result.sessionId })
        const page = messages.find(({ role }) => role === 'tool')
        const given = labels.get(part.toolName)
        expect(JSON.stringify(page?.content)).toContain('long data')
        expect(page && given && covers(labelOf(page), given)).toBe(true)
        pages++
        break
      }

      if (moves === 'no') return
      // In another store, later messages carry the labels read in the first one.
      const there = privateStore()
      const key = 'a key of sixteen bytes or more'
      const lines = exportSession(store, result.sessionId, moves === 'signed' ? { key } : {})
      const { sessionId } = await importSession(there, lines, moves === 'signed' ? { key } : {})
      const after = scriptedModel([{ text: 'after' }])
      const { messages } = await team(after, there).run('and now?', { sessionId })
      const answer = messages.at(-1)
      expect(answer && covers(labelOf(answer), soFar)).toBe(true)
    }),
    // A few random runs do not cover every path: these do.
    full ? { numRuns: 100 } : { numRuns: 8, seed: 11 },
  )
  expect(Math.min(pages, children, cutOff)).toBeGreaterThan(0)
  expect([...merged].toSorted()).toEqual(merges.toSorted())
})

type Read = typeof read extends fc.Arbitrary<infer T> ? T : never

/** Returns an agent that calls one tool and responds. */
function lookerAt(name: string, returns: Label) {
  const look = tool({ name: 'look', effect: 'read', input: z.object({}), returns, execute: () => 'data' })
  const model = scriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'data' }])
  return createAgent({ name, model, tools: [look] })
}

/** Returns a tool that declares its results trusted and public, and runs agents in parallel. */
function fanTool(name: string, kind: (typeof merges)[number], agents: readonly ReturnType<typeof lookerAt>[]) {
  const strategies: Record<typeof kind, FanOut<unknown>['mergeStrategy']> = {
    concat: 'concat',
    'first-success': 'first-success',
    'judge-merge': { kind: 'judge-merge', judge: scriptedModel([{ text: 'data' }]) },
    custom: { kind: 'custom', merge: (all) => all.map(({ text }) => text).join(' ') },
  }
  return tool({
    name,
    effect: 'read',
    input: z.object({}),
    returns: { integrity: 'trusted', confidentiality: 'public', sources: [] },
    composite: true,
    async execute(_, ctx) {
      const { output } = await ctx.fanOut({
        children: agents.map((agent) => ({ agent, input: 'look', key: agent.name })),
        mergeStrategy: strategies[kind],
        maxConcurrentChildren: 1,
      })
      merged.add(kind)
      return output
    },
  })
}

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

/** Returns whether a message follows the one that makes a call. */
function isAfter(history: readonly Message[], id: string, callId: string): boolean {
  const at = (found: (message: Message) => boolean) => history.findIndex(found)
  const calling = at(({ content }) => content.some((part) => part.type === 'tool-call' && part.callId === callId))
  return at((message) => message.id === id) > calling
}

function covers(a: Label, b: Label): boolean {
  return JSON.stringify(joinLabels(a, b)) === JSON.stringify(joinLabels(a))
}
