import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { all } from './log-entry.ts'
import type { CheckDraft, RemotePlace, StorePlace } from './subject.ts'

/** The program of the other process. A bundle for workerd has no `import.meta.url`, and starts none. */
function script(): URL {
  // Not `import.meta.url` itself, from which bundlers would take the file for one of theirs.
  const here = import.meta.url
  const extension = here.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./child${extension}`, here)
}

/** Conditions under which this process resolves packages. The other process needs the same. */
const conditions = process.execArgv.flatMap((flag, n, flags) => {
  if (flag === '--conditions' || flag === '-C') return [`--conditions=${flags[n + 1]}`]
  return flag.startsWith('--conditions=') ? [flag] : []
})

/** Starts another process on a place and yields its lines as they arrive. */
function startProcess({ module, argument }: RemotePlace, ...task: readonly (string | number)[]) {
  const child = spawn(
    process.execPath,
    [...conditions, fileURLToPath(script()), module, argument, ...task.map(String)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  return {
    lines,
    kill: () => child.kill('SIGKILL'),
    async end(): Promise<number | null> {
      const [code] = await ended
      return code
    },
  }
}

function remoteOf({ remote }: StorePlace): RemotePlace {
  if (!remote) throw new Error('the place does not define "remote"')
  return remote
}

export const processChecks: readonly CheckDraft[] = [
  {
    name: 'a writer killed while it writes loses no confirmed append, and leaves complete appends only',
    sharing: 'one',
    async run(bench) {
      const place = await bench.place()
      const writer = startProcess(remoteOf(place), 'write', 's', 3)
      let acknowledged = 0
      for await (const line of writer.lines) {
        acknowledged = Number(line)
        if (acknowledged >= 60) writer.kill()
      }
      await writer.end()
      const store = await place.open()
      const entries = await all(store.read('s'))
      assert.ok(acknowledged >= 60 && entries.length >= acknowledged, `${entries.length} of ${acknowledged}`)
      assert.equal(entries.length % 3, 0, 'an incomplete append was stored')
      entries.forEach(({ id, offset }, n) => assert.deepEqual([id, offset], [`e${n + 1}`, n + 1]))
      // The lease of the killed process expires.
      let lease = await store.lease('s', 'heir', 60_000)
      while (lease === 'busy') {
        await new Promise((resolve) => setTimeout(resolve, 5))
        lease = await store.lease('s', 'heir', 60_000)
      }
      const { id, offset: _, ...rest } = entries[0] ?? assert.fail()
      const again = await store.append('s', [{ id, ...rest }], { after: entries.length, fence: lease.fence })
      assert.deepEqual(again, { offset: entries.length, existing: [entries[0]] })
    },
  },
  {
    name: 'processes that take turns at a log lose no entry, and their appends do not interleave',
    sharing: 'processes',
    async run(bench) {
      const place = await bench.place()
      const store = await place.open()
      const owners = ['a', 'b', 'c']
      const rounds = 5
      const writers = owners.map((owner) => startProcess(remoteOf(place), 'turns', 's', owner, rounds))
      const words = await Promise.all(writers.map(({ lines }) => all(lines)))
      assert.deepEqual(await Promise.all(writers.map((writer) => writer.end())), [0, 0, 0])
      const entries = await all(store.read('s'))
      assert.deepEqual(
        entries.map(({ offset }) => offset),
        Array.from({ length: owners.length * rounds * 2 }, (_, n) => n + 1),
      )
      const expected = owners.flatMap((owner) => Array.from({ length: rounds * 2 }, (_, n) => `${owner}${n}`))
      assert.deepEqual(entries.map(({ id }) => id).toSorted(), expected.toSorted())
      for (let n = 0; n < entries.length; n += 2) assert.equal(entries[n]?.id[0], entries[n + 1]?.id[0])
      // All processes delivered to the same token in every round: one delivery was accepted.
      const accepted = words.flat().filter((word) => word === 'accepted')
      assert.equal(accepted.length, rounds)
      assert.equal((await all(store.inbox('s'))).length, rounds)
    },
  },
]
