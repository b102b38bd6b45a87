import process from 'node:process'
import { parseArgs } from 'node:util'

import { demoDisturbances, randomKills } from './cluster/disturbances.ts'
import { hasPostgres, startCluster } from './cluster/machines.ts'
import type { Cluster } from './cluster/machines.ts'
import { watchCluster } from './cluster/watch.ts'
import { runWork, violations } from './cluster/work.ts'

const help = `Starts a cluster on this machine, without containers: PostgreSQL where it is installed, else SQLite; two workers; and a server
with the desk. It prints their addresses, and stops all of them on Ctrl-C.

Usage: npm run cluster -- [options]

Options:
  --engine none|restate  what distributes sessions (default none: the index of the store); the Restate server is installed
                         by its first use, 226 MB, in bench/restate
  --store sqlite         SQLite although PostgreSQL is installed
  --demo                 runs sessions, kills workers that run them, restarts the Restate server, takes the store away,
                         drains, and ends
  --kills 300            runs sessions while it kills so many workers at random moments, and ends
  --sessions 200         sessions at least; --demo and --kills begin more until the disturbances are over (default 200). Without
                         both: sessions that the workers run at once, beside those that you start (default 0)
  --json                 only one JSON object on the last line
  --help                 this text

The exit code of --demo and --kills is 1 if a session does not complete, or an effect is lost or repeated. That of --demo is also 1
if takeovers are slow: from SIGKILL to the first entry of another process, half of them have to take at most 2 s and all at
most 10 s, with a lease of 1.5 s.
`

function fail(text: string): never {
  process.stderr.write(`${text}\nnpm run cluster -- --help lists the options.\n`)
  process.exit(2)
}

function options() {
  try {
    return parseArgs({
      options: {
        engine: { type: 'string', default: 'none' },
        store: { type: 'string' },
        demo: { type: 'boolean', default: false },
        kills: { type: 'string' },
        sessions: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0 ? number : fail(`--${name} is ${text}. Give a whole number from 1.`)
}

const values = options()
if (values.help) {
  process.stdout.write(help)
  process.exit(0)
}
const { engine } = values
if (engine !== 'none' && engine !== 'restate') fail(`--engine is ${engine}. Give none or restate.`)
if (values.store !== undefined && values.store !== 'sqlite')
  fail(`--store is ${values.store}. Give sqlite, or leave it out.`)
const sessions = values.sessions === undefined ? undefined : wholeNumber('sessions', values.sessions)
const kills = values.kills === undefined ? undefined : wholeNumber('kills', values.kills)
const isMeasured = values.demo || kills !== undefined
const say = (text: string): void => void (values.json || process.stdout.write(`${text}\n`))

const store = values.store === undefined && hasPostgres() ? 'postgres' : 'sqlite'
const starting = startCluster({ engine, store, workers: kills === undefined ? 2 : 4 })

const stopping = new AbortController()
async function stop(code: number): Promise<never> {
  stopping.abort()
  await starting.then((cluster) => cluster.stop()).catch(() => {})
  process.exit(code)
}
// Repeated signals, as from npm and from the terminal, do not cut it short.
process.on('SIGINT', () => void stop(130))
process.on('SIGTERM', () => void stop(143))

const cluster: Cluster = await starting
say(`server    ${cluster.url}, process ${cluster.serverPid}`)
say(`store     ${cluster.storeAt}`)
if (cluster.restate)
  say(`restate   ${cluster.restate.ingress}, administration ${cluster.restate.admin}, process ${cluster.restate.pid}`)
say(`workers   processes ${[...cluster.workers].map(({ pid }) => pid).join(', ')}`)

if (isMeasured) {
  const disturbances = kills === undefined ? demoDisturbances : randomKills(kills)
  const outcome = await runWork(cluster, {
    sessions: sessions ?? 200,
    atOnce: kills === undefined ? 40 : 24,
    disturbances,
    say,
  })
  // Random kills also strike the processes that have just taken sessions over: their takeovers wait for two leases or more.
  const wrong = violations(outcome, kills === undefined ? { p50Ms: 2_000, lastMs: 10_000 } : undefined)
  await cluster.stop()
  for (const text of wrong) process.stderr.write(`Does not hold: ${text}.\n`)
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
  process.exit(wrong.length === 0 ? 0 : 1)
}
await watchCluster(cluster, sessions ?? 0, say, stopping.signal)
