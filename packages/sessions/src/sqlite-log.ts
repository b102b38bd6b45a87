import type { AppendPosition, Appended, Entry, Lease, NewEntry } from '@provost/core'
import { ProvostError } from '@provost/core'

import { forget, planAppend } from './append-plan.ts'
import { hashesIn } from './blob-mentions.ts'
import { readEntry, writeEntry } from './entry-text.ts'
import { nameKey } from './name-key.ts'
import { runChange } from './session-info.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { logSpan } from './sqlite-schema.ts'
import { fenced } from './store-error.ts'

/** A log that this handle may write. While the fence stands nobody else has written it: what is known of it holds. */
interface Held {
  readonly no: number
  readonly fence: number
  tail: number
  /** Ids of all entries, with their offsets; undefined until they are needed or came by. */
  ids: Map<string, number> | undefined
}

/** The logs of a database and the right to write them. */
export interface SqliteLogs {
  lease(name: string, owner: string, ttlMs: number): Lease | 'busy'
  release(name: string, fence: number): void
  append(name: string, entries: readonly NewEntry[], at: AppendPosition): Appended
  read(name: string, after: number): AsyncIterable<Entry>
  /** Forgets what is known of a log. */
  drop(name: string): void
}

/** Rows that one statement inserts; a longer append is several in a transaction. */
const batchSize = 8
const pageSize = 256
const pagesInARow = 16
/** A log whose lease was given back has no fence. */
const held = '(select fence from logs where no = ?) = ?'
const insertOne = `insert into entries (place, body) select ?, ? where ${held}`

/**
 * @param alive throws when the store is closed.
 * @param forced whether these entries have to be on the disk before the append is answered.
 */
