import type { Goal } from './build.ts'

/**
 * Lists each goal four times, shifted by one each time. `suiteOf` lets four voices take turns, so that every task meets
 * every goal in every voice.
 */
export function inEveryVoice(goals: readonly Goal[]): readonly Goal[] {
  const rounds = 4
  if (goals.length !== rounds) throw new Error(`A suite has ${rounds} goals, as there are voices; not ${goals.length}.`)
  return Array.from({ length: rounds }, (_, round) =>
    [...goals.slice(round), ...goals.slice(0, round)].map((goal) => ({ ...goal, id: `${goal.id}-${round + 1}` })),
  ).flat()
}
