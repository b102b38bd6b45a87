import { writeFile } from 'node:fs/promises'

import type { AgentEvent, Extension } from 'provost'

import type { TraceTask } from './options.ts'

/** Traces of what the desk does. */
export interface Tracing {
  /** For its agent. */
  readonly extensions: readonly Extension<unknown>[]
  /** What is to be shown once an event has been. */
  after(event: AgentEvent): string
  /** Sends what has not been sent. @returns what went wrong. */
  close(): Promise<string | undefined>
}

const none: Tracing = { extensions: [], after: () => '', close: () => Promise.resolve(undefined) }

/** Opens the traces that were asked for. What they need is loaded only then. */
export async function openTracing(task: TraceTask | undefined, colours: boolean): Promise<Tracing> {
  if (!task) return none
  if (task.to === 'collector') return toCollector(task.url)
  return task.to === 'picture' ? intoPicture(task.file) : inTerminal(colours)
}

/** Without any SDK: the spans stay here. */
async function inTerminal(colours: boolean): Promise<Tracing> {
  const { collectSpans, printSpans, telemetry } = await import('@provost/telemetry')
  const { tracer, take } = collectSpans()
  return {
    ...none,
    extensions: [telemetry({ tracer })],
    after: ({ type, parents }) =>
      type === 'agent.end' && parents.length === 0 ? `\n${printSpans(take(), { colours })}` : '',
  }
}

async function intoPicture(file: string): Promise<Tracing> {
  const { collectSpans, drawSpans, telemetry } = await import('@provost/telemetry')
  const { tracer, take } = collectSpans()
  return {
    ...none,
    extensions: [telemetry({ tracer })],
    async close() {
      await writeFile(file, drawSpans(take(), { title: 'The desk at work', attributes: true }))
      return undefined
    },
  }
}

/** With the OpenTelemetry SDK, as a service has it: for the whole process, in batches. */
async function toCollector(url: URL): Promise<Tracing> {
  const [api, hooks, traces, metrics, traceExport, metricExport, { resourceFromAttributes }, { telemetry }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/resources'),
      import('@provost/telemetry'),
    ])
  const at = (path: string): string => `${url.href.replace(/\/+$/, '')}/v1/${path}`
  const resource = resourceFromAttributes({ 'service.name': 'provost-desk' })
  const exporter = new traceExport.OTLPTraceExporter({ url: at('traces') })
  const tracers = new traces.TracerProvider({
    resource,
    spanProcessors: [new traces.BatchSpanProcessor({ exporter })],
  })
  const reader = new metrics.PeriodicExportingMetricReader({
    exporter: new metricExport.OTLPMetricExporter({ url: at('metrics') }),
  })
  const meters = new metrics.MeterProvider({ resource, readers: [reader] })
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
  api.trace.setGlobalTracerProvider(tracers)
  api.metrics.setGlobalMeterProvider(meters)
  let problem: string | undefined
  const failed = (message: string): void => void (problem ??= message)
  api.diag.setLogger(
    { error: failed, warn: failed, info() {}, debug() {}, verbose() {} },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  return {
    ...none,
    extensions: [telemetry()],
    async close() {
      const closed = await Promise.allSettled([tracers.shutdown(), meters.shutdown()])
      for (const one of closed) if (one.status === 'rejected') failed(String(one.reason))
      return problem
    },
  }
}
