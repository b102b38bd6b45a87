import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

import { isRecord } from '@provost/core'

import type { NearestItem, NearestQuery, VectorEngine } from '../items/memory-store.ts'
import { mostCompared, nearestOf, nearOf, toBytes, warnOfExtension } from '../items/vector.ts'
import type { VectorMode } from '../items/vector.ts'

type Rows = (text: string, ...values: SQLInputValue[]) => readonly (readonly unknown[])[]

/** The embeddings of a SQLite memory. */
export interface SqliteVectors {
  put(no: number, model: string, vector: Float32Array): void
  nearest(query: NearestQuery): Promise<readonly NearestItem[]>
  comparedBy(): Promise<VectorEngine>
}

// Read from the items of the shelves to their vectors, so that other shelves cost nothing.
const stored = `from items i cross join vectors v on v.no = i.no
  where i.shelf in (select value from json_each(?)) and v.model = ?
    and i.valid_from <= ? and (i.valid_to is null or i.valid_to > ?)`

/**
 * Keeps embeddings as bytes next to the items, so that any SQLite client can read and delete them. Compares them with
 * sqlite-vec if that package is installed; the first comparison loads it.
 */
export function sqliteVectors(db: DatabaseSync, rows: Rows, mode: VectorMode): SqliteVectors {
  let loading: Promise<boolean> | undefined
  const extended = (): Promise<boolean> => (loading ??= mode === 'extension' ? load(db) : Promise.resolve(false))

  return {
    // Skip an item that was forgotten while its embedding was computed.
    put: (no, model, vector) =>
      void rows(
        'insert or replace into vectors select ?, ?, ? where exists (select 1 from items where no = ?)',
        no,
        model,
        toBytes(vector),
        no,
      ),

    async nearest({ shelves, model, vector, at, limit }) {
      const on = [JSON.stringify(shelves), model, at, at] as const
      const bytes = toBytes(vector)
      if (await extended()) {
        const query = `select v.no, vec_distance_cosine(v.bytes, ?) as distance ${stored}
          and length(v.bytes) = length(?) order by distance is null, distance, v.no desc limit ?`
        return rows(query, bytes, ...on, bytes, limit).map(nearOf)
      }
      const found = rows(`select v.no, v.bytes ${stored} order by v.no desc limit ${mostCompared}`, ...on)
      return nearestOf(
        found.map(([no, kept]) => [Number(no), kept instanceof Uint8Array ? kept : new Uint8Array()] as const),
        vector,
        limit,
      )
    },

    comparedBy: async () => ((await extended()) ? 'sqlite-vec' : 'process'),
  }
}

async function load(db: DatabaseSync): Promise<boolean> {
  let extension: typeof import('sqlite-vec')
  try {
    extension = await import('sqlite-vec')
  } catch (error) {
    if (isRecord(error) && error['code'] === 'ERR_MODULE_NOT_FOUND') return false
    warnOfExtension('sqlite-vec', error)
    return false
  }
  try {
    db.enableLoadExtension(true)
    extension.load(db)
    db.enableLoadExtension(false)
    return true
  } catch (error) {
    if (db.isOpen) warnOfExtension('sqlite-vec', error)
    return false
  }
}
