import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

import { createAgent, tool, z } from 'provost'
import type { Entry, NewEntry } from 'provost'
import { createWorker } from 'provost/server'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

/** What a worker does with runs whose process has died. */
export interface Abandoned {
  readonly sessions: number
  readonly ended: number
  /** Milliseconds until all have ended. */
  readonly ms: number
  /** Longest time in which the event loop was blocked, in milliseconds. */
  readonly gapMs: number
}

/** Lets one worker take over runs that were abandoned at once, each with a call and an answer to come. */
export async function measureAbandoned(sessions: number): Promise<Abandoned> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-abandoned-'))
  const store = sqliteStore(join(folder, 'sessions.db'), { sync: 'never' })
  const work = tool({ name: 'work', effect: 'read', input: z.object({}), execute: () => 'worked' })
  const model = scriptedModel(
    [
      ({ messages }) =>
        messages.length > 1 ? { text: 'done' } : { delayMs: 5, toolCalls: [{ name: 'work', input: {} }] },
    ],
    { after: 'repeat-last' },
  )
  const agent = createAgent({ name: 'desk', model, tools: [work], store })
  const first = await agent.createSession({ id: 'model-session', principal: { id: 'ann' } })
  const { runId } = await first.stream('go').result
  const begun: Entry[] = []
  for await (const entry of store.read('model-session')) {
    begun.push(entry)
    if (entry.type === 'message') break
  }
  await store.delete('model-session')
  const text = JSON.stringify(begun)
  for (let n = 0; n < sessions; n++) {
    const id = `abandoned-${n}`
    const entries: NewEntry[] = JSON.parse(
      text.replaceAll('model-session', id).replaceAll(runId, `${runId.slice(0, -6)}${String(n).padStart(6, '0')}`),
    )
    const lease = await store.lease(id, 'the dead', 1)
    if (lease !== 'busy') await store.append(id, entries, { after: 0, fence: lease.fence })
  }
  const statuses = async (): Promise<number> => {
    let ended = 0
    for await (const { status } of store.list({ status: 'idle' })) if (status === 'idle') ended++
    return ended
  }
  await sleep(50)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const worker = createWorker({ agents: [agent], store })
  delay.enable()
  const began = performance.now()
  let ended = 0
  while (ended < sessions && performance.now() - began < 300_000) {
    await sleep(200)
    if (worker.running === 0) ended = await statuses()
  }
  delay.disable()
  const ms = performance.now() - began
  await worker.close()
  await store.close()
  rmSync(folder, { recursive: true })
  return { sessions, ended, ms: Math.round(ms), gapMs: Math.round(delay.max / 1e5) / 10 }
}
