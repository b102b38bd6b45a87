import { moves } from './moves.ts'
import type { Move } from './moves.ts'
import { preparations } from './preparations.ts'
import type { TaskResult } from './search.ts'

/** A share of tasks with its 95 % interval. */
export interface Share {
  readonly of: number
  readonly found: number
  readonly low: number
  readonly high: number
}

export interface MoveRow {
  readonly move: Move
  /** Tries without a preparation at the end of the task, and how many of them were silent. */
  readonly tries: number
  readonly silent: number
  /** The same before the user's own call. */
  readonly before: { readonly tries: number; readonly silent: number }
  /** Questions that one try without a preparation causes, on average, those about the user's own calls included. */
  readonly questionsPerTry: number
  /** Tasks on which the move succeeds alone. */
  readonly alone: Share
  /** Tasks on which it succeeds, alone or with preparations. */
  readonly prepared: Share
}

export interface PreparationRow {
  readonly preparation: string
  /** Tries with this preparation alone, of goals that fail without it. */
  readonly tries: number
  readonly silent: number
  readonly questionsPerTry: number
}

export interface Success {
  readonly suite: string
  readonly task: string
  readonly move: Move
  readonly before: boolean
  readonly preparations: readonly string[]
  readonly tools: readonly string[]
}

export interface Report {
  readonly tasks: Share
  /** Tasks that cause no question and no denial without an attacker. */
  readonly untouched: Share
  /** Calls judged until the first success on a task: the median, and the ninth of ten. */
  readonly queries: { readonly median: number; readonly p90: number }
  readonly judged: number
  /** Tasks on which the budget ended the search. */
  readonly exhausted: number
  readonly failures: readonly string[]
  readonly moves: readonly MoveRow[]
  readonly preparations: readonly PreparationRow[]
  /** For each suite, move and preparations the first success. */
  readonly cheapest: readonly Success[]
}

export function reportOf(results: readonly TaskResult[]): Report {
  const queries = results.flatMap((one) => one.queries ?? []).toSorted((a, b) => a - b)
  const at = (share: number): number => queries[Math.min(queries.length - 1, Math.floor(queries.length * share))] ?? 0
  const wins = results.filter((one) => one.queries !== undefined)
  return {
    tasks: shareOf(wins.length, results.length),
    untouched: shareOf(results.filter((one) => one.untouched).length, results.length),
    queries: { median: at(0.5), p90: at(0.9) },
    judged: sum(results.map((one) => one.judged)),
    exhausted: results.filter((one) => one.exhausted).length,
    failures: results.flatMap((one) => one.failures),
    moves: moves.map((move) => rowOf(move, results)).filter(({ tries }) => tries > 0),
    preparations: preparations.map((preparation): PreparationRow => {
      const tries = results.flatMap((one) =>
        one.tries.filter((each) => each.preparations.length === 1 && each.preparations[0] === preparation),
      )
      return { preparation, ...tally(tries) }
    }),
    cheapest: cheapestOf(results),
  }
}

function rowOf(move: Move, results: readonly TaskResult[]): MoveRow {
  const tried = results.map((one) => one.tries.filter((each) => each.move === move)).filter((tries) => tries.length > 0)
  const alone = tried.map((tries) => tries.filter((each) => each.preparations.length === 0))
  const won = (tries: TaskResult['tries']): boolean => tries.some(({ silent }) => silent)
  const { questionsPerTry, ...all } = tally(alone.flat())
  const end = tally(alone.flat().filter(({ before }) => !before))
  return {
    move,
    tries: end.tries,
    silent: end.silent,
    before: { tries: all.tries - end.tries, silent: all.silent - end.silent },
    questionsPerTry,
    alone: shareOf(alone.filter(won).length, alone.length),
    prepared: shareOf(tried.filter(won).length, tried.length),
  }
}

function tally(tries: TaskResult['tries']): Pick<PreparationRow, 'tries' | 'silent' | 'questionsPerTry'> {
  const questions = sum(tries.map((one) => one.questions))
  return {
    tries: tries.length,
    silent: tries.filter(({ silent }) => silent).length,
    questionsPerTry: tries.length === 0 ? 0 : questions / tries.length,
  }
}

function cheapestOf(results: readonly TaskResult[]): readonly Success[] {
  const found = new Map<string, Success>()
  for (const { suite, task, tries } of results)
    for (const { move, before, preparations: names, tools, silent } of tries) {
      const key = JSON.stringify([suite, move, before, names])
      if (silent && !found.has(key)) found.set(key, { suite, task, move, before, preparations: names, tools })
    }
  return [...found.values()]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

/** A share with the interval of Wilson, which is also right for few tasks and for none found. */
export function shareOf(found: number, of: number): Share {
  if (of === 0) return { of, found, low: 0, high: 0 }
  const z = 1.96
  const rate = found / of
  const middle = rate + z ** 2 / (2 * of)
  const half = z * Math.sqrt((rate * (1 - rate)) / of + z ** 2 / (4 * of ** 2))
  const scale = 1 + z ** 2 / of
  return { of, found, low: Math.max(0, (middle - half) / scale), high: Math.min(1, (middle + half) / scale) }
}

/** The report as tables of Markdown. */
export function tablesOf(report: Report): string {
  const rate = (found: number, of: number): string =>
    of === 0 ? '–' : `${found} of ${of} (${((100 * found) / of).toFixed(0)} %)`
  const share = ({ found, of, low, high }: Share): string =>
    of === 0 ? '–' : `${found} of ${of} (${(low * 100).toFixed(0)} to ${(high * 100).toFixed(0)} %)`
  return [
    `tasks with a silent success: ${share(report.tasks)}; honest tasks untouched: ${share(report.untouched)}`,
    `calls judged: ${report.judged}; to the first success: ${report.queries.median} (median), ${report.queries.p90} (p90); tasks cut by the budget: ${report.exhausted}`,
    '',
    '| move | silent at the end | before the own call | questions a try | tasks alone | tasks with up to two preparations |',
    '|---|---|---|---|---|---|',
    ...report.moves.map(
      ({ move, tries, silent, before, questionsPerTry, alone, prepared }) =>
        `| ${[move, rate(silent, tries), rate(before.silent, before.tries), questionsPerTry.toFixed(1), share(alone), share(prepared)].join(' | ')} |`,
    ),
    '',
    '| preparation of a goal that fails alone | silent | questions a try |',
    '|---|---|---|',
    ...report.preparations.map(
      ({ preparation, tries, silent, questionsPerTry }) =>
        `| ${[preparation, rate(silent, tries), questionsPerTry.toFixed(1)].join(' | ')} |`,
    ),
    ...(report.failures.length > 0 ? ['', `${report.failures.length} attempts could not be played.`] : []),
  ].join('\n')
}
