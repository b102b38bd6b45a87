import type { DurableEngine, EngineService } from '@provost/core'
import { longestTimerMs } from '@provost/core'

import { serveStore } from '../engine/store-engine.ts'
import { wakingStore } from '../engine/waking-store.ts'
import type { Limits } from '../options/limits.ts'
import type { ErrorPlace } from '../options/server-options.ts'
import type { WorkOptions } from '../options/work-options.ts'
import { drainingStore } from '../sessions/draining-store.ts'
import type { HostOptions, SessionHost } from '../sessions/session-host.ts'
import { createSessionHost } from '../sessions/session-host.ts'
import { createTransientWriter } from '../stream/transient-writer.ts'

/** The sessions that this process runs, for requests or for an engine. */
export interface SessionProcess {
  readonly host: SessionHost
  /** Takes what is due. */
  start(): void
  /**
   * Stops runs before their next tool, waits for those that end by themselves, then leaves the others to other processes.
   *
   * @param cut is called after the grace period, before the remaining runs are aborted.
   */
  close(graceMs: number, cut?: () => void): Promise<void>
}

/** What a process runs. */
export type ProcessOptions = HostOptions & WorkOptions & { readonly limits: Limits }

/** Sessions of a process at once. */
export const defaultConcurrency = 64
const defaultPollMs = 250
/** With an engine, the store's index finds only what the engine forgot. */
const backstopPollMs = 2_000

/**
 * Creates the session host of a server or a worker.
 *
 * @param refused is called for a log whose run is left to other processes, before the run receives the error.
 */
export function createSessionProcess(
  options: ProcessOptions,
  report: (thrown: unknown, place: ErrorPlace) => void,
  refused: (log: string) => void = () => {},
): SessionProcess {
  const { agents, store, engine, limits, concurrency = defaultConcurrency } = options
  const passing = store.transient && createTransientWriter(store.transient)
  const closing = drainingStore(
    store,
    (log) => {
      for (const live of host.running) if (live.id === log) live.feed.stopPublishing()
      // The next request, or the engine, opens it anew.
      host.forget(log)
      refused(log)
    },
    (log) => passing?.settle(log),
    (sessionId, thrown) => report(thrown, { sessionId }),
  )
  const failed = (thrown: unknown): void => report(thrown, {})
  const host = createSessionHost(
    options,
    engine ? wakingStore(closing.store, engine, failed) : closing.store,
    limits,
    passing,
  )
  const names = agents.map(({ name }) => name)
  const services: EngineService[] = []
  let closed = false

  async function serveEngine(own: DurableEngine): Promise<void> {
    const service = await own.serve((id) => host.advance(id), { agents: names, room: concurrency })
    if (closed) await service.drain(0)
    else services.push(service)
  }

  function start(): void {
    const { occupied, isRunning, yieldOne } = host
    const sweeper = serveStore(
      {
        store: host.store,
        pollMs: options.pollMs ?? (engine ? backstopPollMs : defaultPollMs),
        occupied,
        isRunning,
        yieldOne,
        report: (thrown, sessionId) => report(thrown, sessionId === undefined ? {} : { sessionId }),
        ...(engine && {
          wake: ({ id, principal }) => engine.wake(id, principal === undefined ? {} : { tenant: principal }),
        }),
      },
      (id) => host.advance(id),
      { agents: names, room: concurrency },
    )
    services.push(sweeper)
    if (engine) serveEngine(engine).catch(failed)
  }

  async function allIdle(): Promise<void> {
    for (const live of [...host.running]) await live.idle
    await host.compensated()
  }

  return {
    host,
    start,
    async close(longest, cut = () => {}) {
      closed = true
      // A longer timer would fire at once.
      const graceMs = Math.min(longest, longestTimerMs)
      const drained = Promise.all(services.map((service) => service.drain(graceMs)))
      closing.drain()
      const over = allIdle()
      const timer = Promise.withResolvers<void>()
      const grace = setTimeout(timer.resolve, graceMs)
      await Promise.race([over, timer.promise])
      clearTimeout(grace)
      closing.stop()
      for (const live of host.running) live.feed.stopPublishing()
      cut()
      host.stopCompensating()
      for (const live of host.running)
        void live.session.abort({ graceMs: 0, onPendingApprovals: 'hold' }).catch(() => {})
      await allIdle()
      await drained.catch(failed)
      await passing?.close()
    },
  }
}
