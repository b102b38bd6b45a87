import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createMemory, sqliteMemory } from '@provost/memory'
import { afterAll, describe, expect, test } from 'vitest'

import { vectorConformance } from '../fixture/vector-conformance.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-vectors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each([
  ['sqlite-vec', 'extension'],
  ['process', 'in-process'],
] as const)('embeddings in SQLite, compared by %s', (engine, vectors) => {
  let files = 0
  const path = (): string => join(folder, `${engine}-${files}.db`)
  vectorConformance({
    engine,
    open: () => {
      files++
      return sqliteMemory(path(), { vectors })
    },
    dump: async () =>
      globSync(`${path()}*`)
        .map((file) => readFileSync(file, 'latin1'))
        .join('\n'),
    written: ({ buffer }) => Buffer.from(buffer).toString('latin1'),
  })
})

test('embeddings that one process stored without sqlite-vec are compared with it by another', async () => {
  const path = join(folder, 'both.db')
  const embedder = async (all: readonly string[]): Promise<number[][]> => all.map(({ length }) => [length, 1])
  const writer = createMemory({ store: sqliteMemory(path, { vectors: 'in-process' }), embedder })
  await writer.remember('tea', { source: 's' })
  const store = sqliteMemory(path)
  expect(await store.comparedBy?.()).toBe('sqlite-vec')
  const [hit] = await createMemory({ store, embedder }).recall('pot')
  expect(hit).toMatchObject({ text: 'tea', why: { similarity: expect.closeTo(1) } })
  await writer.close()
  await store.close()
})
