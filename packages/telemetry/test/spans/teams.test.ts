import { createAgent, handoff, RunState } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import type { FanOut } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { fanOut as fanOutOf, evaluatorOptimizer, runFanOut } from '@provost/teams'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { collectSpans, currentRun, telemetry } from '../../src/index.ts'
import type { CollectedSpan, RunInContext } from '../../src/index.ts'
import { attributesOf, doneStep, look, lookStep, traced, treeOf } from '../traced.ts'

type More = Pick<AgentOptions, 'tools' | 'extensions' | 'handoffs'>

function member(name: string, steps: readonly ScriptedStep[] = [{ text: `${name} says so` }], more: More = {}): Agent {
  return createAgent({ name, model: scriptedModel(steps, { modelId: name }), settings: { maxRetries: 0 }, ...more })
}

const calls = (...names: readonly string[]): ScriptedStep => ({ toolCalls: names.map((name) => ({ name })) })
const broken: ScriptedStep = { error: new Error('out of order') }

/** A tool with two children, the second of which fails. They run one at a time, in a known order. */
function team<T>(mergeStrategy: FanOut<T>['mergeStrategy'], maxConcurrentChildren = 1) {
  return tool({
    name: 'team',
    composite: true,
    effect: 'none',
    input: z.object({}),
    async execute(_, ctx) {
      const children = [
        { agent: member('a'), input: 'go' },
        { agent: member('b', [broken]), input: 'go' },
      ]
      const { used } = await ctx.fanOut({ children, mergeStrategy, maxConcurrentChildren })
      return used.join()
    },
  })
}

const fanOut = [
  'invoke_agent desk  completed',
  '├─ chat scripted-model  tool-calls',
  '├─ execute_tool team',
  '│  └─ invoke_workflow fan_out',
]
const both = [
  ...fanOut,
  '│     ├─ invoke_agent a  completed',
  '│     │  └─ chat a  stop',
  '│     └─ invoke_agent b  failed · unknown',
  '│        └─ chat b  unknown',
]
const last = '└─ chat scripted-model  15 → 1 tokens · stop'

/** The tree without span events, whose times differ between runs. */
function treeOfSpans(spans: readonly CollectedSpan[]): string[] {
  return treeOf(spans.map((span) => ({ ...span, events: [] })))
}

describe('the span tree of a fan-out', () => {
  it('has the children under the fan-out, and the fan-out under its call', async () => {
    const { agent, take } = traced([calls('team'), doneStep], { tools: [team('concat')] })
    await agent.run('go')
    const spans = take()
    expect(treeOfSpans(spans)).toEqual([...both, last])
    const ends = spans.find(({ name }) => name === 'invoke_workflow fan_out')?.events ?? []
    expect(ends.map(({ attributes }) => attributes)).toMatchObject([
      { 'provost.fanout.key': '0', 'provost.run.status': 'completed' },
      { 'provost.fanout.key': '1', 'provost.run.status': 'failed', 'error.type': 'unknown' },
    ])
    expect(attributesOf(spans, 'invoke_workflow')).toMatchObject({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'fan_out',
      'provost.fanout.strategy': 'concat',
      'provost.fanout.children': 2,
      'provost.fanout.used': 1,
    })
  })

  it('has the judge under the fan-out', async () => {
    const judge = member('judge', [{ text: 'a it is' }])
    const { agent, take } = traced([calls('team'), doneStep], { tools: [team({ kind: 'judge-merge', judge })] })
    await agent.run('go')
    expect(treeOfSpans(take())).toEqual([
      ...both.slice(0, -2),
      '│     ├─ invoke_agent b  failed · unknown',
      '│     │  └─ chat b  unknown',
      '│     └─ invoke_agent judge  completed',
      '│        └─ chat judge  stop',
      last,
    ])
  })

  it('is the same with a custom merge function', async () => {
    const { agent, take } = traced([calls('team'), doneStep], {
      tools: [team({ kind: 'custom', merge: (children) => children.length })],
    })
    await agent.run('go')
    expect(treeOfSpans(take())).toEqual([...both, last])
  })

  it('marks the children after the first success as aborted', async () => {
    const { agent, take } = traced([calls('team'), doneStep], { tools: [team('first-success')] })
    await agent.run('go')
    expect(treeOfSpans(take())).toEqual([...both.slice(0, -2), '│     └─ invoke_agent b  aborted', last])
  })

  it('keeps parallel calls apart, and each of two fan-outs has its own children', async () => {
    const { agent, take } = traced([{ toolCalls: [{ name: 'team' }, { name: 'team' }, lookCall] }, doneStep], {
      tools: [team('concat', 4), look],
    })
    await agent.run('go')
    const spans = take()
    const named = (name: string) => spans.filter((span) => span.name.startsWith(name))
    const parents = (name: string) => named(name).map(({ parentId }) => spans.find((span) => span.spanId === parentId))
    expect(parents('execute_tool').map((span) => span?.name)).toEqual(
      Array.from({ length: 3 }, () => 'invoke_agent desk'),
    )
    expect(parents('invoke_workflow').map((span) => span?.name)).toEqual(['execute_tool team', 'execute_tool team'])
    for (const name of ['invoke_agent a', 'invoke_agent b']) {
      expect(new Set(parents(name))).toEqual(new Set(named('invoke_workflow')))
    }
  })
})

