import type { Json } from 'provost'

import type { Suite, SuiteCall } from './suite.ts'

/**
 * Returns a suite whose neighbouring calls of one tool are made in one step, as models do that call tools in parallel. A
 * call that takes a value from the result of one before it, or follows a further message of the human, begins a step.
 */
export function gathered(suite: Suite): Suite {
  return {
    ...suite,
    user_tasks: suite.user_tasks.map((task) => {
      const answered = new Set(task.turns.map(({ before }) => before))
      return { ...task, calls: inSteps(task.calls, answered) }
    }),
  }
}

function inSteps(calls: readonly SuiteCall[], answered: ReadonlySet<number>): SuiteCall[] {
  let step = 0
  let told = new Set<string>()
  return calls.map((call, at) => {
    const joins =
      at > 0 &&
      calls[at - 1]?.tool === call.tool &&
      !answered.has(at) &&
      !valuesIn(call.args).some((value) => told.has(value))
    if (!joins) {
      step++
      told = new Set()
    }
    for (const value of valuesIn(call.output ?? call.output_text ?? null)) told.add(value)
    return { ...call, step }
  })
}

/** The texts and numbers of a value, as texts. */
function valuesIn(value: Json): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((one: Json | undefined) => valuesIn(one ?? null))
}