export function sqliteLogs(
  file: SqliteFile,
  alive: () => void,
  forced: (entries: readonly NewEntry[]) => boolean,
): SqliteLogs {
  const { sql, transaction, durably } = file
  const leased = new Map<string, Held>()
  const inserts = Array.from({ length: batchSize }, (_, n) => {
    const values = Array.from({ length: n + 1 }, () => '(?, ?)').join(', ')
    return `insert into entries (place, body) select * from (values ${values}) where ${held}`
  })

  function tailOf(no: number): number {
    const [place] =
      row(sql('select max(place) from entries where place between ? and ?'), no * logSpan, (no + 1) * logSpan - 1) ?? []
    return place === null || place === undefined ? 0 : Number(place) - no * logSpan
  }

  function hold(name: string, no: number, fence: number): Held {
    const log: Held = { no, fence, tail: tailOf(no), ids: undefined }
    leased.set(name, log)
    return log
  }

  /** A lease that was taken through another handle counts as well. */
  function heldLog(name: string, fence: number): Held {
    const known = leased.get(name)
    if (known?.fence === fence) return known
    const [no] = row(sql('select no from logs where key = ? and fence = ?'), nameKey(name), fence) ?? []
    if (no === undefined) throw fenced(name)
    return hold(name, Number(no), fence)
  }

  function idsOf(log: Held): Map<string, number> {
    if (log.ids) return log.ids
    const ids = new Map<string, number>()
    const base = log.no * logSpan
    // Of a log that was read before it is written they are known already; an index would cost every append.
    for (let from = base; from < base + log.tail; from += pageSize) {
      const to = Math.min(from + pageSize, base + log.tail)
      for (const [body] of rows(sql('select body from entries where place > ? and place <= ?'), from, to)) {
        const { id, offset } = readEntry(String(body))
        ids.set(id, offset)
      }
    }
    log.ids = ids
    return ids
  }

  function insert(log: Held, texts: readonly string[], from: number, count: number): boolean {
    if (count === 1) {
      const place = log.no * logSpan + log.tail + 1 + from
      return sql(insertOne).run(place, texts[from] ?? '', log.no, log.fence).changes === 1
    }
    const values: (string | number)[] = []
    const base = log.no * logSpan + log.tail + 1
    for (let n = from; n < from + count; n++) {
      values.push(base + n, texts[n] ?? '')
    }
    return sql(inserts[count - 1] ?? '').run(...values, log.no, log.fence).changes === count
  }

  /** The blobs that a text mentions. Any hash looks like one: the store knows which are. */
  function blobsIn(texts: readonly string[]): readonly string[] {
    const found: string[] = []
    for (const text of texts) {
      for (const hash of hashesIn(text)) if (row(sql('select 1 from blobs where hash = ?'), hash)) found.push(hash)
    }
    return found
  }

  /** @returns false when the fence is not the log's any more: nothing was written then. */
  function write(name: string, log: Held, entries: readonly NewEntry[]): boolean {
    if (log.tail + entries.length >= logSpan) throw full(logSpan)
    const texts = entries.map((entry, n) => writeEntry(entry, log.tail + n + 1))
    const change = runChange(entries)
    const mentioned = blobsIn(texts)
    if (!change && mentioned.length === 0 && entries.length <= batchSize) {
      return insert(log, texts, 0, texts.length)
    }
    return transaction(() => {
      for (let n = 0; n < entries.length; n += batchSize) {
        // The fence cannot change within the transaction: if the first are refused, nothing has been written.
        if (!insert(log, texts, n, Math.min(batchSize, entries.length - n))) return false
      }
      for (const hash of mentioned)
        sql('insert or replace into mentions values (?, ?, ?)').run(hash, log.no, Date.now())
      if (change) {
        const { started: origin, status } = change
        if (origin) {
          sql('update logs set kind = ?, origin = ?, principal = ? where no = ? and kind is null').run(
            origin.child ? 'child' : 'session',
            JSON.stringify({ id: name, ...origin }),
            origin.principal === undefined ? null : nameKey(origin.principal),
            log.no,
          )
        }
        sql('update logs set status = ? where no = ?').run(status, log.no)
      }
      return true
    })
  }

  function lease(name: string, owner: string, ttlMs: number): Lease | 'busy' {
    const key = nameKey(name)
    const now = Date.now()
    const until = Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER)
    const [renewed] =
      row(sql('update logs set until = ? where key = ? and owner = ? returning fence'), until, key, owner) ?? []
    if (renewed !== undefined) return { fence: Number(renewed) }
    return transaction(() => {
      const [busy] = row(sql('select 1 from logs where key = ? and owner is not null and until > ?'), key, now) ?? []
      if (busy !== undefined) return 'busy'
      const [fence] = row(sql('update fences set last = last + 1 returning last')) ?? []
      const [no] =
        row(
          sql(
            `insert into logs (key, fence, owner, until) values (?, ?, ?, ?)
             on conflict (key) do update set fence = excluded.fence, owner = excluded.owner, until = excluded.until
             returning no`,
          ),
          key,
          Number(fence),
          owner,
          until,
        ) ?? []
      hold(name, Number(no), Number(fence))
      return { fence: Number(fence) }
    })
  }

  return {
    lease,

    release(name, fence) {
      sql('update logs set owner = null, fence = null where key = ? and fence = ?').run(nameKey(name), fence)
      if (leased.get(name)?.fence === fence) leased.delete(name)
    },

    append(name, entries, { after, fence }) {
      const log = heldLog(name, fence)
      const ids = idsOf(log)
      const { fresh, known } = planAppend(name, entries, ids, log.tail, after)
      let stands: boolean
      try {
        if (fresh.length === 0) stands = row(sql(`select ${held}`), log.no, fence)?.[0] === 1
        else stands = forced(fresh) ? durably(() => write(name, log, fresh)) : write(name, log, fresh)
      } catch (error) {
        forget(fresh, ids)
        throw error
      }
      if (!stands) {
        leased.delete(name)
        throw fenced(name)
      }
      log.tail += fresh.length
      const existing = known.map((offset) => {
        const [body] = row(sql('select body from entries where place = ?'), log.no * logSpan + offset) ?? []
        return readEntry(String(body))
      })
      return { offset: log.tail, existing }
    },

    async *read(name, after) {
      alive()
      const [number] = row(sql('select no from logs where key = ?'), nameKey(name)) ?? []
      if (number === undefined) return
      const no = Number(number)
      const base = no * logSpan
      const end = base + tailOf(no)
      const writing = leased.get(name)
      // Whoever is about to write reads the log first: its ids come by here, and need not be fetched a second time.
      const ids = after === 0 && writing && !writing.ids ? new Map<string, number>() : undefined
      const page = sql('select place, body from entries where place > ? and place <= ? order by place limit ?')
      let place = base + Math.max(0, after)
      for (let pages = 1; place < end; pages++) {
        const found = rows(page, place, end, pageSize)
        if (found.length === 0) return
        for (const [at, body] of found) {
          const entry = readEntry(String(body))
          ids?.set(entry.id, entry.offset)
          place = Number(at)
          yield entry
        }
        // A long log does not keep the rest of the process waiting.
        if (pages % pagesInARow === 0) await new Promise(setImmediate)
      }
      if (ids && writing && leased.get(name) === writing && writing.tail === ids.size) writing.ids ??= ids
    },

    drop: (name) => void leased.delete(name),
  }
}

type Value = string | number | bigint | null | Uint8Array
type Statement = ReturnType<SqliteFile['sql']>

/** Rows as arrays: how the statements of a {@link SqliteFile} give them; their types cannot say so. */
export function rows(statement: Statement, ...values: readonly Value[]): readonly (readonly Value[])[] {
  const found: unknown = statement.all(...values)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- setReturnArrays was called, and these are its values.
  return found as readonly (readonly Value[])[]
}

export function row(statement: Statement, ...values: readonly Value[]): readonly Value[] | undefined {
  const found: unknown = statement.get(...values)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- setReturnArrays was called, and these are its values.
  return found as readonly Value[] | undefined
}

function full(span: number): ProvostError {
  return new ProvostError('log-full', `A log holds up to ${span - 1} entries.`, { hint: 'Go on in a new session.' })
}
