import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { aiSdk } from './code-mode/ai-sdk.ts'
import type { Contender } from './code-mode/contender.ts'
import { freshWorker } from './code-mode/fresh-worker.ts'
import { limitsHeld } from './code-mode/limits.ts'
import { provost } from './code-mode/provost.ts'
import { inTurns, type Plan, timed } from './code-mode/turns.ts'
import { median } from './measure.ts'

const help = `Measures what a script costs: wall milliseconds, medians of runs that take turns, and the lowest.

Usage: node --conditions=@provost/source bench/code-mode.ts [options]

Every contender is warmed up first, as a server is: all of them have an engine of their own that compiles what runs often,
and that takes some ten thousand calls. What a fresh process pays is coldMs.

Options:
  --runs 15      samples of each measurement
  --flow         only what it costs to follow each value: quotients of the medians, of turns in this process
  --json         one JSON object on stdout, nothing else
  --help         this text
`

const { values: given } = parseArgs({
  options: {
    runs: { type: 'string', default: '15' },
    flow: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (given.help) {
  process.stdout.write(help)
  process.exit(0)
}
const runs = Number(given.runs)

const rows = Array.from({ length: 9000 }, (_, id) => ({
  id,
  name: `name ${id}`,
  text: 'x'.repeat(60),
  on: id % 3 === 0,
}))
const tools = {
  add: ({ a, b }: { a: number; b: number }) => a + b,
  slow: ({ ms }: { ms: number }) => sleep(ms, ms),
  rows: () => rows,
  few: () => rows.slice(0, 100),
}
const n = 1000
const sequential = `let sum = 0; for (let i = 0; i < ${n}; i++) sum += await tools.add({ a: i, b: 1 }); return sum`
const batched = `const all = await Promise.all(Array.from({ length: ${n} }, (_, i) => tools.add({ a: i, b: 1 }))); return all.length`
const parallel = `const all = await Promise.all(Array.from({ length: 10 }, () => tools.slow({ ms: 50 }))); return all.length`
const large = `const rows = await tools.rows(); return rows.filter((row) => row.on).length`

const p95 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
const round = (value: number) => Math.round(value * 1000) / 1000

const few = Math.max(3, Math.ceil(runs / 3))
const warmUp = { warmUps: 40, warmUpMs: 3000 }

interface Measured extends Plan {
  readonly name: string
  readonly source: string
  /** What one run is divided by. */
  readonly per: number
}

const measured: readonly Measured[] = [
  { name: 'warmMs', source: 'return 1', per: 1, rounds: few * 2, inARow: 15, ...warmUp, warmUps: 200 },
  { name: 'warmWithGapsMs', source: 'return 1', per: 1, rounds: few, inARow: 12, ...warmUp, gapMs: 15 },
  { name: 'sequentialCallUs', source: sequential, per: n / 1000, rounds: few, inARow: 2, ...warmUp },
  { name: 'batchedCallUs', source: batched, per: n / 1000, rounds: few, inARow: 2, ...warmUp },
  { name: 'tenParallel50Ms', source: parallel, per: 1, rounds: few, inARow: 1, ...warmUp, warmUps: 3 },
  { name: 'megabyteMs', source: large, per: 1, rounds: few, inARow: 2, ...warmUp },
]

const contenders: readonly Contender[] = given.flow
  ? [provost(1), provost(1, 'values')]
  : [provost(1), aiSdk(), freshWorker()]
type Rows = Record<string, Record<string, number>>
const medians: Rows = {}
const lowest: Rows = {}
const first: Rows = {}
for (const { name, run } of contenders) {
  medians[name] = { coldMs: round(await timed(() => run('return 1', tools))) }
  lowest[name] = {}
  first[name] = {}
}
for (const { name, source, per, ...plan } of measured) {
  const subjects = contenders.map((contender) => ({ name: contender.name, run: () => contender.run(source, tools) }))
  for (const [contender, times] of Object.entries(await inTurns(subjects, plan))) {
    const values = times.warm.map((ms) => ms / per)
    Object.assign(medians[contender] ?? {}, { [name]: round(median(values)) })
    if (name === 'warmMs') Object.assign(medians[contender] ?? {}, { warmP95Ms: round(p95(values)) })
    Object.assign(lowest[contender] ?? {}, { [name]: round(Math.min(...values)) })
    Object.assign(first[contender] ?? {}, { [name]: round(times.first / per) })
  }
}
for (const { close } of contenders) await close()
if (given.flow) {
  const [plain = {}, followed = {}] = Object.values(medians)
  const quotients = Object.fromEntries(
    Object.entries(followed).map(([name, ms]) => [name, round(ms / (plain[name] ?? Number.NaN))]),
  )
  if (given.json)
    process.stdout.write(`${JSON.stringify({ runs, load: loadavg()[0], contenders: medians, quotients })}\n`)
  else console.table({ ...medians, quotients })
  process.exit(0)
}

/** A hundred scripts that wait for a second, on two workers. */
async function waiting(): Promise<number> {
  const two = provost(2)
  await two.run('return 1', tools)
  const all = () => Promise.all(Array.from({ length: 100 }, () => two.run('return tools.slow({ ms: 1000 })', tools)))
  const took = await timed(all)
  await two.close()
  return took
}

/** In bytes of RSS, after one, two and three thousand runs. */
function leftBehind(): readonly number[] {
  const script = fileURLToPath(new URL('./code-mode/left-behind.ts', import.meta.url))
  return JSON.parse(execFileSync(process.execPath, [...process.execArgv, script], { encoding: 'utf8' }))
}

const report = {
  runs,
  load: loadavg()[0],
  contenders: medians,
  lowest,
  first,
  hundredWaitingMs: round(await waiting()),
  thousandRunsBytes: leftBehind(),
  msAfterLimit: await limitsHeld(Math.max(3, Math.ceil(runs / 3))),
}
if (given.json) process.stdout.write(`${JSON.stringify(report)}\n`)
else {
  console.table(medians)
  console.log('the lowest')
  console.table(lowest)
  console.log('the first of its kind, before all is compiled')
  console.table(first)
  console.log(`100 scripts that wait for 1 s, on 2 workers: ${report.hundredWaitingMs} ms`)
  const left = report.thousandRunsBytes.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')
  console.log(`after 1,000, 2,000 and 3,000 runs: ${left} MB more`)
  console.log('from a limit to the end of the script, ms')
  console.table(report.msAfterLimit)
  console.log(`load ${report.load?.toFixed(1)}`)
}
process.exit(0)
