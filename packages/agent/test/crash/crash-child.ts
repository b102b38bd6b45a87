// Another process of a crash test: node crash-child.ts SITE die|stop|hold|resume SESSION@MOMENT …
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

import { crashAt, pauseAt } from '@provost/testing'
import type { CrashMoment } from '@provost/testing'

import { goOn, noDeeds, openStore } from './crash-site.ts'
import type { Deeds, Site } from './crash-site.ts'

/** What a process says of a session, one line each: where it stands, and what came of it. */
export type ChildLine = { readonly sessionId: string; readonly deeds: Deeds } & (
  | { readonly at: string }
  | { readonly status: string; readonly error?: string }
)

/** What happens to the process once each of its sessions stands at its moment, or is over. */
const fates = {
  die: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  hold: () => once(process.stdin, 'data'),
  resume: () => true,
}
const isTask = (text: string): text is keyof typeof fates => text in fates

const [place = '', task = '', ...sessions] = process.argv.slice(2)
if (!isTask(task)) throw new Error(`There is no task ${task}.`)
const { [task]: fate } = fates
const site: Site = JSON.parse(place)
const store = openStore(site)
const fulfilled = Promise.withResolvers<void>()
let moving = sessions.length
const standing: ChildLine[] = []

function say(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function arrived(): Promise<void> {
  if (--moving > 0) return
  // What is under way beside them comes to an end first: nothing in the store stays locked.
  if (task === 'stop') await sleep(50)
  for (const line of standing) say(line)
  await fate()
  fulfilled.resolve()
}

async function work(session: string): Promise<void> {
  const [sessionId = '', at = 'Infinity'] = session.split('@')
  const deeds = noDeeds()
  const stand = ({ name }: CrashMoment): Promise<void> => {
    standing.push({ sessionId, at: name, deeds })
    void arrived()
    return fulfilled.promise
  }
  const crash = (task === 'die' ? crashAt : pauseAt)(Number(at), stand)
  const { status, error } = await goOn(site, sessionId, crash.store(store), deeds, crash)
  say({ sessionId, status, ...(error && { error: error.code }), deeds })
  if (crash.moments.length < Number(at)) void arrived()
}

await Promise.all(sessions.map(work))
await store.close()
process.stdin.destroy()
