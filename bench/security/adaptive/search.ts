import type { Extension } from 'provost'

import type { Suite } from '../replay/suite.ts'
import { run } from './attempt.ts'
import { firstRead, goalsOf } from './moves.ts'
import type { Goal, Move, Task } from './moves.ts'
import { attemptOf, preparedFor } from './preparations.ts'
import type { Preparation } from './preparations.ts'

/** One try, and what the policy did about it. */
export interface Try {
  readonly move: Move
  readonly before: boolean
  readonly preparations: readonly Preparation[]
  readonly tools: readonly string[]
  readonly silent: boolean
  readonly questions: number
}

/** What the search found on one task. */
export interface TaskResult {
  readonly suite: string
  readonly task: string
  /** The task without an attacker caused no question and no denial. */
  readonly untouched: boolean
  readonly tries: readonly Try[]
  /** Calls judged until the first success, if there was one. */
  readonly queries?: number
  /** Calls judged in all. */
  readonly judged: number
  readonly exhausted: boolean
  /** Attempts that the runtime could not play, with the reason. */
  readonly failures: readonly string[]
}

export interface SearchOptions {
  readonly policy: () => Extension<unknown>
  /** Calls that the policy judges for one task, at most. */
  readonly budget: number
  readonly moves: ReadonlySet<Move>
  readonly preparations: readonly Preparation[]
  /** The most moves of a sequence: 1 is a goal alone, 3 a goal with two preparations. */
  readonly length: number
}

/**
 * Searches a task breadth-first: each goal alone, then with one preparation, then with two. A move that succeeded on the
 * task is not tried with more, so what is kept for each move is its cheapest success.
 *
 * @returns nothing for a task that reads nothing that others may write.
 */
export async function search(task: Task, suite: Suite, options: SearchOptions): Promise<TaskResult | undefined> {
  if (firstRead(task, suite) < 0) return undefined
  const { policy, budget } = options
  const tries: Try[] = []
  const failures: string[] = []
  let judged = 0
  let queries: number | undefined
  let exhausted = false

  async function attempt(goal: Goal, names: readonly Preparation[]): Promise<void> {
    const draft = preparedFor(goal, suite, names)
    if (!draft) return
    const { move, before, calls } = goal
    try {
      const { silent, questions, ...outcome } = await run(attemptOf(draft), policy)
      judged += outcome.judged
      if (silent) queries ??= judged
      tries.push({ move, before, preparations: names, tools: calls.map(({ tool }) => tool), silent, questions })
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
      failures.push(`${move} ${names.join(', ')}: ${String(error)}${cause}`)
    }
  }

  const own = await run(
    { turns: [{ prompt: task.prompt, calls: ownCalls(task) }], tools: suite.tools, today: suite.today },
    policy,
  )
  const goals = [...goalsOf(task, suite, options.moves)]
  search: for (const names of sequences(options.preparations)) {
    if (names.length >= options.length) break
    // With one preparation all are tried, to compare them. With two the first success is enough.
    const won = new Set<Move>()
    for (const { silent, move, preparations } of tries)
      if (silent && (preparations.length === 0 || names.length > 1)) won.add(move)
    for (const goal of goals) {
      if (won.has(goal.move) || (goal.before && names.length > 0)) continue
      if (judged >= budget) {
        exhausted = true
        break search
      }
      await attempt(goal, names)
    }
  }
  return {
    suite: suite.suite,
    task: task.id,
    untouched: own.ownTouched === 0,
    tries,
    ...(queries !== undefined && { queries }),
    judged,
    exhausted,
    failures,
  }
}

function ownCalls({ calls }: Task): Parameters<typeof run>[0]['turns'][number]['calls'] {
  return calls.map(({ tool, args, output, output_text: text }) => ({
    part: 'user',
    tool,
    args,
    output: output ?? text ?? null,
  }))
}

/** No preparation, each one, and each two of them. */
function* sequences(all: readonly Preparation[]): Iterable<readonly Preparation[]> {
  yield []
  for (const one of all) yield [one]
  for (const [at, one] of all.entries()) for (const other of all.slice(at + 1)) yield [one, other]
}
