import type { EntryOf, ModelUsage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

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

/** Adds what one attempt used to the share of its model. */
export function addAttempt(byModel: Map<string, ModelUsage>, entry: EntryOf<'attempt'>): void {
  const known = byModel.get(entry.model) ?? {}
  const cost = entry.cost === undefined ? known.cost : (known.cost ?? 0) + entry.cost
  const discarded = entry.outcome === 'discarded' ? addUsage(known.discarded ?? {}, entry.usage) : known.discarded
  byModel.set(entry.model, {
    ...addUsage(known, entry.usage),
    ...(cost !== undefined && { cost }),
    ...(discarded && { discarded }),
  })
}
