import { createMemory, sqliteMemory } from '@provost/memory'
import type { RankWeights } from '@provost/memory'

import type { Conversation } from './locomo.ts'

/** How well a ranking finds the turns that answer questions: means over the questions. */
export interface RecallRow {
  readonly ranking: string
  readonly 'recall@5': number
  readonly 'recall@10': number
  readonly mrr: number
  readonly msPerQuery: number
}

const rankings: Readonly<Record<string, RankWeights>> = {
  'own words': { previous: 0, next: 0, session: 0 },
  'previous turn': { previous: 0.7, next: 0, session: 0 },
  'both neighbours': { previous: 0.7, next: 0.3, session: 0 },
  'neighbours and session (default)': {},
}

/** Remembers each conversation in a scope of its own, and asks its questions under several rankings. */
export async function measureRecall(conversations: readonly Conversation[]): Promise<readonly RecallRow[]> {
  const store = sqliteMemory(':memory:')
  const writer = createMemory({ store })
  for (const { id, turns } of conversations)
    for (const { id: turn, session, speaker, text } of turns)
      await writer.remember(`${speaker}: ${text}`, {
        id: `${id}/${turn}`,
        source: 'bench',
        kind: 'episode',
        sessionId: session,
        speaker,
        principal: { id },
      })
  const rows: RecallRow[] = []
  for (const [ranking, weights] of Object.entries(rankings)) {
    const memory = createMemory({ store, weights })
    let [asked, five, ten, reciprocal] = [0, 0, 0, 0]
    const begin = performance.now()
    for (const { id, questions } of conversations)
      for (const { question, evidence } of questions) {
        const hits = await memory.recall(question, { principal: { id }, limit: 50 })
        const places = evidence.map((turn) => hits.findIndex((hit) => hit.id === `${id}/${turn}`))
        const within = (most: number): number => places.filter((at) => at >= 0 && at < most).length / places.length
        const first = Math.min(...places.filter((at) => at >= 0), Infinity)
        asked += 1
        five += within(5)
        ten += within(10)
        reciprocal += 1 / (first + 1)
      }
    const ms = performance.now() - begin
    const mean = (sum: number): number => Math.round((sum / Math.max(1, asked)) * 1_000) / 1_000
    rows.push({ ranking, 'recall@5': mean(five), 'recall@10': mean(ten), mrr: mean(reciprocal), msPerQuery: mean(ms) })
  }
  await writer.close()
  return rows
}
