// Another process of a crash test: node crash-child.ts SITE TASK SESSION@MOMENT …, or SITE resume SESSION …
import { crashAt } from '@provost/testing'

import { goOn, noDeeds, openStore } from './crash-site.ts'
import type { Deeds, Site } from './crash-site.ts'

/** What a process says of a session, one line each. */
export type ChildLine =
  | { readonly sessionId: string; readonly died: string }
  | { readonly sessionId: string; readonly status: string; readonly error?: string; readonly deeds: Deeds }

const [place = '', task, ...sessions] = process.argv.slice(2)
const site: Site = JSON.parse(place)
const store = openStore(site)
const say = (line: ChildLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

/** Works on a session until its moment; when all sessions stand at theirs, the process is killed. */
async function work(session: string): Promise<void> {
  const [sessionId = '', at] = session.split('@')
  const crash = crashAt(Number(at), ({ name }) => {
    say({ sessionId, died: name })
    end()
  })
  const deeds = noDeeds()
  const { status, error } = await goOn(site, sessionId, crash.store(store), deeds, crash)
  say({ sessionId, status, ...(error && { error: error.message }), deeds })
  end()
}

let alive = sessions.length
function end(): void {
  if (--alive === 0) process.kill(process.pid, 'SIGKILL')
}

async function resume(sessionId: string): Promise<void> {
  const deeds = noDeeds()
  const { status, error } = await goOn(site, sessionId, store, deeds)
  say({ sessionId, status, ...(error && { error: error.message }), deeds })
}

await Promise.all(sessions.map(task === 'die' ? work : resume))
await store.close()
