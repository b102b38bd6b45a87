import type { EntryOf, ModelUsage, Usage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import type { RunProgress } from '../types/session-state.ts'

/** Returns the usage of a run so far, with the share of each model. */
export function usageReport(run: RunProgress): UsageReport {
  return { ...usageOf(run), byModel: Object.fromEntries(sharesOf(run)) }
}

function usageOf(run: RunProgress): Usage {
  let { usage } = run
  for (const child of run.children.values()) {
    if (!child.usage) continue
    const { byModel: _, ...its } = child.usage
    usage = addUsage(usage, its)
  }
  return usage
}

/** Returns the usage by model, including suspended children so far. */
function sharesOf(run: RunProgress): ReadonlyMap<string, ModelUsage> {
  const open = [...run.children.values()].flatMap(({ usage }) => usage ?? [])
  if (open.length === 0) return run.byModel
  const shares = new Map(run.byModel)
  for (const { byModel } of open) addShares(shares, byModel)
  return shares
}

/** Returns the cost of a run so far in US dollars; undefined as soon as one model's price is unknown. */
export function totalCost(run: RunProgress): number | undefined {
  const shares = sharesOf(run)
  if (shares.size === 0) return undefined
  let total = 0
  for (const { cost } of shares.values()) {
    if (cost === undefined) return undefined
    total += cost
  }
  return total
}

/** Adds the usage of one attempt to the share of its model. */
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

/** Adds the shares of a report to others. */
export function addShares(byModel: Map<string, ModelUsage>, shares: UsageReport['byModel']): void {
  for (const [model, its] of Object.entries(shares)) {
    const known = byModel.get(model)
    byModel.set(model, known ? addModelUsage(known, its) : its)
  }
}

/** Returns the sum of one model's shares. The cost is known only if both are known. */
function addModelUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  const cost = a.cost === undefined || b.cost === undefined ? undefined : a.cost + b.cost
  const discarded = a.discarded || b.discarded ? addUsage(a.discarded ?? {}, b.discarded ?? {}) : undefined
  return { ...addUsage(a, b), ...(cost !== undefined && { cost }), ...(discarded && { discarded }) }
}

/** Returns the sum of several reports. */
export function sumUsage(reports: readonly UsageReport[]): UsageReport {
  let total: Usage = {}
  const shares = new Map<string, ModelUsage>()
  for (const { byModel, ...usage } of reports) {
    total = addUsage(total, usage)
    addShares(shares, byModel)
  }
  return { ...total, byModel: Object.fromEntries(shares) }
}

/** Returns the cost of several runs in US dollars; undefined if a run with model calls has an unknown cost. */
export function sumCost(runs: readonly { readonly cost?: number; readonly usage: UsageReport }[]): number | undefined {
  let sum = 0
  for (const { cost, usage } of runs) {
    if (cost !== undefined) sum += cost
    else if (Object.keys(usage.byModel).length > 0) return undefined
  }
  return sum
}

/** Returns the cost of a report in US dollars; undefined if a price is unknown. */
export function costOfUsage({ byModel }: UsageReport): number | undefined {
  let sum: number | undefined = 0
  for (const { cost } of Object.values(byModel)) sum = cost === undefined || sum === undefined ? undefined : sum + cost
  return sum
}
