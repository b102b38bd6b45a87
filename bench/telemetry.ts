import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import { median } from './measure.ts'
import { measureTelemetry } from './telemetry/measure-telemetry.ts'
import { rowNames } from './telemetry/row.ts'

const help = `What tracing costs the agent loop, in CPU milliseconds a run.

Usage: node --conditions=@provost/source bench/telemetry.ts [options]

The script is that of bench/loop.ts. Each row runs in a process of its own, as it would be in use: without an SDK, no
telemetry and the extension; with the OpenTelemetry SDK in the process, in batches to a collector over OTLP/HTTP: no
telemetry, spans, metrics beside them, all content too. "the SDK alone" writes and sends the same spans with nothing around
them: the lower bound. "not sent" are spans that are batched and dropped. The cost of writing the batches is
counted, that of the collector is not. First all are run until V8 is done with them; then each in its turn, again and again,
and each sample is compared with that of the same round without telemetry: where others use the machine, that says most.

Options:
  --steps 10      length of the runs (default 10)
  --warm 3000     runs before those that count (default 3000)
  --rounds 40     samples of each row (default 40)
  --repeat 20     runs of each sample (default 20)
  --rows a,b      only these, and "provost"
  --json          one JSON object on stdout, nothing else
  --help          this text
`

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '10' },
    warm: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '40' },
    repeat: { type: 'string', default: '20' },
    rows: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) process.stdout.write(help)
else await main()

async function main(): Promise<void> {
  const [steps = 10, warm = 0, rounds = 1, repeat = 1] = [values.steps, values.warm, values.rounds, values.repeat].map(
    Number,
  )
  const only = values.rows?.split(',')
  const names = rowNames.filter((name) => name === 'provost' || !only || only.includes(name))
  const progress = (text: string): void => void (values.json || process.stderr.write(`${text}\n`))
  const rows = await measureTelemetry({ steps, warm, rounds, repeat, names, progress })
  const [[, base = []] = []] = rows
  const told = [...rows].map(([name, samples]) => [
    name,
    {
      median: median(samples).toFixed(3),
      lowest: Math.min(...samples).toFixed(3),
      ofProvost: median(samples.map((cpuMs, round) => cpuMs / (base[round] ?? Number.NaN))).toFixed(3),
    },
  ])
  const report = {
    bench: 'telemetry',
    unit: 'CPU ms per run',
    ...{ steps, warm, rounds, repeat, load: loadavg()[0] },
    rows: Object.fromEntries(told),
  }
  process.stdout.write(`${JSON.stringify(report, undefined, values.json ? 0 : 2)}\n`)
}
