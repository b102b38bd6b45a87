import type { Agent } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { AgentEvent, Entry } from '@provost/core'
import {
  caseFromLog,
  compareEvaluations,
  differencesOf,
  evaluate,
  evaluationMatchers,
  judged,
  trajectoryOf,
} from '@provost/replay'
import type { EvalCase, Expectations } from '@provost/replay'
import { memoryStore } from '@provost/sessions'
import { recordedSteps, scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const order = z.object({ orderId: z.string(), euros: z.number() })
const refund = tool({
  name: 'refund',
  effect: 'write',
  input: order,
  needsApproval: ({ euros }) => euros > 50,
  execute: ({ euros }) => {
    if (euros < 0) throw new Error('a refund is positive')
    return `refunded ${euros}`
  },
})
const find = tool({ name: 'find', effect: 'read', input: z.object({}), execute: () => 'found' })
const usage = { inputTokens: 10, outputTokens: 5 }

const call = (name: string, input: object = {}): ScriptedStep => ({ toolCalls: [{ name, input }], usage })
const refundOf = (euros: number): ScriptedStep => call('refund', { orderId: '17', euros })
const answer = (text: string): ScriptedStep => ({ text, usage })

function deskOf(...steps: readonly ScriptedStep[]): Agent {
  return createAgent({ name: 'desk', model: scriptedModel(steps), tools: [refund, find] })
}

async function found(expected: Expectations, ...steps: readonly ScriptedStep[]): Promise<readonly string[]> {
  return differencesOf(await trajectoryOf(deskOf(...steps).stream('Refund order 17.')), expected)
}

describe('a trajectory', () => {
  test('has the calls with their outcomes, the steps, the tokens and the answer', async () => {
    const desk = deskOf(call('find'), refundOf(-1), refundOf(80), refundOf(40), answer('Done.'))
    const trajectory = await trajectoryOf(desk.stream('Refund order 17.', { onApproval: () => 'deny' }))
    expect(trajectory.calls.map(({ toolName, outcome }) => [toolName, outcome])).toEqual([
      ['find', 'ok'],
      ['refund', 'failed'],
      ['refund', 'refused'],
      ['refund', 'ok'],
    ])
    expect(trajectory).toMatchObject({
      status: 'completed',
      answer: 'Done.',
      steps: 5,
      inputTokens: 50,
      outputTokens: 25,
    })
  })

  test('of a run that waits has its open call', async () => {
    const { status, calls } = await trajectoryOf(deskOf(refundOf(80)).stream('Refund order 17.'))
    expect(status).toBe('suspended')
    expect(calls).toMatchObject([{ toolName: 'refund', outcome: 'waits' }])
  })
})

describe('expectations', () => {
  const steps = [call('find'), refundOf(40), answer('Order 17: 40 euros.')]

  test.for<[string, Expectations]>([
    ['calls in their order, with others between them', { calls: ['refund'] }],
    ['a part of an input', { calls: ['find', { tool: 'refund', input: { euros: 40 } }] }],
    ['a function of an input', { calls: [{ tool: 'refund', input: (input) => order.parse(input).euros < 50 }] }],
    ['calls that do not run', { never: ['send', { tool: 'refund', input: { euros: 80 } }] }],
    ['a text and a pattern of the answer', { answer: ['40 euros', /order \d+/gi] }],
    ['a check of the answer', { answer: (text) => (text.endsWith('.') ? undefined : 'It has no end.') }],
    ['limits', { limits: { steps: 3, toolCalls: 2, tokens: 45 } }],
  ])('pass: %s', async ([, expected]) => {
    expect(await found(expected, ...steps)).toEqual([])
    // A pattern with the flag g does not remember where it matched.
    expect(await found(expected, ...steps)).toEqual([])
  })

  test.for<[string, Expectations, RegExp]>([
    ['a call that is missing', { calls: ['send'] }, /^send did not succeed\. The calls: find \{\} ok, refund/],
    ['another order', { calls: ['refund', 'find'] }, /^find did not succeed after the expected calls before it/],
    ['another input', { calls: [{ tool: 'refund', input: { euros: 41 } }] }, /^refund \{"euros":41\} did not succeed/],
    ['a call that must not run', { never: ['refund'] }, /^refund \{.*\} ran, and must not\.$/],
    ['an answer without a text', { answer: '41 euros' }, /^The answer has no “41 euros”: Order 17/],
    ['an answer that a check rejects', { answer: () => 'Too short.' }, /^Too short\.$/],
    [
      'a check that throws',
      {
        answer: () => {
          throw new Error('broken')
        },
      },
      /^A check of the answer failed: broken$/,
    ],
    ['too many steps', { limits: { steps: 2 } }, /^steps is 3, over 2\.$/],
    ['a price that is unknown', { limits: { cost: 1 } }, /^cost is unknown, over 1\.$/],
    ['another end', { status: 'suspended' }, /^The run is completed, not suspended$/],
  ])('fail: %s', async ([, expected, difference]) => {
    expect(await found(expected, ...steps)).toEqual([expect.stringMatching(difference)])
  })

  test('a refused call has not run, and has not succeeded', async () => {
    const denied = [refundOf(80), answer('No.')]
    const run = await trajectoryOf(deskOf(...denied).stream('Go.', { onApproval: () => 'deny' }))
    expect(await differencesOf(run, { never: ['refund'] })).toEqual([])
    expect(await differencesOf(run, { calls: ['refund'] })).toHaveLength(1)
  })
})

describe('evaluate', () => {
  test('runs each case as often as asked, and counts those that pass', async () => {
    let runs = 0
    // Every second run forgets the refund.
    const model = scriptedModel(
      [({ messages }) => (messages.length > 1 || runs++ % 2 === 1 ? answer('Done.') : refundOf(40))],
      { after: 'repeat-last' },
    )
    const desk = createAgent({ name: 'desk', model, tools: [refund] })
    const seen: string[] = []
    const evaluation = await evaluate(desk, [{ name: 'a refund', input: 'Refund order 17.', calls: ['refund'] }], {
      runs: 4,
      concurrency: 1,
      onRun: (name, { passed }) => void seen.push(`${name} ${passed}`),
    })
    expect(evaluation).toMatchObject({ agent: 'desk', passed: false, cases: [{ name: 'a refund', passes: 2 }] })
    expect(seen).toHaveLength(4)
    expect(JSON.parse(JSON.stringify(evaluation))).toEqual(evaluation)
  })

  test('denies approvals unless the case answers them', async () => {
    const desk = deskOf(refundOf(80), answer('No.'), refundOf(80), answer('Yes.'))
    const { cases } = await evaluate(
      desk,
      [
        { name: 'alone', input: 'Go.', never: ['refund'] },
        { name: 'with a human', input: 'Go.', calls: ['refund'], approvals: 'approve' },
      ],
      { concurrency: 1 },
    )
    expect(cases.map(({ passes }) => passes)).toEqual([1, 1])
  })

  test('scores runs by functions and by a judge, which reads the trajectory', async () => {
    const read: string[] = []
    const judge = createAgent({
      name: 'judge',
      model: scriptedModel([
        ({ messages }) => (read.push(JSON.stringify(messages)), { text: '{"score":0.4,"reason":"curt"}' }),
      ]),
      output: z.object({ score: z.number(), reason: z.string() }),
    })
    const { cases } = await evaluate(deskOf(answer('Done.')), [
      {
        name: 'tone',
        input: 'Thanks.',
        scores: {
          polite: { score: judged(judge), atLeast: 0.7 },
          short: { score: ({ answer: text }) => (text.length < 20 ? 1 : 0) },
          broken: { score: () => 2 },
        },
      },
    ])
    expect(cases[0]?.runs[0]?.scores).toEqual({ polite: { score: 0.4, reason: 'curt' }, short: { score: 1 } })
    expect(cases[0]?.runs[0]?.differences).toEqual([
      'The score polite is 0.4, below 0.7.',
      'The score broken failed: 2 is not from 0 to 1',
    ])
    expect(read[0]).toContain('Done.')
  })

  test.for([
    ['no case', [], 'invalid-case'],
    [
      'two cases of one name',
      [
        { name: 'a', input: 'x' },
        { name: 'a', input: 'y' },
      ],
      'invalid-case',
    ],
    ['a case without an input', [{ name: 'a' }], 'invalid-case'],
    ['a misspelt expectation', [{ name: 'a', input: 'x', nevr: ['refund'] }], 'unknown-option'],
    ['a misspelt limit', [{ name: 'a', input: 'x', limits: { step: 1 } }], 'unknown-option'],
  ] as const)('rejects %s', async ([, cases, code]) => {
    // As untyped code passes them.
    const given: EvalCase[] = JSON.parse(JSON.stringify(cases))
    await expect(evaluate(deskOf(), given)).rejects.toMatchObject({ code })
  })

  test('an abort ends it', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(evaluate(deskOf(), [{ name: 'a', input: 'x' }], { signal })).rejects.toThrow('enough')
  })
})

