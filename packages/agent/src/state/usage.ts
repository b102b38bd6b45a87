import type { EntryOf, ModelUsage, Usage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import type { RunProgress } from '../types/session-state.ts'

/** The usage of a run so far, with its share of each model. */
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

/** By model, with what children that are suspended have used so far. */
function sharesOf(run: RunProgress): ReadonlyMap<string, ModelUsage> {
  const open = [...run.children.values()].flatMap(({ usage }) => usage ?? [])
  if (open.length === 0) return run.byModel
  const shares = new Map(run.byModel)
  for (const { byModel } of open) addShares(shares, byModel)
  return shares
}

/** US dollars of a run so far; undefined as soon as one model's price is unknown, for a part is not the whole. */
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

/** Adds the shares of a report to others. */
export function addShares(byModel: Map<string, ModelUsage>, shares: UsageReport['byModel']): void {
  for (const [model, its] of Object.entries(shares)) {
    const known = byModel.get(model)
    byModel.set(model, known ? addModelUsage(known, its) : its)
  }
}

/** The share of one model in two reports. The cost is known where both know theirs. */
function addModelUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  const cost = a.cost === undefined || b.cost === undefined ? undefined : a.cost + b.cost
  const discarded = a.discarded || b.discarded ? addUsage(a.discarded ?? {}, b.discarded ?? {}) : undefined
  return { ...addUsage(a, b), ...(cost !== undefined && { cost }), ...(discarded && { discarded }) }
}

/** Several reports as one. */
export function sumUsage(reports: readonly UsageReport[]): UsageReport {
  let total: Usage = {}
  const shares = new Map<string, ModelUsage>()
  for (const { byModel, ...usage } of reports) {
    total = addUsage(total, usage)
    addShares(shares, byModel)
  }
  return { ...total, byModel: Object.fromEntries(shares) }
}

/** US dollars of several runs; undefined as soon as one of them asked a model and its cost is unknown. */
export function sumCost(runs: readonly { readonly cost?: number; readonly usage: UsageReport }[]): number | undefined {
  let sum = 0
  for (const { cost, usage } of runs) {
    if (cost !== undefined) sum += cost
    else if (Object.keys(usage.byModel).length > 0) return undefined
  }
  return sum
}

/** US dollars of a report; undefined where a price is unknown. */
export function costOfUsage({ byModel }: UsageReport): number | undefined {
  let sum: number | undefined = 0
  for (const { cost } of Object.values(byModel)) sum = cost === undefined || sum === undefined ? undefined : sum + cost
  return sum
}
