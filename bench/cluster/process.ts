// A process of the cluster: a worker, or the server. Its settings are in the environment.
import { flushCompileCache } from 'node:module'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

import type { DurableEngine, SessionStore } from '@provost/core'
import { restateEngine } from '@provost/durable'
import { createServer, createWorker, serve } from '@provost/server'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

import type { DeskModule, ProcessMessage } from './machines.ts'

const env = (name: string): string | undefined => process.env[`CLUSTER_${name}`]
const storeAt = env('STORE') ?? ''
const store = reporting(
  storeAt.startsWith('postgres:') ? postgresStore(storeAt, { connections: 5 }) : sqliteStore(storeAt),
)
const { createDesk }: DeskModule = await import(env('DESK') ?? '')
const agents = [createDesk(store, env('OUTSIDE') ?? '')]
const [ingress, admin, port, advertise] = [env('INGRESS'), env('ADMIN'), env('PORT'), env('ADVERTISE')]
const engine: DurableEngine | undefined =
  ingress === undefined
    ? undefined
    : restateEngine({
        ingress,
        port: Number(port ?? 0),
        ...(admin !== undefined && { admin }),
        ...(advertise !== undefined && { advertise }),
        onFault: () => {},
      })
const onError = (error: unknown): void => {
  if (env('TRACE') !== undefined) process.stderr.write(`${process.pid} ${String(error)}\n`)
}
const shared = { agents, store, onError, ...(engine && { engine }) }

/** Tells the cluster something. */
function tell(message: ProcessMessage): void {
  process.send?.(message)
}

/** Tells the cluster which logs this process may write, so that it kills a process with work and knows what that leaves. */
function reporting(inner: SessionStore): SessionStore {
  const held = new Map<string, number>()
  return {
    ...inner,
    async lease(log, ...terms) {
      const lease = await inner.lease(log, ...terms)
      if (lease !== 'busy' && held.get(log) !== lease.fence) {
        held.set(log, lease.fence)
        tell({ log, fence: lease.fence, is: 'leased' })
      }
      return lease
    },
    async release(log, fence) {
      await inner.release(log, fence)
      held.delete(log)
      tell({ log, fence, is: 'released' })
    },
  }
}

/** The channel to the cluster, and what the runtime itself has open. */
const ownResources: ReadonlySet<string> = new Set(['PipeWrap', 'TTYWrap', 'FSReqCallback', 'Immediate'])

async function end(close: () => Promise<void>): Promise<void> {
  await close()
  await store.close()
  // What would keep this process alive, once closed sockets are gone, and the threads of scripts, which wait a moment for more.
  let left: readonly string[] = []
  for (let turns = 0; turns < 100; turns++) {
    await sleep(20)
    left = process.getActiveResourcesInfo().filter((name) => !ownResources.has(name))
    if (left.length === 0) break
  }
  tell({ is: 'ended', left })
  process.exit(0)
}

if (env('ROLE') === 'server') {
  const server = createServer({ ...shared, concurrency: 0 })
  const listening = await serve(server, { port: Number(env('HTTP') ?? 0) })
  process.once('SIGTERM', () => void end(() => listening.close()))
} else {
  const worker = createWorker({ ...shared, concurrency: 64 })
  process.once('SIGTERM', () => void end(() => worker.close({ graceMs: 10_000 })))
}
// The cluster has ended, however that happened.
process.once('disconnect', () => process.exit(1))
// A killed process would not keep what it has compiled.
flushCompileCache()
process.on('message', () => {
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  tell({ is: 'measured', rss, heapUsed })
})
tell({ is: 'ready' })