const [lookCall = { name: 'look' }] = lookStep.toolCalls ?? []

it('the span tree of an evaluator has its attempts, judgements and verdicts under the call', async () => {
  const writer = member('writer', [{ text: 'bad' }, { text: 'good' }])
  const judge = member('judge', [
    { text: '{"accepted": false, "score": 0.2, "feedback": "try harder"}' },
    { text: '{"accepted": true, "score": 0.9, "feedback": ""}' },
  ])
  const improve = tool({
    name: 'improve',
    composite: true,
    effect: 'none',
    input: z.object({}),
    async execute(_, ctx) {
      const evaluator = { kind: 'llm-judge', judge, criteria: 'quality' } as const
      return (await evaluatorOptimizer({ generator: writer, input: 'write', evaluator, within: ctx })).output
    },
  })
  const { agent, tree } = traced([calls('improve'), doneStep], { tools: [improve] })
  await agent.run('go')
  const attempt = ['│  ├─ invoke_agent writer  completed', '│  │  └─ chat writer  stop']
  const judged = ['│  ├─ invoke_agent judge  completed', '│  │  └─ chat judge  stop']
  expect(tree()).toEqual([
    'invoke_agent desk  completed',
    '├─ chat scripted-model  tool-calls',
    '├─ execute_tool improve',
    ...attempt,
    ...judged,
    '│  ├─ · evaluator.iteration  iteration 1 · accepted false · score 0.2',
    ...attempt,
    ...judged,
    '│  └─ · evaluator.iteration  iteration 2 · accepted true · score 0.9',
    last,
  ])
})

