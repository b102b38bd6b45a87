import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'

import { soakPage } from './soak/soak-page.ts'
import { soak } from './soak/soak.ts'

const help = `Runs mixed sessions for a long time on workers that are killed and drained at random, on a store that goes away:
approvals, denials, questions without an answer, aborts, fan-outs, scripts, provider failures, hostile outputs. Then it checks that
every session has ended as planned or waits, that no effect is lost or repeated, that every log verifies, that the memory
of a worker which was spared is flat, and that processes which end have nothing open.

Usage: npm run soak -- [options]

Options:
  --minutes 60   how long sessions are begun
  --seed N       the plans of sessions and the disturbances; default random, and printed
  --at-once 24   sessions in progress; fewer need less of the machine
  --workers 4    processes that run them
  --store sqlite SQLite although PostgreSQL is installed
  --logs DIR     writes the exports of sessions for which something does not hold
  --page FILE    runs nothing: prints the page with the figures of a soak, whose JSON object is in the file
  --json         no progress, only one JSON object on the last line
  --help         this text

The exit code is 1 where something does not hold.
`

function fail(text: string): never {
  process.stderr.write(`${text}\nnpm run soak -- --help lists the options.\n`)
  process.exit(2)
}

function options() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: '60' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
        'at-once': { type: 'string', default: '24' },
        workers: { type: 'string', default: '4' },
        store: { type: 'string' },
        logs: { type: 'string' },
        page: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const values = options()
if (values.help) {
  process.stdout.write(help)
  process.exit(0)
}
if (values.page !== undefined) {
  process.stdout.write(soakPage(JSON.parse(readFileSync(values.page, 'utf8'))))
  process.exit(0)
}
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
const [atOnce, workers] = [Number(values['at-once']), Number(values.workers)]
if (!(minutes > 0)) fail(`--minutes is ${values.minutes}. Give a number above 0.`)
if (!Number.isSafeInteger(seed)) fail(`--seed is ${values.seed}. Give a whole number.`)
if (!Number.isSafeInteger(atOnce) || atOnce < 1) fail(`--at-once is ${values['at-once']}. Give a whole number above 0.`)
// One is spared, and another one is killed.
if (!Number.isSafeInteger(workers) || workers < 2) fail(`--workers is ${values.workers}. Give a whole number above 1.`)
if (values.store !== undefined && values.store !== 'sqlite')
  fail(`--store is ${values.store}. Give sqlite, or leave it out.`)

const say = (text: string): void => void (values.json || process.stdout.write(`${text}\n`))
say(`seed ${seed}`)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopping.abort())
const outcome = await soak({
  ...{ ms: minutes * 60_000, seed, atOnce, workers },
  ...{ store: values.store, logs: values.logs, say, stopping: stopping.signal },
})
for (const text of outcome.violations) process.stderr.write(`Does not hold: ${text}.\n`)
process.stdout.write(`${JSON.stringify(outcome)}\n`)
process.exit(outcome.violations.length === 0 ? 0 : 1)
