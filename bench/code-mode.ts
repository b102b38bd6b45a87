import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { aiSdk } from './code-mode/ai-sdk.ts'
import type { Contender } from './code-mode/contender.ts'
import { freshWorker } from './code-mode/fresh-worker.ts'
import { limitsHeld } from './code-mode/limits.ts'
import { measureScripts, round, tools } from './code-mode/measure-scripts.ts'
import { provost } from './code-mode/provost.ts'
import { timed } from './code-mode/turns.ts'

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

const contenders: readonly Contender[] = given.flow
  ? [provost(1), provost(1, 'values')]
  : [provost(1), aiSdk(), freshWorker()]
const { medians, lowest, first } = await measureScripts(contenders, runs)
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
