import type { UsageReport } from '@provost/core'

import type { RunFold } from './log-state.ts'

/** The usage of a run so far, with its share of each model. */
export function usageReport(run: RunFold): UsageReport {
  return { ...run.usage, byModel: Object.fromEntries(run.byModel) }
}

/** US dollars of a run so far; undefined as soon as one model's price is unknown, for a part is not the whole. */
export function totalCost(run: RunFold): number | undefined {
  if (run.byModel.size === 0) return undefined
  let total = 0
  for (const { cost } of run.byModel.values()) {
    if (cost === undefined) return undefined
    total += cost
  }
  return total
}
