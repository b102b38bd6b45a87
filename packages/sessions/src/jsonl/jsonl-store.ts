import { existsSync, rmSync, utimesSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'

import type { Clock, Entry, KnownKeys, NewEntry, SessionInfo, SessionStore } from '@provost/core'
import { checkedStore, checkChoice, checkOptions, checkArguments, clockOf, ProvostError } from '@provost/core'

import { blobHash, freshBlobs, hashesIn, isHash } from '../kit/blob-mentions.ts'
import { mustBeDurable } from '../kit/durable-entry.ts'
import { ownedLogMarks, ownedLogs, staysAlone } from '../kit/owned-logs.ts'
import { selectSessions, sessionInfo } from '../kit/session-info.ts'
import { sessionErased, storeClosed } from '../kit/store-error.ts'
import { createWatchers } from '../kit/store-watchers.ts'
import { readEntry } from '../text/entry-text.ts'
import { erasableNames } from '../text/erasable-names.ts'
import { lockFolder } from './folder-lock.ts'
import { addTombstones, tombstoneOf } from './jsonl-erasure.ts'
import { beginEpoch, flushFolder, makeFolder, writeWhole } from './jsonl-folder.ts'
import { jsonlInboxes } from './jsonl-inbox.ts'
import { jsonlLogs, nameIn } from './jsonl-log.ts'
import { readLines } from './log-file.ts'
import type { LineFile, Torn } from './log-file.ts'

/** Options of {@link jsonlStore}. */
export interface JsonlStoreOptions {
  /**
   * Which writes are flushed to the disk before the store answers, so that they survive a power cut. A crash of the process
   * loses nothing in any case.
   *
   * - `calls` (default): the start of a tool call that must not run twice, with all earlier appends, and deliveries to an
   *   inbox. After a power cut no such tool runs twice without approval, and no accepted approval is lost. The last model
   *   call and reading tools may run again.
   * - `always`: every append.
   * - `interval`: once a second, after the answers.
   * - `never`: nothing; the operating system flushes.
   */
  readonly sync?: 'calls' | 'always' | 'interval' | 'never'
  /** Receives each file whose torn end was cut off after a crash. Default: a process warning. */
  readonly onRepair?: (torn: Torn) => void
  /** Default: that of the machine. */
  readonly clock?: Clock
}

const intervalMs = 1_000

const optionKeys = {
  sync: true,
  onRepair: true,
  clock: true,
} satisfies KnownKeys<JsonlStoreOptions>

/**
 * Returns a store of JSON lines in a folder, with a file for each log that any tool can read. One process at a time may use
 * it: a lock file excludes others, and the lock of a dead process is taken over. Lists and deletions read all files. A
 * missing folder is created.
 *
 * @throws ProvostError `store-locked`, naming the holding process; `store-unusable`, `newer-store`, `log-damaged`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model, store: jsonlStore('data/sessions') })
 */
export function jsonlStore(dir: string, options: JsonlStoreOptions = {}): SessionStore {
  checkArguments('jsonlStore', [dir], ['text'])
  if (dir === '')
    throw new ProvostError('invalid-argument', 'The path of jsonlStore is empty.', {
      hint: "Give the path of a folder: jsonlStore('./sessions').",
    })
  checkOptions(options, optionKeys, 'jsonlStore')
  const { sync = 'calls', onRepair = warn } = options
  checkChoice(sync, ['calls', 'always', 'interval', 'never'], 'sync', 'jsonlStore')
  const folder = makeFolder(dir)
  const unlock = lockFolder(dir)
  let firstFence: number
  try {
    firstFence = beginEpoch(dir)
  } catch (error) {
    unlock()
    throw error
  }
  const clock = clockOf(options)
  const inboxes = jsonlInboxes(folder, clock, onRepair)
  const watchers = createWatchers()
  const flushes = sync === 'calls' || sync === 'always'
  const dirty = new Set<LineFile>()
  const rows = new Map<string, { readonly size: number; readonly info: SessionInfo | undefined }>()
  let timer: ReturnType<typeof setInterval> | undefined
  let closed = false

  function alive(): void {
    if (closed) throw storeClosed()
  }

  const unmentioned = freshBlobs()
  const logs = jsonlLogs({ folder, firstFence, clock, alive, repaired: onRepair, wrote: unmentioned.mention })

  function flushed(file: LineFile, entries: readonly NewEntry[], created: boolean): Promise<void> | undefined {
    if (sync === 'interval') {
      dirty.add(file)
      timer ??= setInterval(flushDirty, intervalMs).unref()
    }
    if (created && flushes) flushFolder(folder.logs)
    const now = sync === 'always' || (sync === 'calls' && entries.some(mustBeDurable))
    return now ? file.flush() : undefined
  }

  function flushDirty(): void {
    // The next append reports a closed file or a failing disk.
    for (const file of dirty) file.flush().catch(() => {})
    dirty.clear()
  }

  async function infoOf(file: string): Promise<SessionInfo | undefined> {
    const path = join(folder.logs, file)
    const { size } = await stat(path)
    const known = rows.get(file)
    if (known?.size === size) return known.info
    const info = await readInfo(path)
    rows.set(file, { size, info })
    return info
  }

  /** Returns the blobs that the files of logs mention. */
  async function mentionedIn(paths: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    for (const path of paths) {
      for await (const line of linesOf(path)) for (const hash of hashesIn(line)) found.add(hash)
    }
    return found
  }

  /** Removes a session, and returns the names of its logs. */
  async function remove(sessionId: string): Promise<readonly string[]> {
    alive()
    const doomed = [sessionId]
    const names: string[] = []
    const mentioned = new Set<string>()
    for (let name = doomed.pop(); name !== undefined; name = doomed.pop()) {
      const path = folder.logPath(name)
      // An entry may name a separate session as its child: that session is not deleted.
      if (existsSync(path) && (!staysAlone(name, sessionId) || !(await readInfo(path)))) {
        for await (const line of linesOf(path)) {
          for (const hash of hashesIn(line)) if (existsSync(folder.blobPath(hash))) mentioned.add(hash)
          if (ownedLogMarks.some((mark) => line.includes(mark))) doomed.push(...ownedLogs(readEntry(line)))
        }
      } else if (name !== sessionId && (existsSync(path) || erasableNames(name)[1] !== sessionId)) continue
      if (existsSync(path)) names.push(name)
      await logs.remove(name)
      inboxes.remove(name)
    }
    if (mentioned.size > 0) {
      const others = (await readdir(folder.logs)).map((file) => join(folder.logs, file))
      const needed = await mentionedIn(others)
      for (const hash of mentioned) {
        if (!needed.has(hash) && !unmentioned.has(hash)) rmSync(folder.blobPath(hash), { force: true })
      }
    }
    if (flushes) flushFolder(folder.logs)
    watchers.wake(sessionId)
    return names
  }

  return checkedStore({
    clock,
    place: () => ({ kind: 'folder', path: dir }),
    async lease(...request) {
      alive()
      return logs.lease(...request)
    },

    async leaseState(name) {
      alive()
      return logs.leaseState(name)
    },

    async releaseQuarantine(sessionId) {
      alive()
      return logs.releaseQuarantine(sessionId)
    },

    async release(name, fence) {
      alive()
      inboxes.drop(name)
      await logs.release(name, fence)
    },

    async append(name, entries, at) {
      alive()
      const appended = await logs.append(name, entries, at, flushed)
      watchers.wake(name, 'log')
      return appended
    },

    read: (name, after = 0) => logs.read(name, after),

    async deliver(sessionId, token, value, by) {
      alive()
      if (tombstoneOf(folder, sessionId)) throw sessionErased(sessionId)
      if (!(await inboxes.deliver(sessionId, token, value, by, flushes))) return 'duplicate'
      watchers.wake(sessionId, 'inbox')
      return 'accepted'
    },

    async *inbox(sessionId, after = '') {
      alive()
      yield* inboxes.read(sessionId, after)
    },

    watch: watchers.watch,

    async blob(hash) {
      alive()
      return isHash(hash) && existsSync(folder.blobPath(hash)) ? readFile(folder.blobPath(hash)) : undefined
    },

    async putBlob(bytes) {
      alive()
      const hash = blobHash(bytes)
      if (!existsSync(folder.blobPath(hash))) writeWhole(folder.blobPath(hash), bytes, flushes)
      // For `sweepBlobs`, which compares it with a time of this clock.
      const now = clock.now() / 1_000
      utimesSync(folder.blobPath(hash), now, now)
      unmentioned.put(hash)
      return hash
    },

    async *list(filter) {
      alive()
      const found: SessionInfo[] = []
      const marked = new Set(await readdir(folder.leases))
      for (const file of await readdir(folder.logs)) {
        const row = await infoOf(file)
        if (!row) continue
        const quarantined = marked.has(basename(folder.leasePath(row.id))) && logs.leaseState(row.id).quarantinedAt
        found.push(quarantined ? { ...row, status: 'quarantined' } : row)
      }
      yield* selectSessions(found, filter)
    },

    async delete(sessionId) {
      await remove(sessionId)
    },

    async erase(sessionId, receipt) {
      alive()
      // First: what is written meanwhile is rejected.
      const stone = { at: clock.now(), receipt }
      addTombstones(folder, [sessionId], stone, flushes)
      const names = await remove(sessionId)
      addTombstones(folder, names, stone, flushes)
      if (flushes) flushFolder(folder.erased)
      return names
    },

    async tombstone(name) {
      alive()
      return tombstoneOf(folder, name)
    },

    async sweep({ putBefore }) {
      alive()
      const needed = await mentionedIn((await readdir(folder.logs)).map((file) => join(folder.logs, file)))
      let count = 0
      for (const hash of await readdir(folder.blobs)) {
        const path = folder.blobPath(hash)
        if (!isHash(hash) || needed.has(hash) || (await stat(path)).mtimeMs >= putBefore) continue
        rmSync(path, { force: true })
        count++
      }
      return count
    },

    async close() {
      if (closed) return
      closed = true
      clearInterval(timer)
      watchers.close()
      if (sync === 'interval') await Promise.allSettled([...dirty].map((file) => file.flush()))
      await logs.close()
      unlock()
    },
  })
}

async function* linesOf(path: string): AsyncIterable<string> {
  for await (const page of readLines(path)) yield* page
}

/** Returns the row of a log in the list, from the relevant lines of its file. */
async function readInfo(path: string): Promise<SessionInfo | undefined> {
  const runs: Entry[] = []
  let name: string | undefined
  let last: string | undefined
  for await (const line of linesOf(path)) {
    if (name === undefined) {
      name = nameIn(line)
      if (name === undefined) return undefined
    } else {
      last = line
      if (line.includes('"type":"run"') || line.includes('"key":"created"')) runs.push(readEntry(line))
    }
  }
  const end = last === undefined ? undefined : readEntry(last)
  if (name === undefined || !end) return undefined
  return sessionInfo(name, end === runs.at(-1) ? runs : [...runs, end])
}

function warn({ path, bytes }: Torn): void {
  process.emitWarning(`${path} ended in the middle of a write: its last ${bytes} bytes are gone.`, {
    code: 'PROVOST_TORN_LOG',
  })
}
