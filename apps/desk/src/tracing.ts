import { open, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

import type { AgentEvent, Extension } from 'provost'

import { DeskError, reasonOf } from './fault.ts'
import type { TraceTask } from './options.ts'

/** Traces of the desk's work. */
export interface Tracing {
  /** Extensions for the agents. */
  readonly extensions: readonly Extension<unknown>[]
  /** Returns what to print after an event. */
  after(event: AgentEvent): string
  /** Destination of the traces, if not the terminal. */
  readonly where?: string
  /** Sends what is pending. @returns what failed. */
  close(): Promise<string | undefined>
}

const none: Tracing = { extensions: [], after: () => '', close: () => Promise.resolve(undefined) }

/** Longest wait for a collector that does not answer, in ms. */
const patience = 2_000

/**
 * Opens the requested traces. Their packages are loaded on demand.
 *
 * @param patienceMs time limit in ms for a request to the collector.
 * @throws DeskError of kind `usage` when the picture cannot be written.
 */
export async function openTracing(
  task: TraceTask | undefined,
  colours: boolean,
  patienceMs: number = patience,
): Promise<Tracing> {
  if (!task) return none
  if (task.to === 'collector') return toCollector(task.url, patienceMs)
  return task.to === 'picture' ? intoPicture(task.file) : inTerminal(colours)
}

/** Without an SDK: spans stay in this process. */
async function inTerminal(colours: boolean): Promise<Tracing> {
  const { collectSpans, printSpans, telemetry } = await import('provost/telemetry')
  const { tracer, take } = collectSpans()
  return {
    ...none,
    extensions: [telemetry({ tracer })],
    after: ({ type, parents }) =>
      type === 'agent.end' && parents.length === 0 ? `\n${printSpans(take(), { colours })}` : '',
  }
}

async function intoPicture(file: string): Promise<Tracing> {
  // The picture is drawn at the end; an unwritable path must fail at the start.
  try {
    await (await open(file, 'a')).close()
  } catch (cause) {
    throw new DeskError('usage', `The picture cannot be drawn: ${reasonOf(cause)}.`, { cause })
  }
  const { collectSpans, drawSpans, telemetry } = await import('provost/telemetry')
  const { tracer, take } = collectSpans()
  return {
    ...none,
    where: `drawn in ${file}`,
    extensions: [telemetry({ tracer })],
    async close() {
      await writeFile(file, drawSpans(take(), { title: 'The desk at work', attributes: 'first' }))
      return undefined
    },
  }
}

/** With the OpenTelemetry SDK, as in a service: for the whole process, in batches. */
async function toCollector(url: URL, patienceMs: number): Promise<Tracing> {
  const [api, hooks, traces, metrics, traceExport, metricExport, { resourceFromAttributes }, { telemetry }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/resources'),
      import('provost/telemetry'),
    ])
  const at = (path: string): string => `${url.href.replace(/\/+$/, '')}/v1/${path}`
  const resource = resourceFromAttributes({ 'service.name': 'provost-desk' })
  const exporter = new traceExport.OTLPTraceExporter({ url: at('traces'), timeoutMillis: patienceMs })
  const tracers = new traces.TracerProvider({
    resource,
    spanProcessors: [new traces.BatchSpanProcessor({ exporter })],
  })
  const reader = new metrics.PeriodicExportingMetricReader({
    exporter: new metricExport.OTLPMetricExporter({ url: at('metrics'), timeoutMillis: patienceMs }),
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
    where: `sent to ${url.href}, as those of provost-desk`,
    extensions: [telemetry()],
    async close() {
      const closed = Promise.allSettled([tracers.shutdown(), meters.shutdown()])
      const late = new AbortController()
      const ends = await Promise.race([closed, delay(patienceMs, undefined, { signal: late.signal })])
      late.abort()
      for (const end of ends ?? []) if (end.status === 'rejected') failed(String(end.reason))
      if (!ends) failed(`it did not answer within ${patienceMs / 1000} s`)
      return problem && `the collector at ${url.href} did not take all of it: ${causeIn(problem)}`
    },
  }
}

/** The SDK reports errors as JSON with their stacks. */
function causeIn(problem: string): string {
  const [cause] = /\b(E[A-Z]{4,}|HTTP|Bad|Request|Export)\b[^"\n]*/.exec(problem) ?? []
  return cause?.replace(/\\n.*/, '').replace(/\)$/, '') ?? problem
}
