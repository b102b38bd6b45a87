import { fork, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { findPostgres, findRestate, freePorts, startPostgres, startRestate } from '@provost/testing'
import type { SessionStore } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

import { startBalancer } from './cluster/balancer.ts'
import { clusterDesk, modelMs, steps } from './cluster/desk.ts'
import { median } from './measure.ts'

const help = `Starts a cluster on this machine, without containers: PostgreSQL where it is installed, else SQLite; two workers; and a server
with the desk. It prints their addresses, and stops all of them on Ctrl-C.

Usage: npm run cluster -- [options]

Options:
  --engine none|restate  what distributes sessions (default none: the index of the store); the Restate server is installed
                         by its first use, 226 MB, in bench/restate
  --store sqlite         SQLite although PostgreSQL is installed
  --demo                 runs sessions, kills workers, restarts the Restate server, takes the store away, drains, and ends
  --sessions 200         sessions of the demo
  --json                 only one JSON object on the last line; exit code 1 where something does not hold
  --help                 this text
`

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'none' },
    store: { type: 'string' },
    demo: { type: 'boolean', default: false },
    sessions: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(help)
  process.exit(0)
}
const say = (text: string): void => void (values.json || process.stdout.write(`${text}\n`))

const folder = mkdtempSync(join(tmpdir(), 'provost-cluster-'))
const outside = join(folder, 'effects')
writeFileSync(outside, '')
const ending: (() => Promise<unknown> | void)[] = [() => rmSync(folder, { recursive: true, force: true })]

async function stopAll(): Promise<void> {
  for (const end of ending.splice(0).toReversed()) await end()
}

process.once('SIGINT', () => void stopAll().finally(() => process.exit(130)))
process.once('SIGTERM', () => void stopAll().finally(() => process.exit(143)))

// The store, behind an address that can be taken away.
const usesPostgres = values.store !== 'sqlite' && findPostgres() !== undefined
let storeAt = join(folder, 'sessions.db')
const database = usesPostgres ? await startBalancer() : undefined
if (database) {
  const { url } = await startPostgres()
  const { pathname, searchParams } = new URL(url.replace('postgres://provost@/', 'postgres://provost@localhost/'))
  database.targets = [join(searchParams.get('host') ?? '', '.s.PGSQL.5432')]
  storeAt = `postgres://provost@127.0.0.1:${database.port}${pathname}`
  ending.push(() => database.close())
}
const store: SessionStore = usesPostgres ? postgresStore(storeAt) : sqliteStore(storeAt)
ending.push(() => store.close())

const engineFolder = fileURLToPath(new URL('restate', import.meta.url))
const binary = values.engine === 'restate' ? installedRestate() : undefined
const restate = binary === undefined ? undefined : await startRestate(binary)
if (restate) ending.push(() => restate.stop())
const workersAt = restate && (await startBalancer())
if (workersAt) ending.push(() => workersAt.close())
const [httpPort = 0, ...workerPorts] = await freePorts(4)

const program = fileURLToPath(new URL('cluster/process.ts', import.meta.url))
const children = new Set<ChildProcess>()

/** Returns the program of the Restate server. Its first use installs it: 226 MB, without scripts of packages. */
function installedRestate(): string {
  const found = findRestate(engineFolder)
  if (found !== undefined) return found
  process.stderr.write('Installing the Restate server into bench/restate, this once.\n')
  const args = ['install', '--dir', engineFolder, '--frozen-lockfile', '--ignore-scripts']
  const { status } = spawnSync('pnpm', args, { stdio: ['ignore', 2, 2] })
  const installed = status === 0 ? findRestate(engineFolder) : undefined
  if (installed === undefined) throw new Error(`The Restate server cannot be installed: pnpm ${args.join(' ')}`)
  return installed
}

async function start(role: 'worker' | 'server', port = 0): Promise<ChildProcess> {
  const child = fork(program, {
    execArgv: ['--conditions=@provost/source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      CLUSTER_ROLE: role,
      CLUSTER_STORE: storeAt,
      CLUSTER_OUTSIDE: outside,
      CLUSTER_HTTP: String(httpPort),
      ...(restate && { CLUSTER_INGRESS: restate.ingress, CLUSTER_PORT: String(port) }),
      ...(restate &&
        role === 'worker' && {
          CLUSTER_ADMIN: restate.admin,
          CLUSTER_ADVERTISE: `http://127.0.0.1:${workersAt?.port}`,
        }),
    },
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`A ${role} ended with ${code}.`)))
  })
  return child
}

ending.push(async () => {
  await Promise.all(
    [...children].map(async (child) => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    }),
  )
})

// The first process makes the tables.
for await (const _ of store.list({ limit: 1 })) break
let nextPort = 0
async function startWorker(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const port = workerPorts[nextPort++ % workerPorts.length] ?? 0
  if (workersAt) workersAt.targets = [...workersAt.targets, port]
  return { child: await start('worker', port), port }
}
function remove(port: number): void {
  if (workersAt) workersAt.targets = workersAt.targets.filter((one) => one !== port)
}
const workers = [await startWorker(), await startWorker()]
await start('server')
say(`server    http://127.0.0.1:${httpPort}`)
say(`store     ${storeAt}`)
if (restate) say(`restate   ${restate.ingress}, administration ${restate.admin}`)
say(`workers   ${workers.map(({ child }) => child.pid).join(', ')}`)

