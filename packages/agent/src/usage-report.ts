import type { EntryOf, ModelUsage, Usage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import { addModelUsage } from './child-fold.ts'
import type { RunFold } from './log-state.ts'

/** The usage of a run so far, with its share of each model. */
export function usageReport(run: RunFold): UsageReport {
  return { ...usageOf(run), byModel: Object.fromEntries(sharesOf(run)) }
}

function usageOf(run: RunFold): Usage {
  let { usage } = run
  for (const child of run.children.values()) {
    if (!child.usage) continue
    const { byModel: _, ...its } = child.usage
    usage = addUsage(usage, its)
  }
  return usage
}

/** By model, with what children that are suspended have used so far. */
function sharesOf(run: RunFold): ReadonlyMap<string, ModelUsage> {
  const open = [...run.children.values()].flatMap(({ usage }) => usage ?? [])
  if (open.length === 0) return run.byModel
  const shares = new Map(run.byModel)
  for (const { byModel } of open) {
    for (const [model, its] of Object.entries(byModel)) {
      const known = shares.get(model)
      shares.set(model, known ? addModelUsage(known, its) : its)
    }
  }
  return shares
}

/** US dollars of a run so far; undefined as soon as one model's price is unknown, for a part is not the whole. */
export function totalCost(run: RunFold): number | undefined {
  const shares = sharesOf(run)
  if (shares.size === 0) return undefined
  let total = 0
  for (const { cost } of shares.values()) {
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
