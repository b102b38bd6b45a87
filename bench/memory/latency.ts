import { createMemory } from '@provost/memory'
import type { Embedder, MemoryStore } from '@provost/memory'

import { median } from '../measure.ts'

/** Words as frequent as words are: the n-th about 1/n as often as the first. */
function words(count: number, seed: number): () => string {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
  return () => `w${Math.floor(Math.exp(next() * Math.log(count))).toString(36)}`
}

export interface LatencyOptions {
  readonly embedder?: Embedder
  /** Default 300. */
  readonly queries?: number
}

/** Times of this process, and by the clock: a server spends its own. */
export async function measureLatency(
  items: number,
  store: MemoryStore,
  { embedder, queries: asked = 300 }: LatencyOptions = {},
) {
  const memory = createMemory({ store, ...(embedder && { embedder }) })
  const principal = { id: 'ann' }
  const word = words(30_000, 7)
  const written = process.cpuUsage()
  for (let i = 0; i < items; i++) {
    const text = Array.from({ length: 14 }, word).join(' ')
    const sessionId = `s${Math.floor(i / 25)}`
    await memory.remember(text, { source: 'bench', kind: 'episode', sessionId, principal })
  }
  const { user, system } = process.cpuUsage(written)
  const asking = words(30_000, 99)
  const queries = Array.from({ length: asked }, () => Array.from({ length: 6 }, asking).join(' '))
  // As many as V8 needs to make our code fast.
  for (let round = 0; round < 3; round++) for (const query of queries) await memory.recall(query, { principal })
  const cpu: number[] = []
  const wall: number[] = []
  for (const query of queries) {
    const [used, begin] = [process.cpuUsage(), performance.now()]
    await memory.recall(query, { principal })
    wall.push(performance.now() - begin)
    const spent = process.cpuUsage(used)
    cpu.push((spent.user + spent.system) / 1_000)
  }
  const at = (values: readonly number[], part: number): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN
  await memory.close()
  return {
    items,
    rememberCpuMs: (user + system) / 1_000 / items,
    queryCpuMs: { median: median(cpu), p95: at(cpu, 0.95) },
    each: cpu,
    queryWallMs: { median: median(wall), p95: at(wall, 0.95) },
  }
}
