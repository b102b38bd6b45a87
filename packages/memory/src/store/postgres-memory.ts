import { checkOptions } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { NewItem, StoredItem } from '../items/item.ts'
import type { MemoryStore, Postings, Shelf, ShelfFilter } from '../items/memory-store.ts'
import type { VectorMode } from '../items/vector.ts'
import { candidateColumns, candidateOf, columns, rowOf } from './item-row.ts'
import { postgresLink, tables } from './postgres-connection.ts'
import type { Query } from './postgres-connection.ts'
import { postgresVectors } from './postgres-vectors.ts'
import { succeed } from './succession.ts'

/** Options of {@link postgresMemory}. */
export interface PostgresMemoryOptions {
  /** The schema of its tables; default `provost_memory`. Created at the first use if the role has the permission. */
  readonly schema?: string
  /** Connections at most; default 5. */
  readonly connections?: number
  /** What compares embeddings. Default `extension`: pgvector, if the database has it (`create extension vector`). */
  readonly vectors?: VectorMode
}

const optionKeys = {
  schema: true,
  connections: true,
  vectors: true,
} satisfies KnownKeys<PostgresMemoryOptions>

/**
 * Keeps a memory in PostgreSQL (14 or later), for any number of processes. Connects at the first use. Needs the package
 * `pg`. Removed rows are vacuumed at once. The server's own write-ahead log and backups keep them.
 *
 * @param url as `postgres://user:password@host:5432/database`.
 * @throws ProvostError from its methods: `missing-package`, `store-unreachable`, `newer-store`
 */
