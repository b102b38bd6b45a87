import { existsSync, rmSync } from 'node:fs'

import type {
  Appended,
  AppendPosition,
  Clock,
  Entry,
  EntryReader,
  Lease,
  LeaseState,
  LeaseTerms,
  NewEntry,
} from '@provost/core'
import { isRecord, mostTakeovers, sessionQuarantined } from '@provost/core'

import { addFresh, planAppend } from '../kit/append-plan.ts'
import type { KnownIds } from '../kit/append-plan.ts'
import { fenced, sessionErased } from '../kit/store-error.ts'
import { entriesOf, readEntries, writeEntry } from '../text/entry-text.ts'
import { tombstoneOf } from './jsonl-erasure.ts'
import type { JsonlFolder } from './jsonl-folder.ts'
import { leaseMark, markLease } from './jsonl-lease.ts'
import { damaged, openLines } from './log-file.ts'
import type { LineFile, Torn } from './log-file.ts'

/** A log that this process writes. */
interface OpenLog {
  readonly path: string
  fence: number
  lease: { readonly owner: string; readonly begun: number; readonly until: number; readonly part: boolean } | undefined
  takeovers: number
  /** Missing until the first entry. */
  file: LineFile | undefined
  ids: Promise<KnownIds> | undefined
  flushing: Promise<void>
}

/** The logs of a folder and their leases. */
export interface JsonlLogs {
  lease(name: string, owner: string, ttlMs: number, terms?: LeaseTerms): Lease | 'busy'
  leaseState(name: string): LeaseState
  releaseQuarantine(name: string): boolean
  release(name: string, fence: number): Promise<void>
  append(name: string, entries: readonly NewEntry[], at: AppendPosition, flushed: Flushed): Promise<Appended>
  read(name: string, after: number): EntryReader
  /** Removes a log with its lease. */
  remove(name: string): Promise<void>
  close(): Promise<void>
}

/** Called after entries were written to a file, before the append resolves. */
export type Flushed = (file: LineFile, entries: readonly NewEntry[], created: boolean) => Promise<void> | undefined

/** Each file begins with a line that names its log, since the file name is encoded. */
const headerLines = 1

/** Dependencies of the logs of a folder. */
export interface JsonlLogsOptions {
  readonly folder: JsonlFolder
  /** All fences are greater than this one. */
  readonly firstFence: number
  readonly clock: Clock
  /** Throws when the store is closed. */
  alive(): void
  repaired(torn: Torn): void
  /** Receives the appended lines. */
  wrote(lines: readonly string[]): void
}

