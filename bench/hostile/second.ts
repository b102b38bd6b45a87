import { setTimeout } from 'node:timers/promises'

import type { SessionStore } from 'provost'
import { exportSession } from 'provost/sessions'

import { probeServer } from './doors/http.ts'

/** How long runs that were left behind may go on, in ms. */
const mostMs = 10_000

/**
 * What a second process does with the sessions that an input left: it recovers the runs, waits for their end, reads their
 * events and exports them. `read 1`, or which of them still run.
 */
export async function readByAnother(store: SessionStore): Promise<string> {
  const server = probeServer(store)
  try {
    // The server has begun to look for runs that were left.
    await setTimeout(50)
    const deadline = performance.now() + mostMs
    let running = await namesOf(store, 'running')
    while (running.length > 0 && performance.now() < deadline) {
      await setTimeout(100)
      running = await namesOf(store, 'running')
    }
    if (running.length > 0) return `still running: ${running.length}`
    const names = await namesOf(store)
    for (const name of names.slice(0, 20)) {
      const headers = { authorization: 'Bearer ann' }
      for (const path of ['', '/export']) {
        const url = `http://localhost/api/agent/session/${encodeURIComponent(name)}${path}`
        await (await server.fetch(new Request(url, { headers }))).text()
      }
    }
    return `read ${names.length}`
  } finally {
    await server.close({ graceMs: 0 })
  }
}

/** Bytes of all sessions of a store, as they are exported. */
export async function bytesLogged(store: SessionStore): Promise<number> {
  let bytes = 0
  for (const name of await namesOf(store))
    for await (const line of exportSession(store, name)) bytes += Buffer.byteLength(line)
  return bytes
}

async function namesOf(store: SessionStore, status?: 'running'): Promise<string[]> {
  const names: string[] = []
  for await (const { id } of store.list(status ? { status } : {})) names.push(id)
  return names
}
