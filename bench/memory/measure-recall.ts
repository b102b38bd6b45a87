import { createMemory, sqliteMemory } from '@provost/memory'
import type { Memory, RankWeights } from '@provost/memory'

import type { Conversation } from './locomo.ts'

/** How well a ranking finds the turns that answer questions: means over the questions. */
export interface RecallRow {
  readonly ranking: string
  readonly 'recall@5': number
  readonly 'recall@10': number
  readonly mrr: number
  readonly msPerQuery: number
  /** recall@10 by the category of the question, where questions have one. */
  readonly byCategory?: Readonly<Record<string, { readonly questions: number; readonly 'recall@10': number }>>
}

const rankings: Readonly<Record<string, RankWeights>> = {
  'own words': { previous: 0, next: 0, session: 0 },
  'previous turns': { previous: 0.6, next: 0, session: 0 },
  'turns around it': { previous: 0.6, next: 0.3, session: 0 },
  'neighbours and session (default)': {},
}

/** What weights are chosen from. */
const grid: readonly RankWeights[] = [0.4, 0.6, 0.8].flatMap((previous) =>
  [0, 0.3].flatMap((next) => [0.2, 0.5].map((session) => ({ previous, next, session }))),
)

/** What became of one question. */
interface Outcome {
  readonly five: number
  readonly ten: number
  readonly reciprocal: number
  readonly ms: number
  readonly category: number | undefined
}

/**
 * Remembers each conversation in a scope of its own, and asks its questions under several rankings.
 *
 * The last row is held out: each conversation is asked with the weights that were best for all the others.
 */
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
  const asked = async (weights: RankWeights): Promise<readonly (readonly Outcome[])[]> => {
    const memory = createMemory({ store, weights })
    const outcomes: (readonly Outcome[])[] = []
    for (const conversation of conversations) outcomes.push(await ask(memory, conversation))
    return outcomes
  }
  const rows: RecallRow[] = []
  for (const [ranking, weights] of Object.entries(rankings)) rows.push(rowOf(ranking, (await asked(weights)).flat()))
  if (conversations.length > 1) {
    const all: (readonly (readonly Outcome[])[])[] = []
    for (const weights of grid) all.push(await asked(weights))
    rows.push(
      rowOf(
        'weights chosen on the other conversations',
        conversations.flatMap((_, at) => heldOut(all, at)),
      ),
    )
  }
  await writer.close()
  return rows
}

/** The outcomes of one conversation, with the weights that find most in the others. */
function heldOut(all: readonly (readonly (readonly Outcome[])[])[], at: number): readonly Outcome[] {
  const others = all.map((outcomes) => mean(outcomes.filter((_, i) => i !== at).flat(), ({ ten }) => ten))
  return all[others.indexOf(Math.max(...others))]?.[at] ?? []
}

async function ask(memory: Memory, { id, questions }: Conversation): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { question, evidence, category } of questions) {
    const begin = performance.now()
    const hits = await memory.recall(question, { principal: { id }, limit: 50 })
    const ms = performance.now() - begin
    const places = evidence.map((turn) => hits.findIndex((hit) => hit.id === `${id}/${turn}`))
    const within = (most: number): number => places.filter((at) => at >= 0 && at < most).length / places.length
    const first = Math.min(...places.filter((at) => at >= 0), Infinity)
    outcomes.push({ five: within(5), ten: within(10), reciprocal: 1 / (first + 1), ms, category })
  }
  return outcomes
}

function rowOf(ranking: string, outcomes: readonly Outcome[]): RecallRow {
  const categories = Map.groupBy(outcomes, ({ category }) => category)
  const named = [...categories].flatMap(([category, some]) => (category === undefined ? [] : [{ category, some }]))
  const byCategory = Object.fromEntries(
    named
      .toSorted((a, b) => a.category - b.category)
      .map(({ category, some }) => [
        `${category}`,
        { questions: some.length, 'recall@10': mean(some, ({ ten }) => ten) },
      ]),
  )
  return {
    ranking,
    'recall@5': mean(outcomes, ({ five }) => five),
    'recall@10': mean(outcomes, ({ ten }) => ten),
    mrr: mean(outcomes, ({ reciprocal }) => reciprocal),
    msPerQuery: mean(outcomes, ({ ms }) => ms),
    ...(named.length > 0 && { byCategory }),
  }
}

function mean(outcomes: readonly Outcome[], of: (outcome: Outcome) => number): number {
  const sum = outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return Math.round((sum / Math.max(1, outcomes.length)) * 1_000) / 1_000
}
