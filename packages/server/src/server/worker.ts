import type { Rest } from '@provost/core'
import { longestTimerMs } from '@provost/core'

import { defaultLimits } from '../options/limits.ts'
import type { Server } from '../options/server.ts'
import type { WorkerOptions } from '../options/worker-options.ts'
import { checkCloseOptions, checkWorkerOptions } from './known-server-options.ts'
import { reporter } from './report.ts'
import { createSessionProcess, defaultConcurrency } from './session-process.ts'

/** A process that runs sessions without serving requests. */
export interface Worker {
  /** Sessions with an active run in this process. */
  readonly running: number
  /** Sessions that it can take at present. */
  readonly room: number
  /** Advances a session until it rests, whether it is due or not. See `session.advance()`. */
  advance(sessionId: string): Promise<Rest>
  /** Takes no further sessions and stops active runs, as {@link Server.close} does. The store stays open. */
  close(options?: Parameters<Server['close']>[0]): Promise<void>
}

/** Idle sessions that a worker keeps open: what resumes soon, as after an approval, needs no second read of its log. */
const idleSessions = 32

/**
 * Creates a worker: it runs the sessions of a store that are due, beside any number of servers and other workers. Sessions
 * become due by deliveries, deadlines and the death of a process. Text that is being written is stored as a server stores
 * it, so that a reader of any server receives it.
 *
 * @throws ProvostError `unknown-option`, `invalid-option`
 *
 * @example
 * const worker = createWorker({ agents: [desk], store: postgresStore(url), concurrency: 32 })
 * process.once('SIGTERM', () => void worker.close({ graceMs: 20_000 }))
 */
export function createWorker(options: WorkerOptions): Worker {
  checkWorkerOptions(options)
  const { concurrency = defaultConcurrency } = options
  const report = reporter(options.agents, options.onError)
  const limits = { ...defaultLimits, sessions: idleSessions }
  const { host, start, close } = createSessionProcess({ ...options, concurrency, limits }, report)
  let closed: Promise<void> | undefined
  // The polls alone do not keep the process alive, and a worker may have nothing else.
  const alive = setInterval(() => {}, longestTimerMs)
  start()
  return {
    get running() {
      return host.running.size
    },
    get room() {
      return closed ? 0 : Math.max(0, concurrency - host.occupied())
    },
    advance: (sessionId) => host.advance(sessionId),
    async close(ending = {}) {
      checkCloseOptions(ending, 'worker.close')
      const { graceMs = 5_000 } = ending
      closed ??= close(graceMs).finally(() => clearInterval(alive))
      return closed
    },
  }
}
