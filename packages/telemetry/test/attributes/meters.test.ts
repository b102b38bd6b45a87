import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { defineExtension } from '@provost/core'
import { compaction } from '@provost/memory'
import { modelFallback } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { doneStep, lookStep, traced } from '../traced.ts'

interface Point {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly value: unknown
}

/** A meter of the SDK whose reader collects on request. */
function measured(temporality = AggregationTemporality.CUMULATIVE) {
  const exporter = new InMemoryMetricExporter(temporality)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  /** The current points of each metric. */
  async function collect(): Promise<Record<string, readonly Point[]>> {
    exporter.reset()
    await provider.forceFlush()
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    return Object.fromEntries(
      metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => ({ attributes, value })),
      ]),
    )
  }
  return { meter: provider.getMeter('test'), collect }
}

const pay = tool({
  name: 'pay',
  effect: 'write',
  needsApproval: true,
  input: z.object({}),
  execute: () => 'paid',
})
const payStep = { toolCalls: [{ name: 'pay' }] }

describe('the meters record', () => {
  it('how long approvals waited, by decision', async () => {
    const { meter, collect } = measured()
    const { agent } = traced([payStep, payStep, doneStep], { tools: [pay] }, { meter })
    const first = await agent.run('go')
    const [one] = first.pending.approvals
    const second = await agent.run(first.state, { approvals: [{ id: one?.id ?? '', decision: 'deny', by: 'ann' }] })
    const [two] = second.pending.approvals
    await agent.run(second.state, { approvals: [{ id: two?.id ?? '', decision: 'approve', by: 'ann' }] })
    const waits = (await collect())['provost.approval.duration']
    expect(waits).toMatchObject([
      { attributes: { 'provost.decision': 'deny' }, value: { count: 1, sum: expect.any(Number) } },
      { attributes: { 'provost.decision': 'approve' }, value: { count: 1, sum: expect.any(Number) } },
    ])
  })

  it('follow-ups and the turns that they start', async () => {
    const { meter, collect } = measured()
    const { agent } = traced([lookStep, doneStep, doneStep], {}, { meter })
    const stream = agent.stream('go')
    for await (const { type } of stream) if (type === 'tool.execute.start') stream.followUp('and then?')
    const metrics = await collect()
    expect(metrics['provost.queue.followups']).toEqual([{ attributes: {}, value: 1 }])
    expect(metrics['provost.turns']).toEqual([
      { attributes: { 'provost.turn.trigger': 'input' }, value: 1 },
      { attributes: { 'provost.turn.trigger': 'queue' }, value: 1 },
    ])
  })

  it('the duration of compaction and the tokens it removes', async () => {
    const { meter, collect } = measured()
    const model = scriptedModel(
      [({ messages: [first] }) => ({ text: first?.role === 'system' ? 'They counted days.' : 'Noted.' })],
      { after: 'repeat-last' },
    )
    const extensions = [compaction({ window: 1200, keepRecent: 300 })]
    const { agent } = traced([], { model, extensions }, { meter })
    for (let day = 1; day <= 7; day++) {
      await agent.run(`Day ${day}: ${'a walk in the forest, '.repeat(25)}`, { sessionId: 's' })
    }
    const metrics = await collect()
    const attributes = { 'provost.compaction.source': 'step' }
    expect(metrics['provost.compaction.duration']).toMatchObject([{ attributes, value: { count: 1 } }])
    expect(metrics['provost.compaction.tokens_removed']).toEqual([{ attributes, value: expect.any(Number) }])
    expect(metrics['provost.compaction.tokens_removed']?.[0]?.value).toBeGreaterThan(300)
  })

  it('retries, fallbacks and policy decisions', async () => {
    const { meter, collect } = measured()
    const busy = Object.assign(new Error('slow down'), { status: 429, responseHeaders: { 'retry-after': '0' } })
    const policy = defineExtension({
      name: 'policy',
      hooks: {
        'model.error': ({ attempt }) => (attempt === 1 ? { retryAfterMs: 0 } : undefined),
        'tool.call': (call, ctx) =>
          ctx.audit('flagged', { rule: 'watch', callId: call.callId, sources: [], evidence: null }),
      },
    })
    const other = scriptedModel([lookStep, doneStep], { modelId: 'other' })
    const { agent } = traced(
      [{ error: busy }, { error: busy }, doneStep],
      { extensions: [policy, modelFallback([other], { on: ['rate-limit'] })] },
      { meter },
    )
    await agent.run('go')
    const metrics = await collect()
    expect(metrics['provost.model.retries']).toMatchObject([{ attributes: { 'error.type': 'rate-limit' }, value: 1 }])
    expect(metrics['provost.model.fallbacks']).toMatchObject([
      { attributes: { 'provost.model.to': 'scripted/other', 'error.type': 'rate-limit' }, value: 1 },
    ])
    expect(metrics['provost.governance.decisions']).toEqual([
      { attributes: { 'provost.decision': 'flagged', 'provost.rule': 'watch' }, value: 1 },
    ])
    expect(metrics['gen_ai.client.inference.duration']).toMatchObject([
      { attributes: { 'gen_ai.request.model': 'scripted-model', 'error.type': 'rate-limit' }, value: { count: 2 } },
      { attributes: { 'gen_ai.request.model': 'other' }, value: { count: 1 } },
      { attributes: { 'gen_ai.request.model': 'scripted-model' }, value: { count: 1 } },
    ])
  })

  it('the time between chunks, without the time to the first chunk', async () => {
    const { meter, collect } = measured()
    const { agent } = traced([{ text: ['one ', 'two ', 'three'] }], {}, { meter })
    await agent.run('go')
    const metrics = await collect()
    expect(metrics['gen_ai.client.inference.time_to_first_chunk']).toMatchObject([{ value: { count: 1 } }])
    expect(metrics['gen_ai.client.inference.time_per_output_chunk']).toMatchObject([{ value: { count: 2 } }])
  })

  it.each([
    ['sums', AggregationTemporality.CUMULATIVE, [25, 50]],
    ['differences', AggregationTemporality.DELTA, [25, 25]],
  ] as const)('tokens and cost as %s over all runs of the meter', async (_, temporality, expected) => {
    const { meter, collect } = measured(temporality)
    const prices = { 'scripted/scripted-model': { input: 1, output: 1 } }
    for (const tokens of expected) {
      await traced([lookStep, doneStep], { prices }, { meter }).agent.run('go')
      const metrics = await collect()
      expect(metrics['gen_ai.client.inference.usage.input_tokens']).toMatchObject([{ value: tokens }])
      expect(metrics['provost.cost']?.[0]?.value).toBeCloseTo((tokens / 25) * 0.000028, 9)
    }
  })
})

