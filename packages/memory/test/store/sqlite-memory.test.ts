import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { createMemory, sqliteMemory } from '@provost/memory'
import { jsonlStore, memoryStore, sqliteStore } from '@provost/sessions'
import { afterAll, describe, expect, test } from 'vitest'

import { memoryConformance } from '../fixture/memory-conformance.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-memory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('sqliteMemory', () => {
  memoryConformance({
    open: (name) => sqliteMemory(name === undefined ? ':memory:' : join(folder, `${name}.db`)),
    // Every byte of the file and of the files that SQLite creates beside it.
    dump: async (name) =>
      globSync(join(folder, `${name}.db*`))
        .map((file) => readFileSync(file, 'latin1'))
        .join('\n'),
  })

  test('a file is readable by its owner only, and two processes can open it', async () => {
    const path = join(folder, 'both.db')
    const [one, two] = [createMemory({ store: sqliteMemory(path) }), createMemory({ store: sqliteMemory(path) })]
    await one.remember('said here', { source: 's' })
    expect(await two.recall('said')).toHaveLength(1)
    await two.remember('said there', { source: 's' })
    expect(await one.recall('said')).toHaveLength(2)
    await one.close()
    await two.close()
  })

  test('files of other applications and of newer releases are rejected', () => {
    const foreign = join(folder, 'foreign.db')
    const db = new DatabaseSync(foreign)
    db.exec('create table t (x)')
    db.close()
    expect(() => sqliteMemory(foreign)).toThrow(expect.objectContaining({ code: 'not-a-store' }))
    const text = join(folder, 'text.db')
    writeFileSync(text, 'no database at all, but long enough to be looked at as one '.repeat(20))
    expect(() => sqliteMemory(text)).toThrow(expect.objectContaining({ code: 'store-unusable' }))
    const newer = join(folder, 'newer.db')
    void sqliteMemory(newer).close()
    const later = new DatabaseSync(newer)
    later.exec('pragma user_version = 99')
    later.close()
    expect(() => sqliteMemory(newer)).toThrow(expect.objectContaining({ code: 'newer-store' }))
  })

  test('an item without a label is never trusted, after any edit of the file', async () => {
    const path = join(folder, 'edited.db')
    const memory = createMemory({ store: sqliteMemory(path) })
    const { id } = await memory.remember('tea', { source: 's' })
    const db = new DatabaseSync(path)
    db.exec(`update items set label = 'nonsense'`)
    db.close()
    const label = { integrity: 'untrusted', confidentiality: 'secret', sources: ['s'] }
    expect((await memory.explain(id))?.item.label).toEqual(label)
    await memory.close()
  })

  test('a memory of a session store is stored beside the sessions of each kind of store', async () => {
    const path = join(folder, 'sessions.db')
    for (const store of [
      sqliteStore(path),
      jsonlStore(join(folder, 'sessions')),
      memoryStore(),
      sqliteStore(':memory:'),
    ]) {
      const memory = createMemory({ store })
      await memory.remember('tea', { source: 's' })
      expect(await memory.recall('tea')).toHaveLength(1)
      await memory.close()
      await store.close()
    }
    expect(globSync(join(folder, 'sessions.db.memory'))).toHaveLength(1)
    expect(globSync(join(folder, 'sessions/memory.db'))).toHaveLength(1)
    const { place: _, ...silent } = memoryStore()
    expect(() => createMemory({ store: silent })).toThrow(expect.objectContaining({ code: 'memory-place' }))
  })
})
