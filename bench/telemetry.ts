import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { median } from './measure.ts'
import { rowNames } from './telemetry/row.ts'
import type { RowName } from './telemetry/row.ts'

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

interface Row {
  readonly name: RowName
  readonly child: ChildProcess
  /** CPU milliseconds a run. */
  readonly samples: number[]
}

async function main(): Promise<void> {
  const [steps, warm, rounds, repeat] = [values.steps, values.warm, values.rounds, values.repeat].map(Number)
  const only = values.rows?.split(',')
  const collector = start('collector.ts', [])
  const [port] = await once(collector, 'message')
  const names = rowNames.filter((name) => name === 'provost' || !only || only.includes(name))
  const rows = names.map((name): Row => ({
    name,
    child: start('row.ts', [name, String(steps), String(port)]),
    samples: [],
  }))
  const progress = (text: string): void => void (values.json || process.stderr.write(`${text}\n`))
  // In turn, so that no row has the machine at a better time than the others.
  for (let done = 0; done < Number(warm); done += 250) {
    for (const { child } of rows) await sample(child, 250)
    progress(`warm-up ${done + 250}/${warm}`)
  }
  for (let round = 0; round < Number(rounds); round++) {
    const first = round % rows.length
    for (const row of [...rows.slice(first), ...rows.slice(0, first)]) {
      row.samples.push(await sample(row.child, Number(repeat)))
    }
  }
  for (const { child } of rows) child.disconnect()
  collector.disconnect()
  const base = rows[0]?.samples ?? []
  const told = rows.map(({ name, samples }) => [
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

function start(file: string, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`telemetry/${file}`, import.meta.url)), args, { execArgv: process.execArgv })
}

/** @returns CPU milliseconds a run. */
async function sample(child: ChildProcess, runs: number): Promise<number> {
  child.send(runs)
  const [cpuMs] = await once(child, 'message')
  return Number(cpuMs)
}
