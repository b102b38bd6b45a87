import type { OneModel, Tier } from '@provost/core'
import { chooseModel, hasTiers } from '@provost/provider'

import type { StepRequest } from '../types/orchestrator.ts'
import type { RunContext } from '../types/run-context.ts'

/**
 * Returns the model of a step before hooks override it: the orchestrator's, otherwise that of the requested tier,
 * otherwise the run's, otherwise the agent's.
 */
export function selectModel(ctx: RunContext, options: StepRequest = ctx.stepRequest): OneModel {
  const { agent, options: given } = ctx
  const tier = options.tier ?? tierOf(ctx)
  if (options.model !== undefined) return chooseModel(options.model, tier)
  if (tier && given.model !== undefined && !hasTiers(given.model) && hasTiers(agent.model)) {
    return chooseModel(agent.model, tier)
  }
  return chooseModel(given.model ?? agent.model, tier)
}

const ranks: Readonly<Record<Tier, number>> = { fast: 0, balanced: 1, smart: 2 }

/**
 * Returns the tier that the tools of the last results prefer. It follows from the log, so a resumed run gets the same.
 */
export function tierOf({ agent, state }: Pick<RunContext, 'agent' | 'state'>): Tier | undefined {
  const used = state.run?.usedTools ?? []
  const preferred = used.map((name) => agent.tools.get(name)?.['~tool'].preferredModel)
  if (preferred.every((tier) => tier === undefined)) return undefined
  return preferred.map((tier) => tier ?? 'balanced').reduce((a, b) => (ranks[a] >= ranks[b] ? a : b))
}
