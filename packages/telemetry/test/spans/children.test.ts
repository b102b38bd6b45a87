import { createAgent } from '@provost/agent'
import type { Agent, AgentOptions } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { collectSpans, telemetry } from '../../src/index.ts'
import { attributesOf, doneStep, look, lookStep, traced, treeOf } from '../traced.ts'

function scout(
  name = 'scout',
  more: Partial<Pick<AgentOptions, 'tools' | 'extensions'>> = {},
  steps: ScriptedStep[] = [lookStep, doneStep],
): Agent {
  return createAgent({ name, model: scriptedModel(steps, { modelId: name }), tools: [look], ...more })
}
const asTool = (agent: Agent, name: string) => agent.toTool({ name, description: `Asks ${name}.` })
const ask = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name, input: { task: 'go' } })),
})

describe('the span tree of a run whose tools are agents', () => {
  it('has each child run under the call that started it', async () => {
    const { agent, take } = traced([ask('ask_a', 'ask_b'), doneStep], {
      tools: [asTool(scout('a'), 'ask_a'), asTool(scout('b'), 'ask_b')],
    })
    const { runId } = await agent.run('go')
    const spans = take()
    expect(treeOf(spans)).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool ask_a',
      '│  └─ invoke_agent a  completed',
      '│     ├─ chat a  10 → 2 tokens · tool-calls',
      '│     ├─ execute_tool look',
      '│     └─ chat a  15 → 1 tokens · stop',
      '├─ execute_tool ask_b',
      '│  └─ invoke_agent b  completed',
      '│     ├─ chat b  10 → 2 tokens · tool-calls',
      '│     ├─ execute_tool look',
      '│     └─ chat b  15 → 1 tokens · stop',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
    expect(attributesOf(spans, 'invoke_agent a')).toMatchObject({ 'provost.run.parent_id': runId })
  })

  it('has each span once if the children have telemetry too', async () => {
    const { tracer, take } = collectSpans()
    const { agent } = traced(
      [ask('ask_a'), doneStep],
      { tools: [asTool(scout('a', { extensions: [telemetry({ tracer })] }), 'ask_a')] },
      { tracer },
    )
    await agent.run('go')
    expect(treeOf(take())).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool ask_a',
      '│  └─ invoke_agent a  completed',
      '│     ├─ chat a  10 → 2 tokens · tool-calls',
      '│     ├─ execute_tool look',
      '│     └─ chat a  15 → 1 tokens · stop',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('has the error of a failed child', async () => {
    const fails = scout('a', {}, [{ error: Object.assign(new Error('no key'), { status: 401 }) }])
    const { agent, tree } = traced([ask('ask_a'), doneStep], { tools: [asTool(fails, 'ask_a')] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool ask_a  child-failed',
      '│  └─ invoke_agent a  failed · auth',
      '│     ├─ chat a  auth',
      '│     └─ · error  source model scripted/a · type auth',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })

  it('continues after a child waited for an approval', async () => {
    const pay = tool({ name: 'pay', effect: 'write', needsApproval: true, input: z.object({}), execute: () => 'paid' })
    const payer = scout('payer', { tools: [pay] }, [{ toolCalls: [{ name: 'pay' }] }, doneStep])
    const store = memoryStore()
    const { agent, tree } = traced([ask('ask_payer'), doneStep], { tools: [asTool(payer, 'ask_payer')], store })
    const { state, pending } = await agent.run('go')
    const before = tree()
    await agent.run(state, { approvals: pending.approvals.map(({ id }) => ({ id, decision: 'approve', by: 'ann' })) })
    expect([before, tree().map((line) => line.replace(/waited_s [\d.]+/, 'waited_s S'))]).toEqual([
      [
        'invoke_agent desk  suspended',
        '├─ chat scripted-model  tool-calls',
        '├─ execute_tool ask_payer',
        '│  └─ invoke_agent payer  suspended',
        '│     ├─ chat payer  tool-calls',
        '│     ├─ · approval.requested  name pay · effect write · integrity trusted',
        '│     └─ · run.suspended  approvals 1',
        '└─ · run.suspended  approvals 1',
      ],
      [
        'invoke_agent desk  completed · linked to an earlier span',
        '├─ execute_tool ask_payer',
        '│  └─ invoke_agent payer  completed · linked to an earlier span',
        '│     ├─ · approval.resolved  name pay · decision approve · by ann · waited_s S',
        '│     ├─ execute_tool pay',
        '│     └─ chat payer  15 → 1 tokens · stop',
        '└─ chat scripted-model  15 → 1 tokens · stop',
      ],
    ])
  })

  it('has parallel children of a tool under that tool', async () => {
    const many = tool({
      name: 'many',
      composite: true,
      effect: 'none',
      input: z.object({}),
      async execute(_input, ctx) {
        const a = scout('a'),
          b = scout('b')
        const results = await Promise.all([ctx.spawn(a, 'go', { key: 'a' }), ctx.spawn(b, 'go', { key: 'b' })])
        return results.map(({ text }) => text).join()
      },
    })
    const { agent, tree } = traced([{ toolCalls: [{ name: 'many' }] }, doneStep], { tools: [many] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ execute_tool many',
      '│  ├─ invoke_agent a  completed',
      '│  │  ├─ chat a  10 → 2 tokens · tool-calls',
      '│  │  ├─ execute_tool look',
      '│  │  └─ chat a  15 → 1 tokens · stop',
      '│  └─ invoke_agent b  completed',
      '│     ├─ chat b  10 → 2 tokens · tool-calls',
      '│     ├─ execute_tool look',
      '│     └─ chat b  15 → 1 tokens · stop',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })
})
