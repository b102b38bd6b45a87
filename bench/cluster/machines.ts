import { fork, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

import { findPostgres, findRestate, freePorts, startPostgres, startRestate, startTcpProxy } from '@provost/testing'
import type { RestateServer, TcpProxy } from '@provost/testing'
import type { Agent, SessionStore } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

/** What a process tells of its right to write a log. */
export interface LeaseMessage {
  readonly log: string
  readonly fence: number
  readonly is: 'leased' | 'released'
}

/** Memory of a process after a collection, in bytes. */
export interface Memory {
  readonly rss: number
  readonly heapUsed: number
}

/** What a process tells the cluster. */
export type ProcessMessage =
  | LeaseMessage
  | { readonly is: 'ready' }
  | ({ readonly is: 'measured' } & Memory)
  /** It has closed all that it opened; what is left would keep it alive. */
  | { readonly is: 'ended'; readonly left: readonly string[] }

/** A module with the agent of a cluster. */
export interface DeskModule {
  /** @param outside the file that represents the outside world. */
  createDesk(store: SessionStore, outside: string): Agent
}

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** Where the Restate server reaches it. */
  readonly port: number
}

/** What a cluster consists of. */
export interface ClusterOptions {
  readonly engine: 'none' | 'restate'
  readonly store: 'postgres' | 'sqlite'
  readonly workers: number
  /** Module with the agent: see {@link DeskModule}. Default: the desk of the demo. */
  readonly desk?: URL
}

