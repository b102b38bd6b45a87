import { isRecord, toErrorInfo } from '@provost/core'

import type { NearestItem, NearestQuery, VectorEngine } from '../items/memory-store.ts'
import { fromBytes, mostCompared, nearestOf, nearOf, toBytes, warnOfExtension } from '../items/vector.ts'
import type { VectorMode } from '../items/vector.ts'
import type { PostgresLink, Query, Tables } from './postgres-connection.ts'

/** The embeddings of a PostgreSQL memory. */
export interface PostgresVectors {
  put(no: number, model: string, vector: Float32Array): Promise<void>
  nearest(query: NearestQuery): Promise<readonly NearestItem[]>
  comparedBy(): Promise<VectorEngine>
}

/** Embeddings stored as bytes that are converted to vectors at a time. */
const portion = 500

/**
 * Keeps embeddings as pgvector values if the database has that extension, else as bytes. After the extension is installed,
 * the next process that connects converts the bytes.
 */
export function postgresVectors(link: PostgresLink, t: Tables, mode: VectorMode): PostgresVectors {
  let preparing: Promise<string | undefined> | undefined
  /** The schema of the extension, quoted; undefined where it is not used. */
  const extension = async (): Promise<string | undefined> => {
    preparing ??= mode === 'extension' ? prepare(link, t) : Promise.resolve(undefined)
    try {
      return await preparing
    } catch (error) {
      // Reset, so that the next call tries again.
      preparing = undefined
      throw error
    }
  }
  const stored = `from ${t.vectors} v join ${t.items} i on i.no = v.no
    where v.model = $1 and i.shelf = any($2) and i.valid_from <= $3 and (i.valid_to is null or i.valid_to > $3)`

  return {
    async put(no, model, vector) {
      const schema = await extension()
      const [column, value] = schema === undefined ? ['bytes', bytesOf(vector)] : ['embedding', textOf(vector)]
      await link.transaction(async (query) => {
        // Skip an item that was forgotten while its embedding was computed.
        const [item] = await query(`select no from ${t.items} where no = $1 for key share`, no)
        await query(`delete from ${t.vectors} where no = $1`, no)
        const insert = `insert into ${t.vectors} (no, model, ${column}) values ($1, $2, $3)`
        if (item) await query(insert, no, model, value)
      })
    },

    async nearest({ shelves, model, vector, at, limit }) {
      const schema = await extension()
      const on = [model, [...shelves], at]
      if (schema !== undefined) {
        const query = `select v.no, v.embedding operator(${schema}.<=>) $4::${schema}.vector as distance ${stored}
          and ${schema}.vector_dims(v.embedding) = $5 order by distance, v.no desc limit $6`
        return (await link.query(query, ...on, textOf(vector), vector.length, limit)).map(nearOf)
      }
      const query = `select v.no, v.bytes ${stored} and v.bytes is not null order by v.no desc limit ${mostCompared}`
      return nearestOf(
        (await link.query(query, ...on)).map(([no, kept]) => [Number(no), bytesIn(kept)] as const),
        vector,
        limit,
      )
    },

    comparedBy: async () => ((await extension()) === undefined ? 'process' : 'pgvector'),
  }
}

async function prepare(link: PostgresLink, t: Tables): Promise<string | undefined> {
  const installed = `select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector'`
  const [found] = await link.query(installed)
  if (!found) return undefined
  const schema = String(found[0])
  const there = `select 1 from pg_attribute where attrelid = $1::regclass and attname = 'embedding' and not attisdropped`
  try {
    await link.transaction(async (query) => {
      await query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, `${t.vectors} extension`)
      if ((await query(there, t.vectors)).length === 0)
        await query(`alter table ${t.vectors} add column embedding ${schema}.vector`)
      while (await convert(query, t, schema));
    })
    return schema
  } catch (error) {
    if (isRecord(error) && error['code'] === 'store-unreachable') throw error
    warnOfExtension('pgvector', toErrorInfo(error))
    return undefined
  }
}

/** Converts one portion. Returns whether more may be left. */
async function convert(query: Query, t: Tables, schema: string): Promise<boolean> {
  const rows = await query(`select no, bytes from ${t.vectors} where embedding is null limit ${portion}`)
  const values = rows.map(([, bytes]) => textOf(fromBytes(bytesIn(bytes))))
  const set = `update ${t.vectors} v set embedding = x.value::${schema}.vector, bytes = null
    from unnest($1::bigint[], $2::text[]) x (no, value) where v.no = x.no`
  if (rows.length > 0)
    await query(
      set,
      rows.map(([no]) => no),
      values,
    )
  return rows.length === portion
}

function bytesOf(vector: Float32Array): Buffer {
  return Buffer.from(toBytes(vector))
}

function bytesIn(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array()
}

/** Returns a vector in the text format of pgvector. */
function textOf(vector: Float32Array): string {
  return `[${vector.join(',')}]`
}
