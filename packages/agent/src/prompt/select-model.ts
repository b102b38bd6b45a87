import type { OneModel, Tier } from '@provost/core'
import { chooseModel, hasTiers } from '@provost/provider'

import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * The model of a step before hooks choose another: an orchestrator's, else of the tier that it or the tools ask for, else
 * the run's, else the agent's.
 */
export function selectModel(scope: RunContext, options: StepRequest = scope.request): OneModel {
  const { plan, given } = scope
  const tier = options.tier ?? tierOf(scope)
  if (options.model !== undefined) return chooseModel(options.model, tier)
  if (tier && given.model !== undefined && !hasTiers(given.model) && hasTiers(plan.model)) {
    return chooseModel(plan.model, tier)
  }
  return chooseModel(given.model ?? plan.model, tier)
}

const ranks: Readonly<Record<Tier, number>> = { fast: 0, balanced: 1, smart: 2 }

/** What the tools whose results are read next ask for; it follows from the log, so a run that goes on asks for the same. */
export function tierOf({ plan, state }: Pick<RunContext, 'plan' | 'state'>): Tier | undefined {
  const used = state.run?.used ?? []
  const wishes = used.map((name) => plan.tools.get(name)?.['~tool'].preferredModel)
  if (wishes.every((wish) => wish === undefined)) return undefined
  return wishes.map((wish) => wish ?? 'balanced').reduce((a, b) => (ranks[a] >= ranks[b] ? a : b))
}