/** Processes of this machine that share a store, and what stands between them. */
export interface Cluster {
  readonly store: SessionStore
  readonly storeAt: string
  /** The file that represents the outside world: a line for each effect, its key first. */
  readonly outside: string
  /** Where the server with the desk listens. */
  readonly url: string
  readonly restate: RestateServer | undefined
  /** The address of the database, which can be taken away. */
  readonly database: TcpProxy | undefined
  /** The workers that live. */
  readonly workers: ReadonlySet<WorkerProcess>
  /** Returns the logs that only this worker may write at present. */
  leasedBy(worker: WorkerProcess): readonly string[]
  /** Returns the process that may write a log at present: `worker 4711`, or `server 4712`. */
  holderOf(log: string): string | undefined
  startWorker(): Promise<WorkerProcess>
  /** Id of the server's process; undefined when it has ended. */
  readonly serverPid: number | undefined
  /** Collects the garbage of a worker, and returns what it uses then. */
  measure(worker: WorkerProcess): Promise<Memory>
  /** What would have kept processes alive that have ended by SIGTERM, one list for each. */
  readonly left: readonly (readonly string[])[]
  startServer(): Promise<void>
  /** Sends a signal to a worker, which gets no further work, and waits for its end. @returns what it had leased at its end. */
  end(worker: WorkerProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<readonly string[]>
  /** Ends all processes and removes their data. */
  stop(): Promise<void>
}

const program = fileURLToPath(new URL('process.ts', import.meta.url))
const engineFolder = fileURLToPath(new URL('../restate', import.meta.url))

/** Returns whether PostgreSQL is installed. */
export const hasPostgres = (): boolean => findPostgres() !== undefined

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

/** Starts the store, the engine, the workers and the server. If one does not start, all of them are stopped. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const ending: (() => Promise<unknown> | void)[] = []
  let stopped: Promise<void> | undefined
  async function stopAll(): Promise<void> {
    // Each is tried: a database that is gone already keeps no folder.
    for (const end of ending.splice(0).toReversed()) await Promise.resolve(end()).catch(() => {})
  }
  const stop = (): Promise<void> => (stopped ??= stopAll())
  try {
    return await start(options, ending, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  options: ClusterOptions,
  ending: (() => Promise<unknown> | void)[],
  stop: () => Promise<void>,
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-cluster-'))
  ending.push(() => rmSync(folder, { recursive: true, force: true }))
  const outside = join(folder, 'effects')
  writeFileSync(outside, '')

  let storeAt = join(folder, 'sessions.db')
  const server = options.store === 'postgres' ? await startPostgres() : undefined
  if (server) ending.push(() => server.stop())
  const database = server && (await startTcpProxy([server.socket]))
  if (database) {
    ending.push(() => database.close())
    storeAt = server.urlAt(database.port)
  }
  const store: SessionStore = database ? postgresStore(storeAt) : sqliteStore(storeAt)
  ending.push(() => store.close())
  // The first process makes the tables.
  for await (const _ of store.list({ limit: 1 })) break

  const restate = options.engine === 'restate' ? await startRestate(installedRestate()) : undefined
  if (restate) ending.push(() => restate.stop())
  const inFront = restate && (await startTcpProxy())
  if (inFront) ending.push(() => inFront.close())
  const [httpPort = 0, ...workerPorts] = await freePorts(options.workers + 3)

  const workers = new Set<WorkerProcess>()
  const children = new Map<ChildProcess, 'worker' | 'server'>()
  const holders = new Map<string, { readonly pid: number; readonly fence: number }>()
  const left: (readonly string[])[] = []
  const desk = options.desk ?? new URL('desk.ts', import.meta.url)
  let starts = 0

  function noteLease(pid: number, { log, fence, is }: LeaseMessage): void {
    const known = holders.get(log)
    if (is === 'leased' && (!known || known.fence < fence)) holders.set(log, { pid, fence })
    if (is === 'released' && known?.fence === fence) holders.delete(log)
  }

  async function startProcess(role: 'worker' | 'server', port: number): Promise<ChildProcess> {
    const child = fork(program, {
      execArgv: ['--conditions=@provost/source', '--expose-gc'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // In its own group: Ctrl-C reaches this process, which ends its own. It ends by itself if the channel closes.
      detached: true,
      env: {
        ...process.env,
        // Compiles once for all processes: a replacement starts in a third of the time.
        NODE_COMPILE_CACHE: join(folder, 'code'),
        CLUSTER_ROLE: role,
        CLUSTER_DESK: desk.href,
        CLUSTER_STORE: storeAt,
        CLUSTER_OUTSIDE: outside,
        CLUSTER_HTTP: String(httpPort),
        ...(restate && { CLUSTER_INGRESS: restate.ingress, CLUSTER_PORT: String(port) }),
        ...(restate &&
          role === 'worker' && {
            CLUSTER_ADMIN: restate.admin,
            CLUSTER_ADVERTISE: `http://127.0.0.1:${inFront?.port}`,
          }),
      },
    })
    children.set(child, role)
    child.once('exit', () => children.delete(child))
    child.on('message', (message: ProcessMessage) => {
      if (message.is === 'leased' || message.is === 'released') noteLease(child.pid ?? 0, message)
      if (message.is === 'ended') left.push(message.left)
    })
    await new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`A ${role} ended with ${code} as it started.`)))
    })
    return child
  }

  function forget(worker: WorkerProcess): void {
    if (!workers.delete(worker)) return
    if (inFront) inFront.targets = inFront.targets.filter((port) => port !== worker.port)
  }

  async function startWorker(): Promise<WorkerProcess> {
    const port = workerPorts[starts++ % workerPorts.length] ?? 0
    const child = await startProcess('worker', port)
    if (inFront) inFront.targets = [...inFront.targets, port]
    const worker = { child, pid: child.pid ?? 0, port }
    workers.add(worker)
    child.once('exit', () => forget(worker))
    return worker
  }

  const leasedBy = ({ pid }: WorkerProcess): readonly string[] =>
    [...holders].flatMap(([log, holder]) => (holder.pid === pid ? [log] : []))

  ending.push(async () => {
    await Promise.all(
      [...children.keys()].map(async (child) => {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }),
    )
  })
  await Promise.all(Array.from({ length: options.workers }, startWorker))
  await startProcess('server', 0)

  return {
    ...{ store, storeAt, outside, restate, database, workers, left, leasedBy, startWorker, stop },
    url: `http://127.0.0.1:${httpPort}`,
    holderOf(log) {
      const pid = holders.get(log)?.pid
      for (const [child, role] of children) if (child.pid === pid) return `${role} ${pid}`
      return undefined
    },
    get serverPid() {
      for (const [{ pid }, role] of children) if (role === 'server') return pid
      return undefined
    },
    measure({ child }) {
      return new Promise((resolve) => {
        const note = (message: ProcessMessage): void => {
          if (message.is !== 'measured') return
          child.off('message', note)
          resolve(message)
        }
        child.on('message', note).send('measure')
      })
    },
    async startServer() {
      await startProcess('server', 0)
    },
    async end(worker, signal) {
      const { child } = worker
      // Its messages arrive before the channel closes.
      const over = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
      if (signal === 'SIGTERM') forget(worker)
      child.kill(signal)
      await over
      return leasedBy(worker)
    },
  }
}
