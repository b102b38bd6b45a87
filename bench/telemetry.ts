import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { collectSpans, telemetry } from '@provost/telemetry'

import type { Contender } from './loop/contender.ts'
import { provost, provostWith } from './loop/provost.ts'
import { check } from './loop/script.ts'
import { compare } from './measure.ts'
import type { Subject, Summary } from './measure.ts'

const help = `What tracing costs the agent loop, in CPU milliseconds a run.

Usage: node --conditions=@provost/source bench/telemetry.ts [options]

The script is that of bench/loop.ts. First, with nothing of an SDK in use: no telemetry, and the extension. Then with the
OpenTelemetry SDK, in batches to a collector in another process over OTLP/HTTP: the spans, metrics beside them, all content
too. "the SDK alone" writes the same spans with nothing around them: what nobody can go below. The cost of writing the
batches is counted, that of the collector is not. Where others use the machine, the lowest samples say most.

Options:
  --steps 200   length of the runs (default 200)
  --runs 15     samples of each row; the medians are compared (default 15)
  --json        one JSON object on stdout, nothing else
  --help        this text
`

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '200' },
    runs: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (process.send) collect(process.send.bind(process))
else if (values.help) process.stdout.write(help)
else await main(Number(values.steps), Number(values.runs))

/** The collector: takes everything and keeps nothing. */
function collect(tell: (port: unknown) => void): void {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  })
  server.listen(0, '127.0.0.1', () => tell(server.address()))
  process.once('disconnect', () => process.exit())
}

async function main(steps: number, runs: number): Promise<void> {
  const collector = fork(fileURLToPath(import.meta.url), { execArgv: process.execArgv })
  const [{ port }] = (await once(collector, 'message')) as [{ port: number }]
  const url = (path: string): string => `http://127.0.0.1:${port}/v1/${path}`
  const exporter = new OTLPTraceExporter({ url: url('traces') })
  const tracers = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: 100_000 })] })
  const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: url('metrics') }) })
  const meters = new MeterProvider({ readers: [reader] })
  const [tracer, meter] = [tracers.getTracer('bench'), meters.getMeter('bench')]

  // The spans of a run are written on its account; metrics are sums, written once a minute.
  const subject = (row: Contender): Subject => ({
    name: row.name,
    repeat: 3,
    prepare() {
      const run = row.prepare(steps)
      return async () => {
        check(row.name, steps, await run())
        await tracers.forceFlush()
      }
    },
  })
  const progress = (text: string): void => void (values.json || process.stderr.write(`${text}\n`))
  const plan = { runs, warmUps: 5, budgetMs: 120_000, progress }
  const without = await compare(
    [provost, provostWith('telemetry, no SDK', () => [telemetry()])].map((row) => subject(row)),
    plan,
  )
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const alone = await spansAlone(steps, tracers)
  const withSdk = await compare(
    [
      ...[
        { ...provost, name: 'provost again' },
        provostWith('telemetry, spans', () => [telemetry({ tracer })]),
        provostWith('telemetry, spans and metrics', () => [telemetry({ tracer, meter })]),
        provostWith('telemetry, spans, metrics, content', () => [telemetry({ tracer, meter, recordContent: true })]),
      ].map((row) => subject(row)),
      alone,
    ],
    plan,
  )
  await Promise.all([tracers.shutdown(), meters.shutdown()])
  collector.disconnect()
  const rows = { ...told(without, 'provost'), ...told(withSdk, 'provost again') }
  const report = { bench: 'telemetry', unit: 'CPU ms per run', steps, runs, load: loadavg()[0], rows }
  process.stdout.write(`${JSON.stringify(report, undefined, values.json ? 0 : 2)}\n`)
}

/** Medians and lowest samples, and what they are of those of a row. */
function told(summaries: Readonly<Record<string, Summary>>, base: string): Record<string, Record<string, string>> {
  const { cpuMs = Number.NaN, lowest = Number.NaN } = summaries[base] ?? {}
  const rows = Object.entries(summaries).map(([name, row]): [string, Record<string, string>] => [
    name,
    {
      median: row.cpuMs.toFixed(1),
      lowest: row.lowest.toFixed(1),
      ofMedian: (row.cpuMs / cpuMs).toFixed(2),
      ofLowest: (row.lowest / lowest).toFixed(2),
    },
  ])
  return Object.fromEntries(rows)
}

/** The spans of one run, written again and again by hand. */
async function spansAlone(steps: number, tracers: TracerProvider): Promise<Subject> {
  const { tracer: collector, take } = collectSpans()
  await provostWith('', () => [telemetry({ tracer: collector })]).prepare(steps)()
  const spans = take()
  const tracer = tracers.getTracer('alone')
  return {
    name: 'the SDK alone',
    repeat: 3,
    prepare: () => () => {
      for (const { name, attributes } of spans) tracer.startSpan(name, { attributes }).end()
      return tracers.forceFlush()
    },
  }
}