describe('from a log', () => {
  async function recorded(): Promise<readonly Entry[]> {
    const store = memoryStore()
    const desk = createAgent({
      name: 'desk',
      model: scriptedModel([call('find'), refundOf(80), refundOf(40), answer('Done.'), answer('Bye.')]),
      tools: [refund, find],
      store,
    })
    await desk.run('Refund order 17.', { sessionId: 'ann', onApproval: () => 'deny' })
    await desk.run('Thanks.', { sessionId: 'ann' })
    const entries: Entry[] = []
    for await (const entry of store.read('ann')) entries.push(entry)
    return entries
  }

  test('a case has the input of the first run, and the calls that succeeded', async () => {
    const entries = await recorded()
    const made = caseFromLog(entries, { name: 'ann' })
    expect(made).toMatchObject({
      name: 'ann',
      calls: [
        { tool: 'find', input: {} },
        { tool: 'refund', input: { orderId: '17', euros: 40 } },
      ],
    })
    expect(caseFromLog(entries, { match: 'names' }).calls).toEqual(['find', 'refund'])
    expect(() => caseFromLog([])).toThrow('The log has no run.')
  })

  test('today’s agent gets the answers of that day, and runs its tools', async () => {
    const entries = await recorded()
    const model = scriptedModel(recordedSteps(entries))
    const { passed, cases } = await evaluate(deskOf(), [caseFromLog(entries)], { model })
    expect(cases[0]?.runs[0]?.differences).toEqual([])
    expect(passed).toBe(true)
    expect(recordedSteps(entries, 'nobody')).toEqual([])
  })
})