describe('a fan-out or evaluator outside a run', () => {
  const { tracer, take } = collectSpans()
  const extensions = [telemetry({ tracer })]

  it('has a span tree for a fan-out with telemetry, without a tool call', async () => {
    const children = () => [
      { agent: member('a'), input: 'go' },
      { agent: member('b'), input: 'go' },
    ]
    await runFanOut({ children: children(), mergeStrategy: 'concat', maxConcurrentChildren: 1, extensions })
    const spans = take()
    expect(treeOfSpans(spans)).toEqual([
      'invoke_agent fan_out  completed',
      '└─ invoke_workflow fan_out',
      '   ├─ invoke_agent a  completed',
      '   │  └─ chat a  stop',
      '   └─ invoke_agent b  completed',
      '      └─ chat b  stop',
    ])
    expect(spans[0]?.attributes).toMatchObject({ 'provost.inference_calls': 0, 'provost.tool_calls': 0 })
    const { agent, take: taken } = traced()
    await fanOutOf(agent, { children: children(), mergeStrategy: 'concat', maxConcurrentChildren: 1 })
    expect(treeOfSpans(taken()).slice(0, 3)).toEqual([
      'invoke_agent desk  completed',
      '└─ invoke_workflow fan_out',
      '   ├─ invoke_agent a  completed',
    ])
  })

  it('has its output on its span, unless it is secret', async () => {
    const code = tool({
      name: 'code',
      effect: 'read',
      input: z.object({}),
      returns: { confidentiality: 'secret' },
      execute: () => '4711',
    })
    const recording = [telemetry({ tracer, recordContent: ['messages'] })]
    const output = async (members: readonly Agent[]): Promise<unknown> => {
      const children = members.map((agent) => ({ agent, input: 'go' }))
      await runFanOut({ children, mergeStrategy: 'concat', maxConcurrentChildren: 1, extensions: recording })
      return attributesOf(take(), 'invoke_agent fan_out')['gen_ai.output.messages']
    }
    const said = await output([member('a'), member('b')])
    expect(said).toContain('a says so')
    expect(said).toContain('b says so')
    const keeper = member('keeper', [calls('code'), { text: 'it is 4711' }], { tools: [code] })
    const hidden = await output([member('a'), keeper])
    expect(hidden).toContain('[secret]')
    expect(hidden).not.toContain('4711')
    const evaluator = { kind: 'free-form', evaluate: () => ({ accepted: true, feedback: '', score: 1 }) } as const
    const generator = member('writer', [{ text: 'the draft' }])
    await evaluatorOptimizer({ generator, input: 'write', evaluator, extensions: recording })
    expect(attributesOf(take(), 'invoke_agent evaluator')['gen_ai.output.messages']).toContain('the draft')
  })

  it('has a span tree for an evaluator with telemetry, with its error', async () => {
    const evaluate = (_: unknown, iteration: number) => ({
      accepted: iteration > 1,
      feedback: 'more',
      score: iteration / 2,
    })
    const evaluator = { kind: 'free-form', evaluate } as const
    const writer = member('writer', [{ text: 'bad' }, { text: 'good' }])
    await evaluatorOptimizer({ generator: writer, input: 'write', evaluator, extensions })
    const attempt = ['├─ invoke_agent writer  completed', '│  └─ chat writer  stop']
    expect(treeOf(take())).toEqual([
      'invoke_agent evaluator_optimizer  completed',
      ...attempt,
      '├─ · evaluator.iteration  iteration 1 · accepted false · score 0.5',
      ...attempt,
      '└─ · evaluator.iteration  iteration 2 · accepted true · score 1',
    ])
    const fails = evaluatorOptimizer({ generator: member('writer', [broken]), input: 'write', evaluator, extensions })
    await expect(fails).rejects.toMatchObject({ code: 'generator-failed' })
    expect(treeOf(take())).toEqual([
      'invoke_agent evaluator_optimizer  completed · $0.0000',
      '└─ invoke_agent writer  failed · unknown',
      '   ├─ chat writer  unknown',
      '   └─ · error  source model scripted/writer · type unknown',
    ])
  })
})

it('the span tree of several handoffs has the agents side by side', async () => {
  const specialist = member('specialist', [lookStep, doneStep], { tools: [look] })
  const billing = member('billing', [calls('transfer_to_specialist')], { handoffs: [specialist] })
  const { agent, tree } = traced([calls('transfer_to_billing')], { handoffs: [billing] })
  await agent.run('go')
  expect(tree()).toEqual([
    'invoke_agent desk  completed',
    '├─ chat scripted-model  tool-calls',
    '├─ execute_tool transfer_to_billing billing',
    '├─ invoke_agent billing',
    '│  ├─ chat billing  tool-calls',
    '│  └─ execute_tool transfer_to_specialist specialist',
    '└─ invoke_agent specialist',
    '   ├─ chat specialist  10 → 2 tokens · tool-calls',
    '   ├─ execute_tool look',
    '   └─ chat specialist  15 → 1 tokens · stop',
  ])
})

it('the span tree of a handoff that returns has the target under the call, with its own children', async () => {
  const grandchild = member('grandchild', [lookStep, doneStep], { tools: [look] })
  const child = member('child', [calls('ask'), doneStep], {
    tools: [grandchild.toTool({ name: 'ask', description: 'Asks.', input: z.object({}), prompt: () => 'go' })],
  })
  const { agent, tree } = traced([calls('transfer_to_child'), doneStep], {
    handoffs: [handoff(child, { mode: 'return' })],
  })
  await agent.run('go')
  expect(tree()).toEqual([
    'invoke_agent desk  completed',
    '├─ chat scripted-model  tool-calls',
    '├─ execute_tool transfer_to_child child',
    '│  └─ invoke_agent child  completed',
    '│     ├─ chat child  tool-calls',
    '│     ├─ execute_tool ask',
    '│     │  └─ invoke_agent grandchild  completed',
    '│     │     ├─ chat grandchild  10 → 2 tokens · tool-calls',
    '│     │     ├─ execute_tool look',
    '│     │     └─ chat grandchild  15 → 1 tokens · stop',
    '│     └─ chat child  15 → 1 tokens · stop',
    last,
  ])
})

