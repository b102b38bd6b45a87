import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { findPostgres, startPostgres } from '@provost/testing'
import { Pool } from 'pg'
import { jsonlStore, memoryStore } from 'provost'
import type { Entry } from 'provost'
import { postgresStore } from 'provost/postgres'
import { sqliteStore } from 'provost/sqlite'

import { storeSide } from './side.ts'
import type { Contender, Side } from './side.ts'

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'provost-bench-'))
}

const end = async (): Promise<void> => {}

const memory: Contender = {
  name: 'memory',
  async open() {
    const store = memoryStore()
    let kept: Entry[] = []
    const hand: Side = {
      async begin() {
        const list: Entry[] = []
        return {
          async append(entries) {
            for (const entry of entries) list.push(entry)
          },
          end,
        }
      },
      async fill(entries) {
        kept = [...entries]
      },
      async read() {
        let count = 0
        for (const { offset } of kept) if (offset > 0) count++
        return count
      },
    }
    return { store: storeSide(store), hand, close: () => store.close() }
  },
}

const jsonl: Contender = {
  name: 'jsonl',
  async open() {
    const folder = newFolder()
    const store = jsonlStore(join(folder, 'store'))
    let files = 0
    const path = join(folder, 'hand.jsonl')
    const hand: Side = {
      async begin() {
        const file = openSync(join(folder, `hand-${++files}.jsonl`), 'a')
        return {
          async append(entries) {
            for (const entry of entries) writeSync(file, `${JSON.stringify(entry)}\n`)
          },
          end: async () => closeSync(file),
        }
      },
      async fill(entries) {
        for (const entry of entries) appendFileSync(path, `${JSON.stringify(entry)}\n`)
      },
      async read() {
        const lines = readFileSync(path, 'utf8').split('\n')
        lines.pop()
        return lines.map((line): Entry => JSON.parse(line)).length
      },
    }
    return {
      store: storeSide(store),
      hand,
      async close() {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

/** The other side of the store's promise: nothing but rows with a number, and the same care for the disk. */
const sqlite: Contender = {
  name: 'sqlite',
  async open() {
    const folder = newFolder()
    const store = sqliteStore(join(folder, 'store.db'))
    const db = new DatabaseSync(join(folder, 'hand.db'))
    db.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 4000')
    db.exec(
      'create table rows (no integer primary key, body text); create table long (no integer primary key, body text)',
    )
    const insert = db.prepare('insert into rows (body) values (?)')
    const hand: Side = {
      begin: async () => ({
        async append(entries) {
          for (const entry of entries) insert.run(JSON.stringify(entry))
        },
        end,
      }),
      async fill(entries) {
        const statement = db.prepare('insert into long (body) values (?)')
        db.exec('begin')
        for (const entry of entries) statement.run(JSON.stringify(entry))
        db.exec('commit')
      },
      async read() {
        const rows = db.prepare('select body from long order by no').all()
        return rows.map(({ body }): Entry => JSON.parse(String(body))).length
      },
    }
    return {
      store: storeSide(store),
      hand,
      async close() {
        await store.close()
        db.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

const postgres: Contender = {
  name: 'postgres',
  async open() {
    const server = await startPostgres()
    const store = postgresStore(server.url)
    const pool = new Pool({ connectionString: server.url, max: 1 })
    await pool.query('create table rows (no bigserial primary key, body text)')
    await pool.query('create table long (no bigserial primary key, body text)')
    const hand: Side = {
      begin: async () => ({
        async append(entries) {
          const [name, text] = ['insert', 'insert into rows (body) values ($1)']
          for (const entry of entries) await pool.query({ name, text, values: [JSON.stringify(entry)] })
        },
        end,
      }),
      async fill(entries) {
        const text = "insert into long (body) select unnest(string_to_array($1, E'\\n'))"
        await pool.query(text, [entries.map((entry) => JSON.stringify(entry)).join('\n')])
      },
      async read() {
        const { rows } = await pool.query<{ body: string }>('select body from long order by no')
        return rows.map(({ body }): Entry => JSON.parse(body)).length
      },
    }
    return {
      store: storeSide(store),
      hand,
      async close() {
        await store.close()
        await pool.end()
        await server.stop()
      },
    }
  },
}

/** All that can run on this machine. */
export const contenders: readonly Contender[] = [
  memory,
  jsonl,
  sqlite,
  ...(findPostgres() === undefined ? [] : [postgres]),
]
