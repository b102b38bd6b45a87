import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

import { checkOptions, ProvostError } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { NewItem, StoredItem } from '../items/item.ts'
import type { MemoryStore, Postings, Shelf, ShelfFilter, RemovedItems } from '../items/memory-store.ts'
import type { VectorMode } from '../items/vector.ts'
import { candidateColumns, candidateOf, columns, rowOf } from './item-row.ts'
import { newerStore, storeClosed, unusable } from './memory-error.ts'
import { sqliteVectors } from './sqlite-vectors.ts'
import { succeed } from './succession.ts'

/** Options of {@link sqliteMemory}. */
export interface SqliteMemoryOptions {
  /** Milliseconds to wait for another process that writes; default 5000. */
  readonly busyMs?: number
  /** What compares embeddings. Default `extension`: sqlite-vec, if that package is installed. */
  readonly vectors?: VectorMode
}

/** Marks a SQLite file as a memory. */
const applicationId = 0x50_52_56_4d
const version = 1

const schema = `
  create table shelves (
    no integer primary key autoincrement, scope text not null, kind text not null, state text not null,
    items integer not null default 0, terms integer not null default 0, unique (scope, kind, state)
  );
  create table items (
    no integer primary key autoincrement, id text not null unique, shelf integer not null, text text not null,
    terms text not null, length integer not null, label text not null, source text not null, at integer not null,
    valid_from integer not null, valid_to integer, key text, superseded_by text, session text, turn integer,
    speaker text, confirmed_by text, replaces text
  );
  create index items_by_shelf on items (shelf, no);
  create index items_by_turn on items (session, turn, shelf) where session is not null;
  create index items_by_key on items (shelf, key) where key is not null;
  create index items_by_successor on items (superseded_by) where superseded_by is not null;
  create table vectors (no integer primary key, model text not null, bytes blob not null);
  -- The stems are made by us, and each carries the number of its shelf: the index only has to find them.
  create virtual table postings using fts5 (terms, content = '', detail = none, columnsize = 0, tokenize = 'ascii');
  insert into postings (postings, rank) values ('secure-delete', 1);
  -- Small pages: the newest of a frequent word stand at the end of one, which is read from its beginning.
  insert into postings (postings, rank) values ('pgsz', 1000);
  -- Few segments: each costs every query a look.
  insert into postings (postings, rank) values ('automerge', 2);`

const newest = 'select rowid from postings where postings match ? order by rowid desc limit ?'
const heldThen = `select p.rowid from postings p cross join items i on i.no = p.rowid where p.postings match ?
  and i.valid_from <= ? and (i.valid_to is null or i.valid_to > ?) order by p.rowid desc limit ?`

const optionKeys = {
  busyMs: true,
  vectors: true,
} satisfies KnownKeys<SqliteMemoryOptions>

/**
 * Keeps a memory in one SQLite file, for the processes of one machine. Removed items are overwritten in the tables, in
 * the index and in the write-ahead log.
 *
 * @param path the path of the file, or `:memory:` for a memory that ends with the process.
 * @throws ProvostError `store-unusable`, `not-a-store`, `newer-store`
 *
 * @example
 * const memory = createMemory({ store: sqliteMemory('data/memory.db') })
 */
