import type { View } from '@provost/core'

import type { Settings } from './compaction-options.ts'
import type { CompactionState } from './compaction-state.ts'
import { nativeLine } from './provider-compaction.ts'

/** The limits of a request, in tokens of messages, system prompt and tools together. */
export interface Budget {
  readonly window: number
  /** Compaction starts at this size. */
  readonly trigger: number
  /** A strategy that reaches this size is good enough: costlier ones are skipped. */
  readonly goal: number
  /** A result above this size is not worth a new prefix. */
  readonly limit: number
  readonly keepRecent: number
}

/** Returns the budget of the next request; undefined if the model's window is unknown. */
export function budgetOf(view: View, settings: Settings, state: CompactionState): Budget | undefined {
  const { threshold } = settings
  const known = configured(view.model, settings.window) ?? view.window
  const total = view.tokens + view.overhead
  // A request that the model rejected as too long lowers its assumed window.
  const refused = Math.min(
    state.rejectedTokens.get(view.model) ?? Number.POSITIVE_INFINITY,
    view.trigger === 'overflow' ? total : Number.POSITIVE_INFINITY,
  )
  const window = Math.min(
    known ?? Number.POSITIVE_INFINITY,
    refused * 0.9,
    view.trigger === 'manual' && known === undefined ? total : Number.POSITIVE_INFINITY,
  )
  if (window === Number.POSITIVE_INFINITY) return undefined
  const trigger = window * nativeLine(view.model, settings, threshold)
  const keepRecent = settings.keepRecent ?? Math.min(20_000, window / 4)
  if (view.trigger === 'manual') {
    // For a manual compaction, any shorter result counts.
    const shorter = Math.min(trigger, total - 1)
    return {
      window,
      trigger,
      goal: Math.min(trigger * 0.7, total / 2),
      limit: shorter,
      keepRecent: Math.min(keepRecent, view.tokens * 0.3),
    }
  }
  // Prefer few, large cuts. A small gain counts only if the request does not fit at all.
  const limit = total > window || view.trigger === 'overflow' ? trigger : trigger * 0.9
  return { window, trigger, goal: trigger * 0.7, limit, keepRecent }
}

function configured(model: string, window: Settings['window']): number | undefined {
  if (typeof window !== 'object') return window
  return Object.hasOwn(window, model) ? window[model] : undefined
}

/** Returns the tokens that a request must grow by before a failed compaction is tried again. */
export function graceOf({ window }: Budget): number {
  return window * 0.05
}
