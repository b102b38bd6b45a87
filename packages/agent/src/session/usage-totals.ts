import type { ModelUsage, Usage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import { addAttempt } from '../state/usage.ts'
import type { SessionState } from '../types/session-state.ts'

/** The usage of a session. */
export interface UsageTotals {
  usage(): UsageReport
  /** US dollars; undefined if the price of a model is unknown. */
  cost(): number | undefined
}

/** Sums the usage of all attempts in a log, incrementally on access. */
export function createUsageTotals({ entries }: SessionState): UsageTotals {
  const byModel = new Map<string, ModelUsage>()
  let total: Usage = {}
  let unpriced = false
  let cost = 0
  let read = 0

  function catchUp(): void {
    for (; read < entries.length; read++) {
      const entry = entries[read]
      if (entry?.type !== 'attempt') continue
      addAttempt(byModel, entry)
      total = addUsage(total, entry.usage)
      if (entry.cost === undefined) unpriced = true
      else cost += entry.cost
    }
  }

  return {
    usage() {
      catchUp()
      return { ...total, byModel: Object.fromEntries(byModel) }
    },
    cost() {
      catchUp()
      return unpriced || byModel.size === 0 ? undefined : cost
    },
  }
}
