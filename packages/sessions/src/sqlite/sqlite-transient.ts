import type { TransientBuffer, TransientPiece } from '@provost/core'

import { addTransient } from '../kit/transient-size.ts'
import { nameKey } from '../text/name-key.ts'
import { tombstoneOf } from './sqlite-erasure.ts'
import type { SqliteFile } from './sqlite-file.ts'
import { row, rows } from './sqlite-row.ts'

/** Size of a log's pieces. `count` and `length` are running totals: the last piece less those before the first. */
const headSql = `select
  (select count from passing where log = ? order by at desc, first desc limit 1),
  (select length from passing where log = ? order by at desc, first desc limit 1),
  (select count - 1 from passing where log = ? order by at, first limit 1),
  (select length - length(body) from passing where log = ? order by at, first limit 1)`

/**
 * Returns the buffer of transient events, in a table beside the logs.
 *
 * @param run runs the work and returns a promise.
 */
export function sqliteTransient(file: SqliteFile, run: <T>(work: () => T) => Promise<T>): TransientBuffer {
  const { db, sql, transaction } = file
  function keepOne(piece: TransientPiece): boolean {
    const { log, offset, from, to, body } = piece
    const key = nameKey(log)
    const [count = 0, length = 0, countBefore = 0, lengthBefore = 0] = (
      row(sql(headSql), key, key, key, key) ?? []
    ).map(Number)
    if (!addTransient({ count: count - countBefore, length: length - lengthBefore }, piece)) return false
    sql('insert or ignore into passing values (?, ?, ?, ?, ?, ?, ?)').run(
      key,
      offset,
      from,
      to,
      count + 1,
      length + body.length,
      body,
    )
    return true
  }

  return {
    keep: (pieces) =>
      run(() => {
        const full = new Set<string>()
        const keepAll = (): void => {
          for (const log of new Set(pieces.map((piece) => piece.log))) if (tombstoneOf(file, log)) full.add(log)
          for (const piece of pieces) if (!full.has(piece.log) && !keepOne(piece)) full.add(piece.log)
        }
        if (pieces.length > 0) transaction(keepAll)
        return [...full]
      }),

    read: (log, offset) =>
      run(() => {
        const page = sql('select at, first, last, body from passing where log = ? and at >= ? order by at, first')
        return rows(page, nameKey(log), offset).map(([at, from, to, body]) => ({
          log,
          offset: Number(at),
          from: Number(from),
          to: Number(to),
          body: String(body),
        }))
      }),

    drop: (places) =>
      run(() => {
        if (places.length === 0) return
        // Overwrites the text, so that deleting the session leaves no copy beside the log.
        db.exec('pragma secure_delete = on')
        try {
          transaction(() => {
            for (const { log, offset } of places) {
              sql('delete from passing where log = ? and at < ?').run(nameKey(log), offset)
            }
          })
        } finally {
          db.exec('pragma secure_delete = off')
        }
      }),
  }
}
