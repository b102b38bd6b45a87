import type { RunOptions } from '@provost/agent'
import { createAgent, RunState } from '@provost/agent'
import { collect, expectSound, only, readLog } from '@provost/agent/test/run/run-check'
import type { Input } from '@provost/core'
import { defineExtension, textOf } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { PlanAndExecuteOptions } from '@provost/teams'
import { planAndExecute } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import type { ScriptedPrompt, ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const input = z.object({ n: z.number() })
const tools = [
  tool({ name: 'look', description: 'Looks at it.', input, effect: 'read', execute: ({ n }) => `saw ${n}` }),
  tool({ name: 'pay', input, needsApproval: true, execute: ({ n }) => `paid ${n}` }),
  tool({
    name: 'breaks',
    input,
    effect: 'read',
    execute: (): string => {
      throw new Error('always')
    },
  }),
]
const call = (name: string, n = 1) => ({ name, input: { n } })
const plan = (...steps: string[]): ScriptedStep => ({ text: JSON.stringify({ steps }) })

function plannerOf(
  steps: readonly ScriptedStep[],
  options: PlanAndExecuteOptions = {},
  prompts: ScriptedPrompt[] = [],
) {
  const model = scriptedModel(
    steps.map((step) => (prompt: ScriptedPrompt) => {
      prompts.push(prompt)
      return step
    }),
    { after: 'error' },
  )
  const store = memoryStore()
  return { store, agent: createAgent({ name: 'clerk', model, tools, store, orchestrator: planAndExecute(options) }) }
}

async function follow(
  steps: readonly ScriptedStep[],
  options?: PlanAndExecuteOptions,
  run: RunOptions = {},
  text: Input = 'Go.',
) {
  const prompts: ScriptedPrompt[] = []
  const { agent, store } = plannerOf(steps, options, prompts)
  const seen = await collect(agent.stream(text, run))
  expectSound(seen)
  const shown = only(seen.events, 'extension').map(({ event, data }) => ({ event, data }))
  return { ...seen, shown, prompts, store, agent }
}

/** What was said to the model and by it, the fixed sentences left out. */
function lines(messages: readonly Parameters<typeof textOf>[0][]): string[] {
  return messages.map((message) => textOf(message).split('\n')[0] ?? '').filter((line) => line !== '')
}

test('plans, does one step after the other with tools, and answers; listeners see its progress', async () => {
  const { result, shown, prompts, store } = await follow([
    plan('Look at one.', 'Look at two.'),
    { toolCalls: [call('look', 1)] },
    { text: 'One is there.' },
    { toolCalls: [call('look', 2), call('look', 3)] },
    { text: 'So are two and three.' },
    { text: 'All are there.' },
  ])
  expect(result).toMatchObject({ status: 'completed', output: 'All are there.' })
  expect(lines(result.messages)).toEqual([
    'Go.',
    '{"steps":["Look at one.","Look at two."]}',
    'Step 1 of 2: Look at one.',
    'One is there.',
    'Step 2 of 2: Look at two.',
    'So are two and three.',
    'The plan is done. Answer what was asked, from what the steps came to.',
    'All are there.',
  ])
  const one = { revision: 1, of: 2, index: 1, task: 'Look at one.' }
  const two = { revision: 1, of: 2, index: 2, task: 'Look at two.' }
  expect(shown).toEqual([
    { event: 'plan.made', data: { revision: 1, steps: ['Look at one.', 'Look at two.'] } },
    { event: 'plan.step.start', data: one },
    { event: 'plan.step.end', data: { ...one, status: 'done' } },
    { event: 'plan.step.start', data: two },
    { event: 'plan.step.end', data: { ...two, status: 'done' } },
  ])
  // The planner knows of the tools, and has none; nor has the one who sums up.
  expect(JSON.stringify(prompts[0]?.messages.at(-1))).toContain('- look: Looks at it.')
  expect(prompts.map((prompt) => prompt.tools.length)).toEqual([0, 3, 3, 3, 3, 0])
  expect(prompts[0]?.options.responseFormat?.type).toBe('json')
  const memos = (await readLog(store, result.sessionId)).filter((entry) => entry.type === 'memo')
  expect(memos.map(({ value }) => value)).toEqual([{ steps: ['Look at one.', 'Look at two.'] }])
})

test('has a planner of its own make the plans, and the agent do the work', async () => {
  const planner = scriptedModel([plan('Look.')], { modelId: 'planner' })
  const { result, events } = await follow([{ text: 'Seen.' }, { text: 'There.' }], { planner })
  expect(result.text).toBe('There.')
  expect(only(events, 'step.start').map(({ model }) => model.split('/')[1])).toEqual([
    'planner',
    'scripted-model',
    'scripted-model',
  ])
})

test('has the smart one of several models make the plans', async () => {
  const modelOf = (modelId: string, ...steps: ScriptedStep[]) => scriptedModel(steps, { modelId, after: 'error' })
  const model = {
    smart: modelOf('smart', plan('Look.')),
    balanced: modelOf('balanced', { text: 'A.' }, { text: 'B.' }),
  }
  const agent = createAgent({ name: 'clerk', model, orchestrator: planAndExecute() })
  const { result, events } = await collect(agent.stream('Go.'))
  expect(result).toMatchObject({ status: 'completed', text: 'B.' })
  expect(only(events, 'step.start').map((event) => event.model)).toEqual([
    'scripted/smart',
    'scripted/balanced',
    'scripted/balanced',
  ])
})

describe('a plan that does not hold is made anew', () => {
  const rest = [plan('Look.'), { text: 'Seen.' }, { text: 'There.' }]

  test.for<[string, readonly ScriptedStep[]]>([
    ['when the model says so', [{ text: '**REPLAN**: there is no such thing.' }]],
    ['when the last calls of a step failed', [{ toolCalls: [call('breaks')] }, { text: 'It broke.' }]],
    ['when they were denied', [{ toolCalls: [call('pay')] }, { text: 'I may not.' }]],
  ])('%s', async ([, work]) => {
    const { result, shown } = await follow([plan('One.', 'Two.'), ...work, ...rest], {}, { onApproval: () => 'deny' })
    expect(result).toMatchObject({ status: 'completed', text: 'There.' })
    expect(shown).toMatchObject([
      { data: { revision: 1, steps: ['One.', 'Two.'] } },
      { event: 'plan.step.start' },
      { data: { index: 1, of: 2, status: 'failed' } },
      { data: { revision: 2, steps: ['Look.'] } },
      { event: 'plan.step.start', data: { revision: 2, index: 1, of: 1 } },
      { data: { status: 'done' } },
    ])
  })

  test('when the human steers, which costs none of its tries', async () => {
    const { agent } = plannerOf([plan('One.', 'Two.'), { toolCalls: [call('look')] }, { text: 'Seen.' }, ...rest], {
      maxReplans: 0,
    })
    const stream = agent.stream('Go.')
    const shown: unknown[] = []
    for await (const event of stream) {
      if (event.type === 'extension') shown.push(event.data)
      if (event.type === 'tool.execute.end') stream.steer('Something else.')
    }
    expect(await stream.result).toMatchObject({ status: 'completed', text: 'There.' })
    expect(shown).toMatchObject([
      {},
      {},
      { status: 'steered' },
      { revision: 2, steps: ['Look.'] },
      { index: 1 },
      { status: 'done' },
    ])
  })

  test('maxReplans times at most; then it answers with what it has', async () => {
    const replan = { text: 'REPLAN: no.' }
    const steps = [plan('A.', 'B.'), replan, plan('C.', 'D.'), replan, { text: 'That is all I know.' }]
    const { result } = await follow(steps, { maxReplans: 1 })
    expect(result).toMatchObject({ status: 'completed', text: 'That is all I know.' })
    expect(lines(result.messages).at(-2)).toMatch(/^The plan could not be finished/)
    expect((await follow([plan('A.'), replan, { text: 'Nothing.' }], { maxReplans: 0 })).result.text).toBe('Nothing.')
  })

  test.for([-1, Number.NaN])('%d times is no limit', (maxReplans) => {
    expect(() => planAndExecute({ maxReplans })).toThrow(expect.objectContaining({ code: 'invalid-agent' }))
  })
})

describe('a planner that', () => {
  test('has nothing to plan lets the agent answer', async () => {
    expect((await follow([plan(), { text: 'Hello.' }])).result.text).toBe('Hello.')
  })

  test('writes no plan is asked again once', async () => {
    const { result } = await follow([{ text: 'Sure!' }, plan('Look.'), { text: 'Seen.' }, { text: 'There.' }])
    expect(result.text).toBe('There.')
    expect(lines(result.messages)[2]).toMatch(/^The answer does not fit: it is not JSON/)
  })

  test.for<[string, ScriptedStep]>([
    ['plans without end', plan(...Array.from({ length: 31 }, () => 'More.'))],
    ['plans a novel', plan('x'.repeat(2001))],
    ['plans nothing in a step', plan('')],
    ['gives something else', { text: '{"steps": {"__proto__": []}}' }],
  ])('%s twice fails the run', async ([, bad]) => {
    const { result } = await follow([bad, bad])
    expect(result.status === 'failed' && result.error.code).toBe('output-invalid')
  })

  test('calls tools instead of planning gets no result of them, and plans', async () => {
    const { result, events } = await follow([
      { toolCalls: [call('look')] },
      plan('Look.'),
      { text: 'Seen.' },
      { text: 'There.' },
    ])
    expect(result.text).toBe('There.')
    expect(only(events, 'tool.execute.start')).toEqual([])
  })
})

test('a plan made from untrusted words is untrusted, and so is what is said of it', async () => {
  const { agent, store } = plannerOf([
    { toolCalls: [call('look')] },
    plan('Look.'),
    { text: 'Seen.' },
    { text: 'There.' },
    plan(),
    { text: 'Yes.' },
  ])
  const first = await agent.run('Go.', { sessionId: 's' })
  const trusted = first.messages.map(({ label }) => label?.integrity)
  // The one call was refused: its result is ours.
  expect(new Set(trusted)).toEqual(new Set(['trusted']))
  const reader = createAgent({
    name: 'clerk',
    model: scriptedModel([{ toolCalls: [call('look')] }, { text: 'Read.' }]),
    tools,
    store,
  })
  await reader.run('Read it.', { sessionId: 's' })
  const { messages } = await agent.run('And now?', { sessionId: 's' })
  expect(messages.map(({ role, label }) => [role, label?.integrity])).toEqual([
    ['user', 'trusted'],
    ['assistant', 'untrusted'],
    ['user', 'untrusted'],
    ['assistant', 'untrusted'],
  ])
})

test('an approval that takes days suspends the step; resumed elsewhere, no step is done twice', async () => {
  const steps = [
    plan('Look.', 'Pay.'),
    { text: 'Seen.' },
    { toolCalls: [call('pay', 9)] },
    { text: 'Paid.' },
    { text: 'Done.' },
  ]
  const { agent } = plannerOf(steps)
  const { state, pending } = await agent.run('Go.')
  expect(pending.approvals).toMatchObject([{ toolName: 'pay', input: { n: 9 } }])
  const { agent: other } = plannerOf(steps.slice(3))
  const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve' as const }))
  const seen = await collect(other.stream(RunState.fromJSON(JSON.stringify(state), other), { approvals }))
  expect(seen.result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(only(seen.events, 'extension').map(({ data }) => data)).toMatchObject([{ index: 2, status: 'done' }])
  expect(lines(seen.result.messages).filter((line) => line.startsWith('Step'))).toHaveLength(2)
})

test.for([1, 2, 3, 4, 5])('maxSteps %d holds in every phase, and the run can be resumed', async (maxSteps) => {
  const steps = [
    plan('A.', 'B.'),
    { toolCalls: [call('look')] },
    { text: 'A done.' },
    { text: 'B done.' },
    { text: 'Done.' },
  ]
  const { result, agent } = await follow(steps, {}, { maxSteps })
  const status = maxSteps < 5 ? 'failed' : 'completed'
  expect(result.status).toBe(status)
  if (result.status !== 'failed') return
  expect(result.error.code).toBe('max-steps')
  expect(await agent.run(result.state)).toMatchObject({ status: 'completed', text: 'Done.' })
})

test.for([1, 2, 3, 4, 5])('an abort in step %d ends the run, its history well formed', async (at) => {
  const steps = [
    plan('A.', 'B.'),
    { toolCalls: [call('look')] },
    { text: 'A done.' },
    { text: 'B done.' },
    { text: 'Done.' },
  ]
  const controller = new AbortController()
  const agent = createAgent({
    name: 'clerk',
    model: scriptedModel(steps),
    tools,
    orchestrator: planAndExecute(),
    extensions: [
      defineExtension({
        name: 'impatient',
        hooks: { event: ({ type, step }) => (type === 'step.start' && step === at ? controller.abort() : undefined) },
      }),
    ],
  })
  const seen = await collect(agent.stream('Go.', { signal: controller.signal }))
  expectSound(seen)
  expect(seen.result.status).toBe('aborted')
  expect(only(seen.events, 'step.start')).toHaveLength(at)
})
