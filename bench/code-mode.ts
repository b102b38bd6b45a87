import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { aiSdk } from './code-mode/ai-sdk.ts'
import type { Contender } from './code-mode/contender.ts'
import { freshWorker } from './code-mode/fresh-worker.ts'
import { limitsHeld } from './code-mode/limits.ts'
import { provost } from './code-mode/provost.ts'
import { collectGarbage, median } from './measure.ts'

const help = `Measures what a script costs: wall milliseconds, medians of runs that take turns.

Usage: node --conditions=@provost/source bench/code-mode.ts [options]

Options:
  --runs 15      samples of each measurement
  --json         one JSON object on stdout, nothing else
  --help         this text
`

const { values: given } = parseArgs({
  options: {
    runs: { type: 'string', default: '15' },
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

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function samples(count: number, work: () => Promise<unknown>, gapMs = 0): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i++) {
    if (gapMs > 0) await sleep(gapMs)
    all.push(await timed(work))
  }
  return all
}

const p95 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
const round = (value: number) => Math.round(value * 1000) / 1000

async function measure(contender: Contender): Promise<Record<string, number>> {
  const run = (source: string) => () => contender.run(source, tools)
  const cold = await timed(run('return 1'))
  await samples(20, run('return 1'))
  const back = await samples(runs * 10, run('return 1'))
  const gaps = await samples(runs * 4, run('return 1'), 15)
  await run(sequential)()
  const few = Math.max(3, Math.ceil(runs / 3))
  return {
    coldMs: cold,
    warmMs: median(back),
    warmP95Ms: p95(back),
    warmWithGapsMs: median(gaps),
    sequentialCallUs: median(await samples(few, run(sequential))),
    batchedCallUs: median(await samples(few, run(batched))),
    tenParallel50Ms: median(await samples(few, run(parallel))),
    megabyteMs: median(await samples(few, run(large))),
  }
}

const contenders: readonly Contender[] = [provost(1), aiSdk(), freshWorker()]
const results: Record<string, Record<string, number>> = {}
for (const contender of contenders) {
  collectGarbage()
  const measured = await measure(contender)
  results[contender.name] = Object.fromEntries(Object.entries(measured).map(([name, value]) => [name, round(value)]))
  await contender.close()
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

/** What a thousand runs leave behind, in bytes of RSS, and a thousand more, and more: what only grows is a leak. */
async function leftBehind(): Promise<number[]> {
  const one = provost(2)
  const source = 'const rows = await tools.few(); return rows.length + new Array(1e5).fill(1).length'
  const settle = async () => {
    for (let i = 0; i < 3; i++) {
      collectGarbage()
      await sleep(50)
    }
    return process.memoryUsage.rss()
  }
  for (let i = 0; i < 100; i++) await one.run(source, tools)
  const before = await settle()
  const left: number[] = []
  for (let thousand = 1; thousand <= 3; thousand++) {
    for (let i = 0; i < 1000; i++) await one.run(source, tools)
    left.push((await settle()) - before)
  }
  await one.close()
  return left
}

const report = {
  runs,
  load: loadavg()[0],
  contenders: results,
  hundredWaitingMs: round(await waiting()),
  thousandRunsBytes: await leftBehind(),
  msAfterLimit: await limitsHeld(Math.max(3, Math.ceil(runs / 3))),
}
if (given.json) process.stdout.write(`${JSON.stringify(report)}\n`)
else {
  console.table(results)
  console.log(`100 scripts that wait for 1 s, on 2 workers: ${report.hundredWaitingMs} ms`)
  const left = report.thousandRunsBytes.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')
  console.log(`after 1,000, 2,000 and 3,000 runs: ${left} MB more`)
  console.log('from a limit to the end of the script, ms')
  console.table(report.msAfterLimit)
  console.log(`load ${report.load?.toFixed(1)}`)
}
process.exit(0)
