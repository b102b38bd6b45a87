import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { telemetry } from '@provost/telemetry'

import type { Contender } from './loop/contender.ts'
import { provost, provostWith } from './loop/provost.ts'
import { check } from './loop/script.ts'
import { compare } from './measure.ts'

const help = `What tracing costs the agent loop, in CPU milliseconds a run.

Usage: node --conditions=@provost/source bench/telemetry.ts [options]

The script is that of bench/loop.ts. The rows: no telemetry; the extension without an SDK; with the OpenTelemetry SDK,
spans in batches and metrics to a collector in another process over OTLP/HTTP; the same with all content recorded. The
cost of writing the batches is counted, that of the collector is not.

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
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const [tracer, meter] = [tracers.getTracer('bench'), meters.getMeter('bench')]

  const rows: readonly Contender[] = [
    provost,
    provostWith('telemetry, no SDK', () => [telemetry()]),
    provostWith('telemetry, SDK and batches', () => [telemetry({ tracer, meter })]),
    provostWith('telemetry, SDK, batches, content', () => [telemetry({ tracer, meter, recordContent: true })]),
  ]
  const subjects = rows.map((row) => ({
    name: row.name,
    repeat: 5,
    prepare() {
      const run = row.prepare(steps)
      return async () => {
        check(row.name, steps, await run())
        // The spans of a run are written on its account; metrics are sums, written once a minute.
        await tracers.forceFlush()
      }
    },
  }))
  const progress = (text: string): void => void (values.json || process.stderr.write(`${text}\n`))
  const summaries = await compare(subjects, { runs, warmUps: 3, budgetMs: 120_000, progress })
  await Promise.all([tracers.shutdown(), meters.shutdown()])
  collector.disconnect()
  const medians = Object.fromEntries(Object.entries(summaries).map(([name, { cpuMs }]) => [name, cpuMs]))
  const base = medians[provost.name] ?? Number.NaN
  const ratios = Object.fromEntries(Object.entries(medians).map(([name, cpuMs]) => [name, cpuMs / base]))
  const report = { bench: 'telemetry', unit: 'CPU ms per run, median', steps, runs, medians, ratios }
  process.stdout.write(`${JSON.stringify(report, undefined, values.json ? 0 : 2)}\n`)
}