describe('the classic names', () => {
  const points = async (metricNames: 'classic' | 'both' | 'current') => {
    const { meter, collect } = measured()
    const { agent } = traced([lookStep, doneStep], {}, { meter, metricNames })
    await agent.run('go')
    return collect()
  }

  it('replace those of tokens and durations, and tell apart by attributes', async () => {
    const found = await points('classic')
    expect(Object.keys(found)).not.toContain('gen_ai.client.inference.duration')
    expect(Object.keys(found)).not.toContain('gen_ai.client.inference.usage.input_tokens')
    expect(found['gen_ai.client.token.usage']).toMatchObject([
      { attributes: { 'gen_ai.token.type': 'input' }, value: { sum: 25, count: 2 } },
      { attributes: { 'gen_ai.token.type': 'output' }, value: { sum: 3, count: 2 } },
    ])
    const operations = found['gen_ai.client.operation.duration']?.map(({ attributes }) => attributes)
    expect(new Set(operations?.map((one) => one['gen_ai.operation.name']))).toEqual(
      new Set(['chat', 'execute_tool', 'invoke_agent']),
    )
  })

  it('stand beside the current ones on request, and are absent by default', async () => {
    const [both, current] = [await points('both'), await points('current')]
    expect(Object.keys(both)).toEqual(
      expect.arrayContaining(['gen_ai.client.token.usage', 'gen_ai.client.inference.duration']),
    )
    expect(Object.keys(current)).not.toContain('gen_ai.client.token.usage')
  })

  it('have to be one of the three', () => {
    // @ts-expect-error -- no such names
    expect(() => traced([], {}, { metricNames: 'old' })).toThrow('metricNames')
  })
})
