import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

import { createDesk, leaseMs } from './desk.ts'
import { followSessions, isOver } from './follow.ts'
import type { Cluster } from './machines.ts'

const lookMs = 250
const wantedWorkers = 2
/** Sessions that are begun before the first ones have ended. */
const atOnce = 20

/**
 * Shows how the cluster is used by hand, and what its sessions do. Starts again what is killed.
 *
 * @param count sessions to begin, which the workers run, and whose questions are answered here.
 * @param stopping ends it.
 */
export async function watchCluster(
  cluster: Cluster,
  count: number,
  say: (text: string) => void,
  stopping: AbortSignal,
): Promise<void> {
  const session = `${cluster.url}/api/agent/session/first-one`
  const json = `-H 'content-type: application/json'`
  say(`
Start a session, and approve its second payment:
  curl -sX PUT ${session} ${json} -d '{}'
  curl -s ${session}/follow-up ${json} -d '{"input":"Pay all."}'
  curl -s ${cluster.url}/api/waits
  curl -s ${session}/approvals ${json} -d '{"approvals":[{"id":"ID OF THE WAIT","decision":"approve"}]}'
Read it, while it runs and afterwards:
  curl -sN ${session}/events
Kill what runs it: kill -9 PID. Another process continues it after its lease (${leaseMs} ms), and what was killed starts again.
What the sessions paid is in ${cluster.outside}, a line for each payment: four in a session.
Ctrl-C stops all of them.
`)
  const follower = followSessions(cluster.store, createDesk(cluster.store, cluster.outside))
  const known = new Map<string, string>()
  while (!stopping.aborted) {
    try {
      await supervise(cluster, say)
      while (follower.sessions.size < count && follower.unfinished().length < atOnce)
        await follower.begin(`session-${follower.sessions.size}`, `user-${follower.sessions.size % 10}`)
      await follower.look()
      for await (const { id, status } of cluster.store.list()) {
        const ended = follower.sessions.get(id)?.status
        const holder = status === 'running' ? cluster.holderOf(id) : undefined
        // The log says how it ended.
        const shown = holder ? `runs in ${holder}` : isOver(ended) ? ended : status
        if (known.get(id) !== shown) say(`session ${id}: ${shown}`)
        known.set(id, shown)
      }
    } catch (error) {
      if (!stopping.aborted) say(`The store does not answer: ${String(error)}`)
    }
    await sleep(lookMs)
  }
}

/** Starts again what has ended, as the supervisor of a deployment does. */
async function supervise(cluster: Cluster, say: (text: string) => void): Promise<void> {
  const { restate } = cluster
  if (restate && !lives(restate.pid)) {
    say('The Restate server has ended.')
    await restate.kill()
    await restate.restart()
    say(`The Restate server is process ${restate.pid} now, with its data.`)
  }
  while (cluster.workers.size < wantedWorkers) {
    const { pid } = await cluster.startWorker()
    say(`A worker has ended. Worker ${pid} takes its place.`)
  }
  if (cluster.serverPid === undefined) {
    await cluster.startServer()
    say(`The server has ended. Process ${cluster.serverPid} takes its place.`)
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
