import type { ModelUsage, Usage, UsageReport } from '@provost/core'
import { addUsage } from '@provost/core'

import { addAttempt } from '../state/usage.ts'
import type { SessionState } from '../types/session-state.ts'

/** What a session has used. */
export interface UsageTotals {
  usage(): UsageReport
  /** US dollars; undefined as soon as one model's price is unknown. */
  cost(): number | undefined
}

/** Adds up what the attempts of a log used: each once, when somebody asks. */
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
