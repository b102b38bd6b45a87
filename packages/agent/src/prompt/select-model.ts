import type { OneModel, Tier } from '@provost/core'
import { chooseModel, hasTiers } from '@provost/provider'

import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * Returns the model of a step before hooks override it: the orchestrator's, otherwise that of the requested tier,
 * otherwise the run's, otherwise the agent's.
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

/**
 * Returns the tier that the tools of the last results prefer. It follows from the log, so a resumed run gets the same.
 */
export function tierOf({ plan, state }: Pick<RunContext, 'plan' | 'state'>): Tier | undefined {
  const used = state.run?.used ?? []
  const preferred = used.map((name) => plan.tools.get(name)?.['~tool'].preferredModel)
  if (preferred.every((tier) => tier === undefined)) return undefined
  return preferred.map((tier) => tier ?? 'balanced').reduce((a, b) => (ranks[a] >= ranks[b] ? a : b))
}
