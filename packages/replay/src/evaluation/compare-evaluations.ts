import type { Evaluation } from './evaluate.ts'

/** How a case changed from one evaluation to another. */
export interface CaseChange {
  readonly name: string
  /** `regressed`: it passes less often. `added` and `removed`: only one evaluation has it. */
  readonly change: 'regressed' | 'improved' | 'same' | 'added' | 'removed'
  /** The share of runs that passed, from 0 to 1. */
  readonly before?: number
  readonly now?: number
  /** Differences of the runs that do not pass now, each once. */
  readonly differences: readonly string[]
  /** Mean scores by name. */
  readonly scores: Readonly<Record<string, { readonly before?: number; readonly now?: number }>>
}

/** Two evaluations compared. */
export interface EvaluationChange {
  /** No case regressed. */
  readonly ok: boolean
  /** The regressed ones first. */
  readonly cases: readonly CaseChange[]
  /** US dollars of all runs; undefined if a price is unknown. */
  readonly cost: { readonly before?: number; readonly now?: number }
  readonly tokens: { readonly before: number; readonly now: number }
}

type Evaluated = Evaluation['cases'][number]

const order = ['regressed', 'removed', 'added', 'improved', 'same'] as const

/**
 * Compares two evaluations of the same cases: of two prompts, two models, or two versions of an agent.
 *
 * @example
 * const before = await evaluate(desk, cases)
 * const now = await evaluate(desk, cases, { model: 'openai/gpt-5.4-mini' })
 * const { ok, cases: changes } = compareEvaluations(before, now)
 */
export function compareEvaluations(before: Evaluation, now: Evaluation): EvaluationChange {
  const earlier = new Map(before.cases.map((one) => [one.name, one]))
  const later = new Map(now.cases.map((one) => [one.name, one]))
  const names = new Set([...later.keys(), ...earlier.keys()])
  const cases = [...names].map((name) => changeOf(name, earlier.get(name), later.get(name)))
  return {
    ok: cases.every(({ change }) => change !== 'regressed'),
    cases: cases.toSorted((a, b) => order.indexOf(a.change) - order.indexOf(b.change)),
    cost: { ...costIn('before', before), ...costIn('now', now) },
    tokens: { before: tokensIn(before), now: tokensIn(now) },
  }
}

function changeOf(name: string, before: Evaluated | undefined, now: Evaluated | undefined): CaseChange {
  const [earlier, later] = [rateOf(before), rateOf(now)]
  const differences = new Set(now?.runs.flatMap((run) => run.differences))
  const scores = new Set([before, now].flatMap((one) => one?.runs.flatMap((run) => Object.keys(run.scores)) ?? []))
  return {
    name,
    change: changeIn(earlier, later),
    ...(earlier !== undefined && { before: earlier }),
    ...(later !== undefined && { now: later }),
    differences: [...differences],
    scores: Object.fromEntries(
      [...scores].map((score) => [score, { ...meanOf('before', before, score), ...meanOf('now', now, score) }]),
    ),
  }
}

function changeIn(before: number | undefined, now: number | undefined): CaseChange['change'] {
  if (before === undefined) return 'added'
  if (now === undefined) return 'removed'
  if (now === before) return 'same'
  return now < before ? 'regressed' : 'improved'
}

function rateOf(one: Evaluated | undefined): number | undefined {
  return one && (one.runs.length === 0 ? 0 : one.passes / one.runs.length)
}

function meanOf(side: 'before' | 'now', one: Evaluated | undefined, name: string): { before?: number; now?: number } {
  const scores = one?.runs.flatMap(({ scores: given }) => given[name]?.score ?? []) ?? []
  return scores.length === 0 ? {} : { [side]: scores.reduce((sum, score) => sum + score, 0) / scores.length }
}

function costIn(side: 'before' | 'now', { cases }: Evaluation): { before?: number; now?: number } {
  let sum = 0
  for (const { runs } of cases) {
    for (const { trajectory } of runs) {
      if (trajectory.cost === undefined) return {}
      sum += trajectory.cost
    }
  }
  return { [side]: sum }
}

function tokensIn({ cases }: Evaluation): number {
  const runs = cases.flatMap((one) => one.runs)
  return runs.reduce((sum, { trajectory }) => sum + trajectory.inputTokens + trajectory.outputTokens, 0)
}