export function sqliteMemory(path: string, options: SqliteMemoryOptions = {}): MemoryStore {
  checkOptions(options, optionKeys, 'sqliteMemory')
  const db = open(path, options.busyMs ?? 5_000)
  const statements = new Map<string, StatementSync>()
  let closed = false

  function sql(text: string): StatementSync {
    if (closed) throw storeClosed()
    let statement = statements.get(text)
    if (!statement) {
      statement = db.prepare(text)
      statement.setReturnArrays(true)
      statements.set(text, statement)
    }
    return statement
  }
  // With `setReturnArrays` rows are arrays, which Node's types omit.
  const all = (text: string, ...values: SQLInputValue[]): readonly (readonly unknown[])[] => {
    const found: readonly unknown[] = sql(text).all(...values)
    return found.filter((row) => Array.isArray(row))
  }
  const items = (rest: string, ...values: SQLInputValue[]): readonly StoredItem[] =>
    all(`select ${columns} from items i join shelves s on s.no = i.shelf ${rest}`, ...values).map(rowOf)

  const vectors = sqliteVectors(db, all, options.vectors ?? 'extension')

  function transaction<T>(work: () => T): T {
    sql('begin immediate').run()
    try {
      const result = work()
      sql('commit').run()
      return result
    } catch (error) {
      if (db.isTransaction) sql('rollback').run()
      throw error
    }
  }

  function shelfOf(scope: string, kind: string, state: string): number {
    const find = 'select no from shelves where scope = ? and kind = ? and state = ?'
    const [known] = all(find, scope, kind, state)
    if (known) return Number(known[0])
    sql('insert into shelves (scope, kind, state) values (?, ?, ?)').run(scope, kind, state)
    return Number(all(find, scope, kind, state)[0]?.[0])
  }

  /** Adds an item's words to the index of a shelf, or removes them. */
  function post(no: number, shelf: number, terms: string, sign: 1 | -1): void {
    const words = terms === '' ? [] : terms.split(' ')
    const posted = words.map((term) => `${shelf}x${term}`).join(' ')
    if (sign === 1) sql('insert into postings (rowid, terms) values (?, ?)').run(no, posted)
    else sql(`insert into postings (postings, rowid, terms) values ('delete', ?, ?)`).run(no, posted)
    const count = 'update shelves set items = items + ?, terms = terms + ? where no = ?'
    sql(count).run(sign, sign * words.length, shelf)
  }

  function move(row: StoredItem, state: StoredItem['state']): void {
    post(row.no, shelfOf(row.scope, row.kind, row.state), row.terms, -1)
    const shelf = shelfOf(row.scope, row.kind, state)
    sql('update items set shelf = ? where no = ?').run(shelf, row.no)
    post(row.no, shelf, row.terms, 1)
  }

  function rivalsOf(item: NewItem): readonly StoredItem[] {
    const { replaces } = item
    const named = replaces === undefined ? [] : items(`where i.id = ? and s.state = 'live'`, replaces)
    if (item.key === undefined) return named
    const shelf = shelfOf(item.scope, item.kind, 'live')
    const keyed = items('where i.shelf = ? and i.key = ?', shelf, item.key)
    return [...named, ...keyed.filter(({ id }) => id !== replaces && id !== item.id)]
  }

  function end(ended: ReturnType<typeof succeed>['ended'], rivals: readonly StoredItem[], by: string): void {
    for (const { no, validTo } of ended) {
      const row = rivals.find((rival) => rival.no === no)
      if (row) move(row, 'old')
      sql('update items set valid_to = ?, superseded_by = ? where no = ?').run(validTo, by, no)
    }
  }

  function put(init: NewItem): StoredItem | undefined {
    const [known] = items('where i.id = ?', init.id)
    if (known) return known
    const rivals = rivalsOf(init)
    if (init.replaces !== undefined && !rivals.some(({ id }) => id === init.replaces)) return undefined
    const { item, ended } = succeed(init, rivals)
    end(ended, rivals, item.id)
    const { sessionId = null } = item
    const [last] =
      sessionId === null
        ? []
        : all(
            `select i.turn from items i join shelves s on s.no = i.shelf where i.session = ? and s.scope = ?
              order by i.turn desc limit 1`,
            sessionId,
            item.scope,
          )
    const shelf = shelfOf(item.scope, item.kind, item.state)
    const { lastInsertRowid } = sql(
      `insert into items (id, shelf, text, terms, length, label, source, at, valid_from, valid_to, key, superseded_by,
        session, turn, speaker, confirmed_by, replaces) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      item.id,
      shelf,
      item.text,
      item.terms,
      item.terms === '' ? 0 : item.terms.split(' ').length,
      JSON.stringify(item.label),
      item.source,
      item.at,
      item.validFrom,
      item.validTo ?? null,
      item.key ?? null,
      item.supersededBy ?? null,
      sessionId,
      sessionId === null ? null : Number(last?.[0] ?? 0) + 1,
      item.speaker ?? null,
      item.confirmedBy ?? null,
      item.replaces ?? null,
    )
    post(Number(lastInsertRowid), shelf, item.terms, 1)
    return items('where i.no = ?', lastInsertRowid)[0]
  }

  function confirm(id: string, label: StoredItem['label'], by: string, at: number): StoredItem | undefined {
    const [row] = items(`where i.id = ? and s.state = 'quarantined'`, id)
    if (!row) return undefined
    const rivals = rivalsOf({ ...row, state: 'live' })
    const { item, ended } = succeed({ ...row, state: 'live', label, confirmedBy: by }, rivals)
    end(ended, rivals, id)
    move(row, item.state)
    const set = 'update items set label = ?, confirmed_by = ?, valid_to = ?, superseded_by = ?, at = ? where no = ?'
    sql(set).run(JSON.stringify(label), by, item.validTo ?? null, item.supersededBy ?? null, at, row.no)
    return items('where i.no = ?', row.no)[0]
  }

  function itemsOf(target: RemovedItems): readonly StoredItem[] {
    if ('id' in target) return items('where i.id = ?', target.id)
    return 'scope' in target ? items('where s.scope = ?', target.scope) : items('where i.session = ?', target.session)
  }

  function remove(rows: readonly StoredItem[]): void {
    for (const row of rows) {
      post(row.no, shelfOf(row.scope, row.kind, row.state), row.terms, -1)
      sql('delete from items where no = ?').run(row.no)
      sql('delete from vectors where no = ?').run(row.no)
      // Items that it superseded stay old, but lose the reference to it.
      sql('update items set superseded_by = null where superseded_by = ?').run(row.id)
    }
    sql('delete from shelves where items = 0').run()
  }

  /** Writes back and truncates the write-ahead log, whose pages still contain removed items. */
  function eraseLog(): void {
    sql(`insert into postings (postings) values ('optimize')`).run()
    const [state] = all('pragma wal_checkpoint(truncate)')
    if (path === ':memory:' || Number(state?.[0]) === 0) return
    throw new ProvostError(
      'store-busy',
      `Another process reads the memory ${path}, so traces of forgotten items remain in its write-ahead log.`,
      {
        hint: 'The items are removed. Call forget again, for these or other items, to erase the traces.',
        retryable: true,
      },
    )
  }

  const list = (values: readonly (string | number)[]): string => JSON.stringify(values)
  const onShelves = `s.scope in (select value from json_each(?)) and s.kind in (select value from json_each(?))
    and s.state in (select value from json_each(?))`
  const filterValues = ({ scopes, kinds, states }: ShelfFilter): string[] => [list(scopes), list(kinds), list(states)]

  return {
    put: async (item) => transaction(() => put(item)),
    confirm: async (id, label, by, at) => transaction(() => confirm(id, label, by, at)),
    get: async (id) => items('where i.id = ?', id)[0],

    replacedBy: async (id) => items('where i.superseded_by = ? order by i.no', id),

    list: async ({ key, after, limit, ...filter }) =>
      items(
        `where ${onShelves} and (? is null or i.key = ?)
          and i.no > coalesce((select no from items where id = ?), 0) order by i.no limit ?`,
        ...filterValues(filter),
        key ?? null,
        key ?? null,
        after ?? null,
        limit,
      ),

    async remove(target) {
      let removed = 0
      transaction(() => {
        const doomed = itemsOf(target)
        removed = doomed.length
        remove(doomed)
      })
      eraseLog()
      return removed
    },

    shelves: async (filter) =>
      all(`select s.no, s.items, s.terms, s.scope from shelves s where ${onShelves}`, ...filterValues(filter)).map(
        ([no, count, terms, scope]): Shelf => ({
          no: Number(no),
          items: Number(count),
          terms: Number(terms),
          scope: String(scope),
        }),
      ),

    postings: async (shelves, groups, most, at) =>
      groups.map((group): Postings => {
        const match = shelves.map((no) => `(${group.map((term) => `"${no}x${term}"`).join(' AND ')})`).join(' OR ')
        const [found] =
          all(
            `select group_concat(rowid) from (${at === undefined ? newest : heldThen})`,
            match,
            ...(at === undefined ? [] : [at, at]),
            most + 1,
          )[0] ?? []
        const nos = typeof found === 'string' ? found.split(',').map(Number) : []
        return { nos: nos.slice(0, most), all: nos.length <= most }
      }),

    rows: async (nos) => items('where i.no in (select value from json_each(?))', list(nos)),

    candidates: async (nos, shelves, reach) => {
      const query = `with chosen as materialized (
          select ${candidateColumns} from items i where i.no in (select value from json_each(?)))
        select * from chosen
        union all
        select ${candidateColumns} from chosen c
          cross join items i on i.session = c.session and i.turn between c.turn - ? and c.turn + ? and i.turn <> c.turn
        where i.shelf in (select value from json_each(?))`
      // The query returns a turn between two others twice.
      const found = all(query, list(nos), reach, reach, list(shelves))
      return [...new Map(found.map((row) => [row[0], candidateOf(row)])).values()]
    },

    putVector: async (no, model, vector) => vectors.put(no, model, vector),
    nearest: (query) => vectors.nearest(query),
    comparedBy: () => vectors.comparedBy(),

    async close() {
      if (closed) return
      closed = true
      db.close()
    },
  }
}

function open(path: string, timeout: number): DatabaseSync {
  // Load it on demand: Node 22 prints a warning when it loads.
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite')
  let db: DatabaseSync | undefined
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      // Only the owner may read the file. The files that SQLite creates next to it get the same mode.
      closeSync(openSync(path, 'a', 0o600))
    }
    // Node's permission model forbids extensions, and Deno has none. Elsewhere they are allowed for sqlite-vec only.
    const allowExtension = !('permission' in process) && 'enableLoadExtension' in Database.prototype
    db = new Database(path, { timeout, allowExtension })
    if (allowExtension) db.enableLoadExtension(false)
    db.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on; pragma mmap_size = 268435456',
    )
    prepare(db, path)
    return db
  } catch (error) {
    db?.close()
    throw unusable(path, error)
  }
}

function prepare(db: DatabaseSync, path: string): void {
  const pragma = (name: string): number => Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0])
  db.exec('begin immediate')
  try {
    if (pragma('application_id') !== applicationId) {
      if (db.prepare('select 1 from sqlite_master limit 1').get()) {
        throw new ProvostError('not-a-store', `${path} is the database of another application.`, {
          hint: 'Give the memory a file of its own.',
        })
      }
      db.exec(`pragma application_id = ${applicationId}; pragma user_version = ${version}; ${schema}`)
    }
    if (pragma('user_version') > version) throw newerStore(path, pragma('user_version'), version)
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}
