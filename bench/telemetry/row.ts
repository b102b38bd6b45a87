import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { collectSpans, telemetry } from '@provost/telemetry'
import { registerTelemetry } from 'ai'
import type { Telemetry } from 'ai'
import { memoryStore } from 'provost'
import type { Extension } from 'provost'

import { keepCompiledCode } from '../kept-code.ts'
import { toolLoopAgent } from '../loop/ai.ts'
import { provostIn } from '../loop/provost.ts'
import { check } from '../loop/script.ts'

/** The first is what the others are compared with. */
export const rowNames = [
  'provost',
  'no SDK',
  'SDK, no telemetry',
  'spans, not sent',
  'spans',
  'spans and metrics',
  'spans, metrics, content',
  'the SDK alone',
] as const
/** The same script in the AI SDK, with its own telemetry: for them `bench/peers` has to be installed. */
export const aiRowNames = ['AI SDK', 'AI SDK, spans'] as const
export type RowName = (typeof rowNames | typeof aiRowNames)[number]

/** Runs as often as the parent says, and tells what it cost. */
async function answer(name: string, steps: number, port: string): Promise<void> {
  const { run, settle } = await rowOf(name, steps, (path) => `http://127.0.0.1:${port}/v1/${path}`)
  process.on('message', (runs) => void measure(Number(runs)))
  process.once('disconnect', () => process.exit())

  async function measure(runs: number): Promise<void> {
    const before = process.cpuUsage()
    for (let n = 0; n < runs; n++) await run()
    // The spans of a sample are sent on its account; metrics are sums, sent once a minute.
    await settle()
    const { user, system } = process.cpuUsage(before)
    process.send?.((user + system) / 1_000 / runs)
  }
}

interface Running {
  run(): Promise<void>
  settle(): Promise<void>
}

async function rowOf(name: string, steps: number, url: (path: string) => string): Promise<Running> {
  if (name === 'provost') return loop(steps, [])
  if (name === 'no SDK') return loop(steps, [telemetry()])
  if (name === 'AI SDK') return aiLoop(steps)
  const dropped: SpanExporter = { export: (_, done) => done({ code: 0 }), shutdown: () => Promise.resolve() }
  const exporter = name === 'spans, not sent' ? dropped : new OTLPTraceExporter({ url: url('traces') })
  const tracers = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: 100_000 })] })
  const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: url('metrics') }) })
  const meters = new MeterProvider({ readers: [reader] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const [tracer, meter] = [tracers.getTracer('bench'), meters.getMeter('bench')]
  const extensions: Readonly<Record<string, readonly Extension<unknown>[]>> = {
    'spans, not sent': [telemetry({ tracer })],
    spans: [telemetry({ tracer })],
    'spans and metrics': [telemetry({ tracer, meter })],
    'spans, metrics, content': [telemetry({ tracer, meter, recordContent: true })],
  }
  const settle = (): Promise<void> => tracers.forceFlush()
  if (name === 'AI SDK, spans') {
    // By a name that no type checker follows: it is checked where it is installed.
    const { aiTelemetry }: { aiTelemetry(options: object): Telemetry } = await import(
      new URL('../peers/ai-telemetry.ts', import.meta.url).href
    )
    registerTelemetry(aiTelemetry({ tracer }))
    return { ...aiLoop(steps), settle }
  }
  if (name !== 'the SDK alone') return { ...loop(steps, extensions[name] ?? []), settle }
  const collected = collectSpans()
  await loop(steps, [telemetry({ tracer: collected.tracer })]).run()
  const spans = collected.take()
  return {
    async run() {
      const [first, ...others] = spans
      const root = tracer.startSpan(first?.name ?? '', { attributes: first?.attributes ?? {} })
      const under = trace.setSpan(context.active(), root)
      for (const { name: one, attributes } of others) tracer.startSpan(one, { attributes }, under).end()
      root.end()
    },
    settle,
  }
}

function aiLoop(steps: number): Running {
  const run = toolLoopAgent.prepare(steps)
  return {
    run: async () => check(toolLoopAgent.name, steps, await run()),
    settle: () => Promise.resolve(),
  }
}

/** One agent for the whole process, as a service has it; of its sessions none is kept. */
function loop(steps: number, extensions: readonly Extension<unknown>[]): Running {
  const store = memoryStore()
  const run = provostIn(steps, store, extensions)
  return {
    async run() {
      const { tally, sessionId } = await run()
      check('provost', steps, tally)
      await store.delete(sessionId)
    },
    settle: () => Promise.resolve(),
  }
}

keepCompiledCode()
const [, , name, steps, port] = process.argv
if (process.send && name !== undefined) await answer(name, Number(steps), String(port))