test('two evaluations are compared: what regressed first, with mean scores, tokens and cost', async () => {
  const cases = [
    { name: 'kept', input: 'a' },
    { name: 'lost', input: 'b', answer: 'yes', scores: { tone: { score: () => 0.5 } } },
  ]
  const before = await evaluate(deskOf(answer('yes'), answer('yes')), cases, { concurrency: 1 })
  const now = await evaluate(
    deskOf(answer('yes'), answer('no'), answer('x')),
    [...cases, { name: 'new', input: 'c' }],
    {
      concurrency: 1,
    },
  )
  const change = compareEvaluations(before, now)
  expect(change.ok).toBe(false)
  expect(change.cases).toEqual([
    {
      name: 'lost',
      change: 'regressed',
      before: 1,
      now: 0,
      differences: ['The answer has no “yes”: no'],
      scores: { tone: { before: 0.5, now: 0.5 } },
    },
    { name: 'new', change: 'added', now: 1, differences: [], scores: {} },
    { name: 'kept', change: 'same', before: 1, now: 1, differences: [], scores: {} },
  ])
  expect(change.tokens).toEqual({ before: 30, now: 45 })
  expect(compareEvaluations(now, before).ok).toBe(true)
})

test('a matcher tells how a stream, its events or its trajectory differs', async () => {
  const events: AgentEvent[] = []
  for await (const event of deskOf(call('find'), answer('Done.')).stream('Go.')) events.push(event)
  const passed = await evaluationMatchers.toFollow(events, { calls: ['find'] })
  expect(passed.pass).toBe(true)
  const failed = await evaluationMatchers.toFollow(await trajectoryOf(events), { calls: ['refund'] })
  expect(failed.pass).toBe(false)
  expect(failed.message()).toContain('refund did not succeed')
  expect((await evaluationMatchers.toFollow(deskOf(answer('Done.')).stream('Go.'), {})).pass).toBe(true)
})
