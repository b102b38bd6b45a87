import type { EntryOf, ModelUsage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import type { RunProgress, SessionState, UsageSum } from '../types/session-state.ts'

/** Returns the usage of a run so far with the share of each model, including suspended children. */
export function usageReport(run: RunProgress): UsageReport {
  const own = reportOf(run)
  const open = [...run.children.values()].flatMap(({ usage }) => usage ?? [])
  return open.length === 0 ? own : sumUsage([own, ...open])
}

function reportOf({ usage, byModel }: UsageSum): UsageReport {
  return { ...usage, byModel: Object.fromEntries(byModel) }
}

/** Returns the cost of a run so far in US dollars; undefined as soon as one model's price is unknown. */
export function totalCost(run: RunProgress): number | undefined {
  return costOfShares(Object.values(usageReport(run).byModel))
}

/** Returns the usage of a session: of all runs and their children so far, and of model calls between the runs. */
export function sessionUsage({ earlier, run }: SessionState): UsageReport {
  const past = reportOf(earlier)
  return run ? sumUsage([past, usageReport(run)]) : past
}

/** Returns the cost of a session in US dollars; undefined without model calls, or as soon as one price is unknown. */
export function sessionCost(state: SessionState): number | undefined {
  return costOfShares(Object.values(sessionUsage(state).byModel))
}

/** Adds the usage of one attempt to a sum. */
export function addAttempt(sum: UsageSum, entry: EntryOf<'attempt'>): void {
  const known = sum.byModel.get(entry.model) ?? {}
  const cost = entry.cost === undefined ? known.cost : (known.cost ?? 0) + entry.cost
  const discarded = entry.outcome === 'discarded' ? addUsage(known.discarded ?? {}, entry.usage) : known.discarded
  sum.usage = addUsage(sum.usage, entry.usage)
  sum.byModel.set(entry.model, {
    ...addUsage(known, entry.usage),
    ...(cost !== undefined && { cost }),
    ...(discarded && { discarded }),
  })
}

/** Adds a report to a sum. */
export function addReport(sum: UsageSum, { byModel, ...usage }: UsageReport): void {
  sum.usage = addUsage(sum.usage, usage)
  for (const [model, its] of Object.entries(byModel)) {
    const known = sum.byModel.get(model)
    sum.byModel.set(model, known ? addModelUsage(known, its) : its)
  }
}

/** Returns the sum of one model's shares. The cost is known only if both are known. */
function addModelUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  const cost = costOfShares([a, b])
  const discarded = a.discarded || b.discarded ? addUsage(a.discarded ?? {}, b.discarded ?? {}) : undefined
  return { ...addUsage(a, b), ...(cost !== undefined && { cost }), ...(discarded && { discarded }) }
}

/** Returns the sum of several reports. */
export function sumUsage(reports: readonly UsageReport[]): UsageReport {
  const sum: UsageSum = { usage: {}, byModel: new Map() }
  for (const report of reports) addReport(sum, report)
  return reportOf(sum)
}

/** Returns the cost of several runs in US dollars; undefined if a run with model calls has an unknown cost. */
export function sumCost(runs: readonly { readonly cost?: number; readonly usage: UsageReport }[]): number | undefined {
  let sum: number | undefined
  let calls = 0
  for (const { cost, usage } of runs) {
    const shares = Object.values(usage.byModel)
    calls += shares.length
    if (cost !== undefined) sum = (sum ?? 0) + cost
    else if (!shares.every(isUnused)) return undefined
  }
  return sum ?? (calls === 0 ? 0 : undefined)
}

/** Returns the cost of a report in US dollars; undefined if a price is unknown. */
export function costOfUsage({ byModel }: UsageReport): number | undefined {
  return Object.keys(byModel).length === 0 ? 0 : costOfShares(Object.values(byModel))
}

/**
 * Returns the cost of the shares of models in US dollars; undefined if a price is unknown, or nothing was used. Calls that
 * failed without using a token do not count.
 */
function costOfShares(shares: Iterable<ModelUsage>): number | undefined {
  let sum: number | undefined
  for (const share of shares) {
    if (isUnused(share)) continue
    if (share.cost === undefined) return undefined
    sum = (sum ?? 0) + share.cost
  }
  return sum
}

function isUnused({ cost, inputTokens = 0, outputTokens = 0 }: ModelUsage): boolean {
  return cost === undefined && inputTokens + outputTokens === 0
}
