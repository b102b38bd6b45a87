import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sqliteMemory } from '@provost/memory'

import { measureLatency } from '../memory/latency.ts'
import { of, rowsOf } from '../report/row.ts'
import type { Bench, Values } from '../report/row.ts'

/** As many as small models for sentences have. */
const dimensions = 384

/**
 * Stands for a model of the user: a vector made of the words, without a model. Its CPU is counted, and is next to nothing,
 * so what remains is what Provost does with vectors.
 */
async function embedder(texts: readonly string[]): Promise<readonly (readonly number[])[]> {
  return texts.map((text) => {
    const vector = Array.from({ length: dimensions }, () => 0)
    for (const word of text.split(' ')) {
      let hash = 2_166_136_261
      for (let n = 0; n < word.length; n++) hash = Math.imul(hash ^ word.charCodeAt(n), 16_777_619)
      const at = (hash >>> 0) % dimensions
      vector[at] = (vector[at] ?? 0) + 1
    }
    return vector
  })
}

export const memorySearch: Bench = {
  name: 'memory-search',
  title: 'Memory search',
  about:
    'Queries of six words to items of 14 words, all of one user, in a SQLite file, warm. With embeddings, each item has a vector of 384 numbers from a function that stands for a model; `sqlite-vec` compares the query with all of them, exactly. What a model of yours needs for a query comes on top.',
  async run(plan) {
    const sizes = of(plan, {
      full: [
        { items: 10_000, queries: 200, embeddings: false },
        { items: 100_000, queries: 200, embeddings: false },
        { items: 100_000, queries: 50, embeddings: true },
      ],
      short: [
        { items: 10_000, queries: 50, embeddings: false },
        { items: 10_000, queries: 20, embeddings: true },
      ],
      quick: [{ items: 50, queries: 5, embeddings: false }],
    })
    const rows = []
    for (const { items, queries, embeddings } of sizes) {
      const name = `provost, words${embeddings ? ' and embeddings' : ''}`
      const group = `a query, ${items.toLocaleString('en')} items`
      plan.progress(`${name}, ${group}`)
      const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
      try {
        const store = sqliteMemory(join(folder, 'memory.db'))
        const { each } = await measureLatency(items, store, { queries, ...(embeddings && { embedder }) })
        const values: Values = { name, side: 'ours', values: each }
        const aims = items === 100_000 && !embeddings ? { [name]: { of: 'median', atMost: 3 } as const } : {}
        rows.push(...rowsOf([values], { group, unit: 'ms CPU', aims }))
      } finally {
        rmSync(folder, { recursive: true })
      }
    }
    return rows
  },
}