export function postgresMemory(url: string, options: PostgresMemoryOptions = {}): MemoryStore {
  checkOptions(options, optionKeys, 'postgresMemory')
  const { schema = 'provost_memory', connections = 5 } = options
  const link = postgresLink(url, schema, connections)
  const t = tables(schema)
  const vectors = postgresVectors(link, t, options.vectors ?? 'extension')
  const from = `from ${t.items} i join ${t.shelves} s on s.no = i.shelf`

  const items = async (query: Query, rest: string, ...values: readonly unknown[]): Promise<readonly StoredItem[]> =>
    (await query(`select ${columns} ${from} ${rest}`, ...values)).map(rowOf)

  /** Serialises the changes of one scope, so that turn numbers and keys stay unique. */
  const changing = <T>(scope: string, work: (query: Query) => Promise<T>): Promise<T> =>
    link.transaction(async (query) => {
      await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', `${schema} ${scope}`)
      return work(query)
    })

  /** Adds an item to the counts of its shelf, or removes it. Returns the shelf's number. */
  async function count(query: Query, { scope, kind, state, terms }: NewItem, sign: 1 | -1): Promise<number> {
    const insert = `insert into ${t.shelves} as s (scope, kind, state, items, terms) values ($1, $2, $3, $4, $5)
      on conflict (scope, kind, state)
      do update set items = s.items + excluded.items, terms = s.terms + excluded.terms returning no`
    return Number((await query(insert, scope, kind, state, sign, sign * wordsOf(terms).length))[0]?.[0])
  }

  async function move(query: Query, row: StoredItem, state: StoredItem['state']): Promise<void> {
    await count(query, row, -1)
    const shelf = await count(query, { ...row, state }, 1)
    const set = `update ${t.items} set shelf = $2, posted = array_to_tsvector($3::text[]) where no = $1`
    await query(set, row.no, shelf, posted(shelf, row.terms))
  }

  async function rivalsOf(query: Query, item: NewItem): Promise<readonly StoredItem[]> {
    const { replaces } = item
    const named = replaces === undefined ? [] : await items(query, `where i.id = $1 and s.state = 'live'`, replaces)
    if (item.key === undefined) return named
    const where = `where s.scope = $1 and s.kind = $2 and s.state = 'live' and i.key = $3`
    const keyed = await items(query, where, item.scope, item.kind, item.key)
    return [...named, ...keyed.filter(({ id }) => id !== replaces && id !== item.id)]
  }

  async function end(
    query: Query,
    ended: ReturnType<typeof succeed>['ended'],
    rivals: readonly StoredItem[],
    by: string,
  ): Promise<void> {
    for (const { no, validTo } of ended) {
      const row = rivals.find((rival) => rival.no === no)
      if (row) await move(query, row, 'old')
      await query(`update ${t.items} set valid_to = $2, superseded_by = $3 where no = $1`, no, validTo, by)
    }
  }

  async function put(query: Query, init: NewItem): Promise<StoredItem | undefined> {
    const [known] = await items(query, 'where i.id = $1', init.id)
    if (known) return known
    const rivals = await rivalsOf(query, init)
    if (init.replaces !== undefined && !rivals.some(({ id }) => id === init.replaces)) return undefined
    const { item, ended } = succeed(init, rivals)
    await end(query, ended, rivals, item.id)
    const shelf = await count(query, item, 1)
    const [[no, turn] = []] = await query(
      `insert into ${t.items} (id, shelf, text, terms, label, source, at, valid_from, valid_to, key, superseded_by,
        session, turn, speaker, confirmed_by, replaces, posted)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, case when $12::text is not null then
          (select coalesce(max(i.turn), 0) + 1 ${from} where i.session = $12 and s.scope = $13) end,
        $14, $15, $16, array_to_tsvector($17::text[])) returning no, turn`,
      item.id,
      shelf,
      item.text,
      item.terms,
      JSON.stringify(item.label),
      item.source,
      item.at,
      item.validFrom,
      item.validTo ?? null,
      item.key ?? null,
      item.supersededBy ?? null,
      item.sessionId ?? null,
      item.scope,
      item.speaker ?? null,
      item.confirmedBy ?? null,
      item.replaces ?? null,
      posted(shelf, item.terms),
    )
    return { ...item, no: Number(no), ...(typeof turn === 'number' && { turn }) }
  }

  async function confirm(
    query: Query,
    id: string,
    label: StoredItem['label'],
    by: string,
    at: number,
  ): Promise<StoredItem | undefined> {
    const [row] = await items(query, `where i.id = $1 and s.state = 'quarantined'`, id)
    if (!row) return undefined
    const rivals = await rivalsOf(query, { ...row, state: 'live' })
    const { item, ended } = succeed({ ...row, state: 'live', label, confirmedBy: by }, rivals)
    await end(query, ended, rivals, id)
    await move(query, row, item.state)
    const set = `update ${t.items} set label = $2, confirmed_by = $3, valid_to = $4, superseded_by = $5, at = $6 where no = $1`
    await query(set, row.no, JSON.stringify(label), by, item.validTo ?? null, item.supersededBy ?? null, at)
    return (await items(query, 'where i.no = $1', row.no))[0]
  }

  async function remove(query: Query, rows: readonly StoredItem[]): Promise<void> {
    const nos = rows.map(({ no }) => no)
    for (const row of rows) await count(query, row, -1)
    await query(`delete from ${t.items} where no = any($1)`, nos)
    await query(`delete from ${t.vectors} where no = any($1)`, nos)
    // Items that it superseded stay old, but lose the reference to it.
    const ids = rows.map(({ id }) => id)
    await query(`update ${t.items} set superseded_by = null where superseded_by = any($1)`, ids)
    const scopes = rows.map(({ scope }) => scope)
    await query(`delete from ${t.shelves} where items = 0 and scope = any($1)`, scopes)
  }

  const onShelves = `s.scope = any($1) and s.kind = any($2) and s.state = any($3)`
  const filterValues = ({ scopes, kinds, states }: ShelfFilter): unknown[] => [[...scopes], [...kinds], [...states]]

  return {
    put: (item) => changing(item.scope, (query) => put(query, item)),

    async confirm(id, label, by, at) {
      const [row] = await items(link.query, 'where i.id = $1', id)
      return row && changing(row.scope, (query) => confirm(query, id, label, by, at))
    },

    get: async (id) => (await items(link.query, 'where i.id = $1', id))[0],

    replacedBy: (id) => items(link.query, 'where i.superseded_by = $1 order by i.no', id),

    list: ({ key, after, limit, ...filter }) =>
      items(
        link.query,
        `where ${onShelves} and ($4::text is null or i.key = $4)
          and i.no > coalesce((select no from ${t.items} where id = $5), 0) order by i.no limit $6`,
        ...filterValues(filter),
        key ?? null,
        after ?? null,
        limit,
      ),

    async remove(target) {
      const [column, of] =
        'id' in target
          ? ['i.id', target.id]
          : 'scope' in target
            ? ['s.scope', target.scope]
            : ['i.session', target.session]
      const where = `where ${column} = $1`
      let removed = 0
      // One scope changes at a time; the items of a session may be in several.
      for (;;) {
        const [first] = await items(link.query, `${where} limit 1`, of)
        if (!first) break
        removed += await changing(first.scope, async (query) => {
          const doomed = await items(query, `${where} and s.scope = $2`, of, first.scope)
          await remove(query, doomed)
          return doomed.length
        })
      }
      if (removed === 0) return 0
      // Vacuum removes the words of deleted rows from the tables and indexes.
      await link.query(`vacuum ${t.items}, ${t.vectors}, ${t.shelves}`)
      return removed
    },

    shelves: async (filter) =>
      (
        await link.query(
          `select s.no, s.items, s.terms, s.scope from ${t.shelves} s where ${onShelves}`,
          ...filterValues(filter),
        )
      ).map(([no, number, terms, scope]): Shelf => ({
        no: Number(no),
        items: Number(number),
        terms: Number(terms),
        scope: String(scope),
      })),

    postings: async (shelves, groups, most, at) => {
      if (shelves.length === 0 || groups.length === 0) return []
      const held = at === undefined ? '' : `and valid_from <= ${at} and (valid_to is null or valid_to > ${at})`
      // Terms contain letters and digits only, so that no text becomes SQL. Each group has a separate query: PostgreSQL
      // then scans the newest items for a frequent word and uses the index for a rare one.
      const parts = groups.map((group) => {
        const match = shelves.map((no) => `(${group.map((term) => `''${no}x${term}''`).join(' & ')})`).join(' | ')
        return `select array_to_string(array(select no from ${t.items} where posted @@ '${match}'::tsquery ${held}
          order by no desc limit ${most + 1}), ',')`
      })
      const rows = await link.inMemory(parts.join(' union all '))
      return rows.map(([found]): Postings => {
        const nos = typeof found === 'string' && found !== '' ? found.split(',').map(Number) : []
        return { nos: nos.slice(0, most), all: nos.length <= most }
      })
    },

    rows: (nos) => items(link.query, 'where i.no = any($1)', [...nos]),

    candidates: async (nos, shelves, reach) => {
      const query = `with chosen as materialized (select ${candidateColumns} from ${t.items} i where i.no = any($1))
        select * from chosen
        union all
        select ${candidateColumns} from chosen c cross join generate_series(-$3::int, $3::int) as near (step)
          join ${t.items} i on i.session = c.session and i.turn = c.turn + near.step
        where near.step <> 0 and i.shelf = any($2)`
      const rows = await link.query(query, [...nos], [...shelves], reach)
      // The query returns a turn between two others twice.
      return [...new Map(rows.map((row) => [row[0], candidateOf(row)])).values()]
    },

    putVector: (no, model, vector) => vectors.put(no, model, vector),
    nearest: (query) => vectors.nearest(query),
    comparedBy: () => vectors.comparedBy(),

    close: () => link.close(),
  }
}

function wordsOf(terms: string): readonly string[] {
  return terms === '' ? [] : terms.split(' ')
}

/** Returns the index terms of an item: each word with the number of its shelf. */
function posted(shelf: number, terms: string): readonly string[] {
  return [...new Set(wordsOf(terms).map((term) => `${shelf}x${term}`))]
}
