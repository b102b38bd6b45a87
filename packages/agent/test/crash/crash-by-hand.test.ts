import { advance, createAgent, foldLog, nextAction, pendingWork, resumeLoop, runLoop, startLoop } from '@provost/agent'
import type { LoopDriver } from '@provost/agent'
import type { Entry, Message, Part, RunStatus, ToolCall, ToolResult } from '@provost/core'
import { trustedLabel } from '@provost/core'
import { assertWellFormed } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { comparable } from './crash-world.ts'

const input = z.object({ n: z.number() })
const notCalled = () => 'not called here'

function agentWith(payment: object, settings: object = {}) {
  return createAgent({
    name: 'by-hand',
    model: 'test/absent',
    tools: [
      tool({ name: 'look', input, effect: 'read', execute: notCalled }),
      tool({ name: 'pay', input, execute: notCalled, ...payment }),
      tool({ name: 'courier', input }),
    ],
    ...settings,
  })
}
const agent = agentWith({})

/** What the model says, by what was said before. */
const script: readonly (readonly (readonly [name: string, n: number])[])[] = [
  [
    ['look', 1],
    ['pay', 2],
    ['look', 3],
  ],
  [
    ['courier', 4],
    ['pay', 5],
    ['pay', 6],
  ],
  [],
]

class Died extends Error {}

interface Hand {
  readonly log: Entry[]
  /** How often each paying call was made. */
  readonly paid: Map<string, number>
}

/** A driver with a log of its own that dies at an append: before or after it is written. */
function driver({ log, paid }: Hand, lives: number, when: 'before' | 'after'): LoopDriver {
  let appends = 0
  return {
    callModel({ request }) {
      const step = request.messages.filter(({ role }) => role === 'assistant').length
      const runId = log[0]?.runId ?? ''
      const said = (script[step] ?? []).map(([toolName, n], index): Part => {
        const callId = `${runId}/${step + 1}/call/${index}`
        return { type: 'tool-call', callId, toolCallId: `call_${index}`, toolName, input: { n } }
      })
      const message: Message = {
        id: `${runId}/${step + 1}/message/1`,
        role: 'assistant',
        content: [{ type: 'text', text: `Step ${step}.` }, ...said],
        label: trustedLabel,
        createdAt: 0,
      }
      return { message, usage: { inputTokens: 1 }, finishReason: said.length > 0 ? 'tool-calls' : 'stop' }
    },
    authorize: (calls) =>
      calls.map((call) =>
        // A human is asked once; judged again after the answer, it may go.
        isSix(call) && !log.some((entry) => entry.type === 'resolved')
          ? { ask: { reason: 'six?' } }
          : { proceed: call.input },
      ),
    execute: (calls) =>
      calls.map((call): ToolResult => {
        const { delivery } = call
        if (!delivery && call.tool.name === 'pay') paid.set(call.callId, (paid.get(call.callId) ?? 0) + 1)
        const value = delivery?.fate === 'done' ? delivery.output : `did ${call.tool.name}`
        return { ...call, outcome: 'ok', via: 'executed', output: { type: 'json', value }, label: trustedLabel }
      }),
    awaitDecisions: (pending) => ({
      approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve' })),
      toolResults: pending.remoteCalls.map(({ callId }) => ({ callId, output: 'did courier' })),
      uncertain: pending.uncertain.map(({ callId }) =>
        paid.has(callId) ? { callId, decision: 'done', output: 'did pay' } : { callId, decision: 'retry' },
      ),
    }),
    append(entries) {
      if (when === 'before' && appends === lives) throw new Died()
      log.push(...entries)
      if (++appends > lives) throw new Died()
    },
  }
}

function isSix({ input: args }: ToolCall): boolean {
  return JSON.stringify(args) === '{"n":6}'
}

async function begin(by = agent): Promise<Hand> {
  const hand: Hand = { log: [], paid: new Map() }
  await startLoop(by, driver(hand, Infinity, 'after'), 'Go.')
  return hand
}

function resume(hand: Hand, by = driver(hand, Infinity, 'after'), of = agent): Promise<RunStatus> {
  return runLoop(resumeLoop(of, by, hand.log))
}

test.for([
  ['calls side by side', agent],
  ['calls one after the other', agentWith({ executionMode: 'sequential' })],
  ['one call at a time', agentWith({}, { maxParallelTools: 1 })],
  ['calls with an effect key', agentWith({ effectKey: ({ n }: { n: number }) => `${n}` })],
] as const)(
  'a loop driven by hand continues from wherever its log ends: same history, no effect twice: %s',
  async ([, by]) => {
    const whole = await begin(by)
    expect(await resume(whole, undefined, by)).toBe('completed')
    const { messages } = foldLog(whole.log)
    assertWellFormed(messages)
    const expected = comparable(messages, whole.log[0]?.runId ?? '')
    expect([...whole.paid.values()]).toEqual([1, 1, 1])

    for (const when of ['before', 'after'] as const) {
      let deaths = 0
      for (let lives = 0; ; lives++) {
        const hand = await begin(by)
        const first = await resume(hand, driver(hand, lives, when), by).catch((thrown: unknown) => thrown)
        if (first === 'completed') break
        expect(first).toBeInstanceOf(Died)
        deaths++
        expect(await resume(hand, undefined, by)).toBe('completed')
        const state = foldLog(hand.log)
        expect(comparable(state.messages, hand.log[0]?.runId ?? '')).toEqual(expected)
        expect([...hand.paid.values()]).toEqual([1, 1, 1])
        expect(nextAction(state)).toBe('finish')
        expect(pendingWork(state)).toEqual({ approvals: [], remoteCalls: [], uncertain: [], inputs: [] })
        expect(new Set(hand.log.map(({ id }) => id)).size).toBe(hand.log.length)
      }
      // More than one append for each step, or there was nothing to die in.
      expect(deaths).toBeGreaterThan(6)
    }
  },
)

test('a suspended run that is driven by hand can be resumed, and a completed one does nothing', async () => {
  const hand = await begin()
  const holding: LoopDriver = { ...driver(hand, Infinity, 'after'), awaitDecisions: () => 'suspend' }
  expect(await resume(hand, holding)).toBe('suspended')
  expect(nextAction(foldLog(hand.log))).toBe('wait')
  expect(pendingWork(foldLog(hand.log))).toMatchObject({
    approvals: [{ toolName: 'pay', input: { n: 6 }, reason: 'six?' }],
    remoteCalls: [{ toolName: 'courier', input: { n: 4 } }],
  })
  expect(await resume(hand)).toBe('completed')
  const { length } = hand.log
  expect(await resume(hand)).toBe('completed')
  expect(hand.log).toHaveLength(length)
})

test('each advance takes one action, and the log states the next one', async () => {
  const hand = await begin()
  const loop = resumeLoop(agent, driver(hand, Infinity, 'after'), hand.log)
  const actions: string[] = []
  let status: RunStatus | undefined
  while (status === undefined) {
    actions.push(nextAction(loop.state))
    status = await advance(loop)
    expect(nextAction(loop.state)).toBe(nextAction(foldLog(hand.log)))
  }
  expect(status).toBe('completed')
  expect(actions).toEqual([
    'start-step',
    'run-tools',
    'start-step',
    'run-tools',
    'wait',
    'run-tools',
    'start-step',
    'finish',
  ])
})
