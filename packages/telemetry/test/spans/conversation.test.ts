import { createAgent, handoff } from '@provost/agent'
import { defineExtension } from '@provost/core'
import { compaction, createMemory, sqliteMemory } from '@provost/memory'
import { scriptedModel } from '@provost/testing'
import { describe, expect, it } from 'vitest'

import { collectSpans, telemetry } from '../../src/index.ts'
import { attributesOf, doneStep, look, lookStep, traced, treeOf } from '../traced.ts'

const transferStep = { toolCalls: [{ name: 'transfer_to_billing', input: { message: 'invoice 7' } }] }
const handedOver = [
  'invoke_agent desk  completed',
  '├─ chat scripted-model  tool-calls',
  '├─ execute_tool transfer_to_billing billing',
  '└─ invoke_agent billing',
  '   ├─ chat billing-model  10 → 2 tokens · tool-calls',
  '   ├─ execute_tool look',
  '   └─ chat billing-model  15 → 1 tokens · stop',
]

function billing(extensions: Parameters<typeof createAgent>[0]['extensions'] = []) {
  const model = scriptedModel([lookStep, doneStep], { modelId: 'billing-model' })
  return createAgent({ name: 'billing', model, tools: [look], extensions })
}

describe('the span tree of a run with a handoff', () => {
  it('has the transfer call, and a span of the new agent with its steps', async () => {
    const { agent, take } = traced([transferStep], { handoffs: [billing()] })
    await agent.run('go')
    const spans = take()
    expect(treeOf(spans)).toEqual(handedOver)
    expect(attributesOf(spans, 'execute_tool')).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'transfer_to_billing',
      'gen_ai.transfer.mode': 'pass_control',
      'gen_ai.transfer.target.name': 'billing',
    })
  })

  it('has each span once if the target has telemetry too', async () => {
    const { tracer, take } = collectSpans()
    const front = createAgent({
      name: 'desk',
      model: scriptedModel([transferStep]),
      handoffs: [billing([telemetry({ tracer })])],
      extensions: [telemetry({ tracer })],
    })
    await front.run('go')
    expect(treeOf(take())).toEqual(handedOver)
  })

  it('has the policy that denied the handoff', async () => {
    const policy = defineExtension({ name: 'policy', hooks: { handoff: () => ({ deny: 'not now' }) } })
    const { agent, tree } = traced([transferStep, doneStep], { handoffs: [handoff(billing())], extensions: [policy] })
    await agent.run('go')
    expect(tree()).toEqual([
      'invoke_agent desk  completed',
      '├─ chat scripted-model  tool-calls',
      '├─ · tool.refused  name transfer_to_billing · type tool-denied',
      '├─ execute_tool transfer_to_billing billing  handoff-denied',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
  })
})

describe('the span tree of a conversation', () => {
  it('has the compaction, and marks the calls that received the compacted context', async () => {
    const model = scriptedModel(
      [({ messages: [first] }) => ({ text: first?.role === 'system' ? 'They counted days.' : 'Noted.' })],
      { after: 'repeat-last' },
    )
    const { agent, take } = traced([], { model, extensions: [compaction({ window: 1200, keepRecent: 300 })] })
    const trees: string[][] = []
    for (let day = 1; day <= 8; day++) {
      await agent.run(`Day ${day}: ${'a walk in the forest, '.repeat(25)}`, { sessionId: 's' })
      trees.push(treeOf(take()).map((line) => line.replaceAll(/(_tokens|tokens_\w+|duration_s) [\d.]+/g, '$1 N')))
    }
    const quiet = ['invoke_agent desk  completed', '└─ chat scripted-model  stop']
    expect(trees.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => quiet))
    expect(trees.slice(6)).toEqual([
      [
        'invoke_agent desk  completed',
        '├─ chat scripted-model  stop · generated',
        '├─ chat scripted-model  stop · generated',
        '├─ chat scripted-model  stop · generated',
        '├─ · context.compacted  tokens_before N · tokens_after N · source step · duration_s N',
        '└─ chat scripted-model  stop · compacted',
      ],
      ['invoke_agent desk  completed', '└─ chat scripted-model  stop · compacted'],
    ])
  })

  it('has a retrieval span, whose content is recorded only with recordContent', async () => {
    const memory = createMemory({ store: sqliteMemory(':memory:') })
    await memory.remember('Ann prefers French.', { source: 'crm', principal: { id: 'ann' } })
    const steps = [{ toolCalls: [{ name: 'memory_recall', input: { query: 'French' } }] }, doneStep]
    const silent = traced(steps, { extensions: [memory] })
    await silent.agent.run('Which language does Ann prefer, French?', { principal: { id: 'ann' } })
    const spans = silent.take()
    expect(treeOf(spans)).toEqual([
      'invoke_agent desk  completed',
      '├─ retrieval memory',
      '├─ chat scripted-model  tool-calls',
      '├─ retrieval memory_recall',
      '└─ chat scripted-model  15 → 1 tokens · stop',
    ])
    expect(attributesOf(spans, 'retrieval')).toMatchObject({
      'gen_ai.operation.name': 'retrieval',
      'provost.retrieval.count': 1,
    })
    expect(JSON.stringify(spans)).not.toContain('French')
    const telling = traced([doneStep], { extensions: [memory] }, { recordContent: ['messages'] })
    await telling.agent.run('Which language does Ann prefer, French?', { principal: { id: 'ann' } })
    expect(attributesOf(telling.take(), 'retrieval')).toMatchObject({
      'provost.retrieval.query': 'Which language does Ann prefer, French?',
      'provost.retrieval.found': expect.stringContaining('Ann prefers French.'),
    })
    await memory.close()
  })
})