if (!values.demo) {
  say('Ctrl-C stops all of them.')
  await new Promise(() => setInterval(() => {}, 60_000))
}

const count = Number(values.sessions)
const agent = clusterDesk(store, outside)
const ids = Array.from({ length: count }, (_, n) => `session-${n}`)

async function begin(id: string, principal: string): Promise<void> {
  const session = await agent.createSession({ id, principal: { id: principal } })
  await session.close()
  await store.deliver(id, 'send/1', { mode: 'queue', input: 'Pay all.' }, principal)
}

/** Retries what the store refuses while it is away. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries > 100) throw error
      await sleep(200)
    }
  }
}

interface Progress {
  readonly status: string | undefined
  readonly tokens: readonly string[]
}

async function progressOf(id: string): Promise<Progress> {
  const open = new Set<string>()
  let status: string | undefined
  for await (const entry of store.read(id)) {
    if (entry.type === 'wait' && entry.kind === 'approval') open.add(entry.token)
    if (entry.type === 'resolved') open.delete(entry.token)
    if (entry.type === 'run') status = entry.op === 'ended' ? entry.status : entry.op
  }
  return { status, tokens: [...open] }
}

const answered = new Set<string>()
const ended = new Map<string, string>()

/** Answers what waits, and counts what has ended. */
async function look(): Promise<void> {
  for (const id of ids) {
    if (ended.has(id)) continue
    const { status, tokens } = await patiently(() => progressOf(id))
    if (status === 'completed' || status === 'failed' || status === 'aborted') ended.set(id, status)
    for (const token of tokens) {
      if (answered.has(`${id} ${token}`)) continue
      await patiently(() => store.deliver(id, token, { decision: 'approve' }, 'boss'))
      answered.add(`${id} ${token}`)
    }
  }
}

// One session alone tells what the cluster adds to the model's time.
await begin('alone', 'alone')
const alone = performance.now()
for (;;) {
  const { status, tokens } = await progressOf('alone')
  if (status === 'completed' || status === 'failed') break
  for (const token of tokens) await store.deliver('alone', token, { decision: 'approve' }, 'boss')
  await sleep(5)
}
const overheadMsPerStep = Math.round((performance.now() - alone) / steps - modelMs)

const begun = performance.now()
const after = (): string => `${((performance.now() - begun) / 1_000).toFixed(1)} s`
for (const [n, id] of ids.entries()) await begin(id, `user-${n % 10}`)
say(`${count} sessions`)

let killedWorkers = 0
const over = new AbortController()
async function kill(): Promise<void> {
  const worker = workers.shift()
  if (!worker) return
  const gone = new Promise((resolve) => worker.child.once('exit', resolve))
  worker.child.kill('SIGKILL')
  await gone
  remove(worker.port)
  killedWorkers++
  say(`${after()} worker ${worker.child.pid} killed, ${ended.size} ended`)
  await sleep(500)
  workers.push(await startWorker())
}

const disturbances: readonly (() => Promise<void>)[] = [
  kill,
  kill,
  async () => {
    if (!restate) return
    await restate.kill()
    say(`${after()} Restate server killed`)
    await sleep(500)
    await restate.restart()
  },
  async () => {
    if (!database) return
    database.away()
    say(`${after()} store away`)
    await sleep(2_000)
    database.back()
    say(`${after()} store back`)
  },
  kill,
  async () => {
    const worker = workers.shift()
    if (!worker) return
    workers.push(await startWorker())
    const gone = new Promise((resolve) => worker.child.once('exit', resolve))
    remove(worker.port)
    worker.child.kill('SIGTERM')
    await gone
    say(`${after()} worker ${worker.child.pid} drained`)
  },
]

async function disturb(): Promise<void> {
  for (const [n, one] of disturbances.entries()) {
    // Spread over the work: after a part of the sessions, or of the time.
    const share = ((n + 1) / (disturbances.length + 2)) * count
    for (const end = performance.now() + 8_000; ended.size < share && performance.now() < end && !over.signal.aborted;)
      await sleep(50)
    await one()
  }
}

const disturbing = disturb()
for (const end = performance.now() + 240_000; ended.size < count && performance.now() < end;) {
  await look()
  await sleep(50)
}
over.abort()
await disturbing
await look()
say(`${after()} ${ended.size} of ${count} ended`)

// What a process left behind when it died was taken over when its run was resumed without having rested.
const takeovers: number[] = []
for (const id of ids) {
  let last: { readonly at: number; readonly rests: boolean } | undefined
  for await (const entry of store.read(id)) {
    if (entry.type === 'run' && entry.op === 'resumed' && last && !last.rests) takeovers.push(entry.at - last.at)
    last = { at: entry.at, rests: entry.type === 'run' && entry.op === 'suspended' }
  }
}
const lines = existsSync(outside) ? readFileSync(outside, 'utf8').trim().split('\n') : []
const own = lines.filter((line) => !line.endsWith(' alone'))
const keys = new Set(own.map((line) => line.split(' ')[0]))
const completed = [...ended.values()].filter((status) => status === 'completed').length
const result = {
  sessions: count,
  completed,
  effects: own.length,
  distinctEffects: keys.size,
  killedWorkers,
  takeoverMs: takeovers.length === 0 ? 0 : Math.round(median(takeovers)),
  overheadMsPerStep,
}
await stopAll()
const holds = completed === count && own.length === keys.size && keys.size === count * 4
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(holds ? 0 : 1)
