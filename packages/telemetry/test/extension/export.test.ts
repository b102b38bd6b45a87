import { OpenTelemetry } from '@ai-sdk/otel'
import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { createAgent } from '@provost/agent'
import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'
import { tool } from '@provost/tools'
import { generateText, registerTelemetry } from 'ai'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'

import { currentRun, telemetry, traceHeaders, traceMeta, withTrace } from '../../src/index.ts'
import { namesOf, otlpReceiver } from '../otlp-receiver.ts'
import type { OtlpReceiver } from '../otlp-receiver.ts'
import { doneStep, look, lookStep } from '../traced.ts'

// The setup of an application: an SDK registered for the process, with batches and a collector.

let receiver: OtlpReceiver
let tracers: TracerProvider
let meters: MeterProvider
beforeAll(async () => {
  receiver = await otlpReceiver()
  tracers = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` }) })],
  })
  const exporter = new OTLPMetricExporter({ url: `${receiver.url}/v1/metrics` })
  meters = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(tracers)
  metrics.setGlobalMeterProvider(meters)
})
afterAll(async () => {
  await Promise.all([tracers.shutdown(), meters.shutdown()])
  context.disable()
  trace.disable()
  metrics.disable()
  await receiver.close()
})
beforeEach(async () => {
  await tracers.forceFlush()
  receiver.spans.splice(0)
})

const scout = createAgent({
  name: 'scout',
  model: scriptedModel([doneStep], { after: 'repeat-last' }),
  extensions: [telemetry()],
})
const ask = tool({
  name: 'ask_scout',
  effect: 'read',
  input: z.object({}),
  execute: async () => (await scout.run('look around')).text,
})

function desk(
  steps: readonly ScriptedStep[] = [{ toolCalls: [{ name: 'ask_scout' }] }, lookStep, doneStep],
  tools = [ask, look],
) {
  return createAgent({ name: 'desk', model: scriptedModel(steps), tools, extensions: [telemetry()] })
}

describe('a collector receives', () => {
  it('an agent and the agent it runs in one trace, under the span of the caller', async () => {
    await trace.getTracer('app').startActiveSpan('GET /orders', async (span) => {
      await desk().run('go')
      span.end()
    })
    await tracers.forceFlush()
    expect(namesOf(receiver.spans.toReversed())).toEqual([
      'GET /orders',
      '  invoke_agent desk',
      '    chat scripted-model',
      '    execute_tool look',
      '    chat scripted-model',
      '    execute_tool ask_scout',
      '      invoke_agent scout',
      '        chat scripted-model',
      '    chat scripted-model',
    ])
    expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(receiver.spans.filter(({ kind }) => kind === 3).map(({ name }) => name)).toEqual(
      Array.from({ length: 4 }, () => 'chat scripted-model'),
    )
    expect(receiver.spans.filter(({ nanos }) => nanos < 0n)).toEqual([])
  })

  it('the metrics of the semantic conventions and those of Provost', async () => {
    await desk([{ toolCalls: [{ name: 'ask_scout' }] }, lookStep, { ...doneStep, text: ['do', 'ne'] }]).run('go')
    await meters.forceFlush()
    expect([...receiver.metrics.keys()].toSorted()).toEqual([
      'gen_ai.client.inference.duration',
      'gen_ai.client.inference.operation.input_tokens',
      'gen_ai.client.inference.operation.output_tokens',
      'gen_ai.client.inference.time_per_output_chunk',
      'gen_ai.client.inference.time_to_first_chunk',
      'gen_ai.client.inference.usage.input_tokens',
      'gen_ai.client.inference.usage.output_tokens',
      'gen_ai.execute_tool.duration',
      'gen_ai.invoke_agent.duration',
      'gen_ai.invoke_agent.inference_calls',
      'gen_ai.invoke_agent.tool_calls',
      'provost.turns',
    ])
    expect(receiver.metrics.get('gen_ai.client.inference.usage.input_tokens')).toMatchObject({
      sum: {
        dataPoints: [
          {
            attributes: expect.arrayContaining([
              { key: 'gen_ai.request.model', value: { stringValue: 'scripted-model' } },
            ]),
          },
        ],
      },
    })
  })
})

it.each([
  { given: 'per call', telemetry: { integrations: [new OpenTelemetry()] } },
  { given: 'for the process', registered: new OpenTelemetry() },
])('spans of the AI SDK, enabled $given, are children of Provost spans and repeat none of them', async (how) => {
  if (how.registered) registerTelemetry(how.registered)
  onTestFinished(() => void (globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined))
  const inner = scriptedModel([{ text: 'inner', usage: { inputTokens: 3, outputTokens: 1 } }])
  const draft = tool({
    name: 'draft',
    effect: 'read',
    input: z.object({}),
    execute: async () =>
      (await generateText({ model: inner, prompt: 'Draft it.', ...(how.telemetry && { telemetry: how.telemetry }) }))
        .text,
  })
  await desk([{ toolCalls: [{ name: 'draft' }] }, doneStep], [draft]).run('go')
  await tracers.forceFlush()
  const ours = receiver.spans.filter(({ scope }) => scope === '@provost/telemetry')
  expect(ours.map(({ name }) => name).toSorted()).toEqual([
    'chat scripted-model',
    'chat scripted-model',
    'execute_tool draft',
    'invoke_agent desk',
  ])
  const theirs = receiver.spans.filter(({ scope }) => scope !== '@provost/telemetry')
  const known = new Map(receiver.spans.map((span) => [span.spanId, span]))
  const above = (id: string | undefined): string[] => {
    const span = id === undefined ? undefined : known.get(id)
    return span ? [span.name, ...above(span.parentId)] : []
  }
  expect(theirs.length).toBeGreaterThan(0)
  for (const { parentId } of theirs) expect(above(parentId)).toContain('execute_tool draft')
  expect(receiver.spans.filter(({ name }) => name.startsWith('chat'))).toHaveLength(3)
})

describe('the trace context', () => {
  it('propagates from the request to the run, and from a tool to the services it calls', async () => {
    const incoming = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' }
    const seen: unknown[] = []
    const call = tool({
      name: 'call',
      effect: 'read',
      input: z.object({}),
      execute() {
        seen.push(traceHeaders(), traceMeta({ method: 'tools/call' }), currentRun())
        return 'ok'
      },
    })
    const { runId, sessionId } = await withTrace(incoming, () =>
      desk([{ toolCalls: [{ name: 'call' }] }, doneStep], [call]).run('go'),
    )
    await tracers.forceFlush()
    const [root, inside] = ['invoke_agent desk', 'execute_tool call'].map((name) =>
      receiver.spans.find((span) => span.name === name),
    )
    expect(root).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', parentId: 'b7ad6b7169203331' })
    const headers = { traceparent: `00-${root?.traceId}-${inside?.spanId}-01`, tracestate: 'a=1' }
    expect(seen).toMatchObject([headers, headers, { runId, sessionId, agent: 'desk' }])
    expect(inside?.attributes.get('mcp.method.name')).toBe('tools/call')
  })

  it.each([
    {},
    { traceparent: 'nonsense' },
    { traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01' },
    { traceparent: 'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    { traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01${'-x'.repeat(1_000)}` },
  ])('is not read from %j', (carrier) => {
    expect(withTrace(carrier, () => traceHeaders())).toEqual({})
  })
})
