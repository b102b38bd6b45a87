// The other process of a check: node child.js MODULE ARGUMENT TASK …
import type { SessionStore } from '@provost/core'

import { all, note, take } from './log-entry.ts'

/** Appends until it is killed, and reports its progress after each confirmed append. */
async function writeOn(store: SessionStore, log: string, batch: number): Promise<void> {
  const fence = await take(store, log, 'writer', 200)
  for (let after = 0; ; after += batch) {
    const entries = Array.from({ length: batch }, (_, n) => note(`e${after + n + 1}`, 'x'.repeat(500)))
    await store.append(log, entries, { after, fence })
    process.stdout.write(`${after + batch}\n`)
    // Lives only as long as its parent process.
    if (after % 100 === 0) await store.lease(log, 'writer', 200)
  }
}

/** Takes the lease `rounds` times, writes two entries each time, and delivers to a token that all processes use. */
async function takeTurns(store: SessionStore, log: string, owner: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    let lease = await store.lease(log, owner, 60_000)
    while (lease === 'busy') {
      await new Promise((resolve) => setTimeout(resolve, 1))
      lease = await store.lease(log, owner, 60_000)
    }
    const { fence } = lease
    const after = (await all(store.read(log))).length
    await store.append(log, [note(`${owner}${round * 2}`)], { after, fence })
    await store.append(log, [note(`${owner}${round * 2 + 1}`)], { after: after + 1, fence })
    await store.release(log, fence)
    process.stdout.write(`${await store.deliver(log, `question ${round}`, owner, owner)}\n`)
  }
}

const [module = '', argument = '', task, log = '', ...rest] = process.argv.slice(2)
const { open }: { open(argument: string): SessionStore | Promise<SessionStore> } = await import(module)
const store = await open(argument)
if (task === 'write') await writeOn(store, log, Number(rest[0]))
else await takeTurns(store, log, rest[0] ?? '', Number(rest[1]))
await store.close()