export function jsonlLogs({ folder, firstFence, clock, alive, repaired, wrote }: JsonlLogsOptions): JsonlLogs {
  const logs = new Map<string, OpenLog>()
  let fences = firstFence

  function logOf(name: string): OpenLog {
    let log = logs.get(name)
    if (!log) {
      const path = folder.logPath(name)
      const file = existsSync(path) ? openLines(path, repaired) : undefined
      const at = { fence: 0, lease: undefined, takeovers: 0, ids: undefined }
      log = { path, ...at, file, flushing: Promise.resolve() }
      logs.set(name, log)
    }
    return log
  }

  const tailOf = ({ file }: OpenLog): number => Math.max(0, (file?.lines ?? 0) - headerLines)

  function pagesOf({ file }: OpenLog, after: number): AsyncIterable<readonly string[]> {
    return file ? file.read(Math.max(0, after) + headerLines) : nothing()
  }

  async function idsOf(log: OpenLog): Promise<KnownIds> {
    const ids = new Map<string, number>()
    for await (const page of pagesOf(log, 0)) {
      for (const { id, offset } of entriesIn(log.path, page, ids.size)) ids.set(id, offset)
    }
    return ids
  }

  async function stored(log: OpenLog, offsets: readonly number[]): Promise<readonly Entry[]> {
    const found: Entry[] = []
    for (const offset of offsets) {
      for await (const [line = ''] of pagesOf(log, offset - 1)) {
        found.push(...entriesIn(log.path, [line], offset - 1))
        break
      }
    }
    return found
  }

  async function forgetLog(name: string, log: OpenLog): Promise<void> {
    logs.delete(name)
    await log.flushing
    log.file?.close()
  }

  async function* entryPages(name: string, after: number): AsyncIterable<readonly Entry[]> {
    alive()
    const log = logs.get(name) ?? (existsSync(folder.logPath(name)) ? logOf(name) : undefined)
    if (!log) return
    const collects = after === 0 && log.lease && !log.ids
    const ids = new Map<string, number>()
    const end = tailOf(log)
    let from = Math.max(0, after)
    try {
      for await (const page of pagesOf(log, after)) {
        const entries = entriesIn(log.path, page, from)
        from += entries.length
        if (collects) for (const { id, offset } of entries) ids.set(id, offset)
        yield entries
      }
      // A writer reads the log before it writes: its ids are collected here instead of in a second read.
      if (collects && ids.size === end && tailOf(log) === end) log.ids ??= Promise.resolve(ids)
    } finally {
      if (!log.lease && logs.get(name) === log) await forgetLog(name, log)
    }
  }

  return {
    lease(name, owner, ttlMs, { steady = false, part = false } = {}) {
      const mark = leaseMark(folder, name)
      if (mark.quarantinedAt !== undefined) throw sessionQuarantined(name)
      const now = clock.elapsed()
      const held = logs.get(name)?.lease
      if (held && held.owner !== owner && held.until > now) return 'busy'
      const renews = held?.owner === owner
      // A held mark without a lease in this process belongs to an earlier process that died.
      const takeovers = mark.takeovers + (mark.held && !renews && !part ? 1 : 0)
      if (takeovers > mostTakeovers) {
        markLease(folder, name, { held: false, takeovers: mark.takeovers, quarantinedAt: clock.now() })
        const log = logs.get(name)
        if (log) log.lease = undefined
        throw sessionQuarantined(name)
      }
      if (!logs.has(name) && !existsSync(folder.logPath(name)) && tombstoneOf(folder, name)) throw sessionErased(name)
      const log = logOf(name)
      if (!renews) log.fence = ++fences
      log.takeovers = renews && steady ? 0 : takeovers
      log.lease = { owner, begun: now, until: now + ttlMs, part }
      const news = renews ? log.takeovers !== takeovers : !part
      if (news) markLease(folder, name, { held: true, takeovers: log.takeovers })
      return { fence: log.fence, takeovers: log.takeovers }
    },

    leaseState(name) {
      const { held, takeovers, quarantinedAt } = leaseMark(folder, name)
      const lease = logs.get(name)?.lease
      const now = clock.elapsed()
      const leftMs = lease ? lease.until - now : 0
      const holder = leftMs > 0 ? 'alive' : lease || held ? 'lapsed' : 'none'
      return {
        holder,
        ...(lease && { owner: lease.owner, renewedAt: Math.round(clock.now() + lease.begun - now) }),
        takeovers,
        ...(leftMs > 0 && { until: Math.round(clock.now() + leftMs) }),
        ...(quarantinedAt !== undefined && { quarantinedAt }),
      }
    },

    releaseQuarantine(name) {
      if (leaseMark(folder, name).quarantinedAt === undefined) return false
      markLease(folder, name, { held: false, takeovers: 0 })
      return true
    },

    async release(name, fence) {
      const log = logs.get(name)
      if (log?.fence !== fence) return
      if (log.lease && !log.lease.part) markLease(folder, name, { held: false, takeovers: log.takeovers })
      log.lease = undefined
      await forgetLog(name, log)
    },

    async append(name, entries, { after, fence }, flushed) {
      const log = logs.get(name)
      const isValid = (): boolean => log?.fence === fence && log.lease !== undefined && logs.get(name) === log
      if (!log || !isValid()) throw fenced(name)
      const ids = await (log.ids ??= idsOf(log))
      if (!isValid()) throw fenced(name)
      const tail = tailOf(log)
      const { fresh, known } = planAppend(name, entries, ids, tail, after)
      if (fresh.length > 0) {
        const created = tail === 0
        const texts = fresh.map((entry, n) => writeEntry(entry, tail + n + 1))
        log.file ??= openLines(log.path, repaired)
        log.file.append(created ? [JSON.stringify({ log: name }), ...texts] : texts)
        addFresh(fresh, ids, tail)
        wrote(texts)
        const flush = flushed(log.file, fresh, created)
        if (flush) {
          log.flushing = flush.catch(() => {})
          await flush
        }
      }
      const offset = tail + fresh.length
      return { offset, existing: known.length > 0 ? await stored(log, known) : [] }
    },

    read: (name, after) => entriesOf(() => entryPages(name, after)),

    async remove(name) {
      const log = logs.get(name)
      if (log) {
        log.lease = undefined
        await forgetLog(name, log)
      }
      rmSync(folder.logPath(name), { force: true })
      rmSync(folder.leasePath(name), { force: true })
    },

    async close() {
      for (const [name, log] of logs) await forgetLog(name, log)
    },
  }
}

async function* nothing(): AsyncIterable<never> {}

/** Parses the entries after an offset. A line with another offset is an error. */
function entriesIn(path: string, lines: readonly string[], after: number): readonly Entry[] {
  let entries: readonly Entry[]
  try {
    entries = readEntries(lines)
  } catch (cause) {
    throw damaged(path, cause)
  }
  for (let n = 0; n < entries.length; n++) if (entries[n]?.offset !== after + n + 1) throw damaged(path)
  return entries
}

/** Returns the name of a log from the first line of its file. */
export function nameIn(header: string): string | undefined {
  try {
    const value: unknown = JSON.parse(header)
    return isRecord(value) && typeof value['log'] === 'string' ? value['log'] : undefined
  } catch {
    return undefined
  }
}