it('the span tree of a returning handoff that resumes in another process names the target and its parent', async () => {
  const store = memoryStore()
  const pay = tool({ name: 'pay', effect: 'write', needsApproval: true, input: z.object({}), execute: () => 'paid' })
  const desk = (steps: readonly ScriptedStep[], childSteps: readonly ScriptedStep[]) => {
    const child = member('child', childSteps, { tools: [pay] })
    return traced(steps, { handoffs: [handoff(child, { mode: 'return' })], store })
  }
  const first = desk([calls('transfer_to_child')], [calls('pay')])
  const { state, pending, runId } = await first.agent.run('go')
  const before = first.take()
  const second = desk([doneStep], [doneStep])
  const approvals = pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann' }) as const)
  await second.agent.run(RunState.fromJSON(JSON.stringify(state), second.agent), { approvals })
  const after = second.take()
  expect(treeOf(after).map((line) => line.replace(/waited_s [\d.]+/, 'waited_s S'))).toEqual([
    'invoke_agent desk  completed · linked to an earlier span',
    '├─ execute_tool transfer_to_child child',
    '│  └─ invoke_agent child  completed · linked to an earlier span',
    '│     ├─ · approval.resolved  name pay · decision approve · by ann · waited_s S',
    '│     ├─ execute_tool pay',
    '│     └─ chat child  15 → 1 tokens · stop',
    last,
  ])
  expect(attributesOf(after, 'execute_tool transfer')).toMatchObject({
    'gen_ai.transfer.mode': 'return_to_caller',
    'gen_ai.transfer.target.name': 'child',
  })
  expect(attributesOf(after, 'invoke_agent child')).toMatchObject({ 'provost.run.parent_id': runId })
  const [linked, earlier] = [after, before].map((spans) => spans.find(({ name }) => name === 'invoke_agent child'))
  expect(linked?.links).toEqual([{ traceId: earlier?.traceId, spanId: earlier?.spanId }])
})

it('the span tree of a script has its calls under an execute_sandbox span', async () => {
  const source = `const [a, b] = await Promise.all([tools.look({ at: 'a' }), tools.look({ at: 'b' })]); return a + b`
  const { agent, take } = traced([{ toolCalls: [{ name: 'code_execute', input: { source } }] }, doneStep], {
    tools: [look],
    extensions: [codeMode()],
  })
  await agent.run('go')
  const spans = take()
  expect(treeOf(spans)).toEqual([
    'invoke_agent desk  completed',
    '├─ chat scripted-model  tool-calls',
    '├─ execute_sandbox code_execute',
    '│  ├─ execute_tool look',
    '│  └─ execute_tool look',
    last,
  ])
  expect(attributesOf(spans, 'execute_sandbox')).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'code_execute',
    'provost.operation.name': 'execute_sandbox',
  })
})

describe('if the first agent has no telemetry', () => {
  const { tracer, take } = collectSpans()
  const extensions = [telemetry({ tracer })]

  it('the target of a handoff has its own trace, and its log lines belong to it', async () => {
    const seen: (RunInContext | undefined)[] = []
    const note = tool({ name: 'note', input: z.object({}), execute: () => void seen.push(currentRun()) })
    const billing = member('billing', [calls('note'), doneStep], { tools: [note], extensions })
    const desk = member('desk', [lookStep, calls('transfer_to_billing')], { tools: [look], handoffs: [billing] })
    const { runId, sessionId } = await desk.run('go')
    const spans = take()
    expect(treeOf(spans)).toEqual([
      'invoke_agent billing  completed',
      '├─ chat billing  tool-calls',
      '├─ execute_tool note',
      '└─ chat billing  15 → 1 tokens · stop',
    ])
    expect(spans[0]?.attributes).toMatchObject({ 'provost.run.id': runId, 'session.id': sessionId })
    expect(seen).toMatchObject([{ runId, agent: 'billing', span: { spanId: spans[0]?.spanId } }])
  })

  it('its children have their own traces', async () => {
    const child = member('child', [lookStep, doneStep], { tools: [look], extensions })
    const desk = member('desk', [calls('ask'), doneStep], {
      tools: [child.toTool({ name: 'ask', description: 'Asks.', input: z.object({}), prompt: () => 'go' })],
    })
    const { runId } = await desk.run('go')
    const spans = take()
    expect(treeOf(spans)).toEqual([
      'invoke_agent child  completed',
      '├─ chat child  10 → 2 tokens · tool-calls',
      '├─ execute_tool look',
      '└─ chat child  15 → 1 tokens · stop',
    ])
    expect(attributesOf(spans, 'invoke_agent')).toMatchObject({ 'provost.run.parent_id': runId })
  })
})
