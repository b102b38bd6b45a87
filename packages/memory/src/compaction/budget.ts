import type { View } from '@provost/core'

import type { Settings } from './compaction-options.ts'
import type { CompactionState } from './compaction-state.ts'
import { nativeLine } from './provider-compaction.ts'

/** What a request may be long, in tokens of the whole: messages and what is sent beside them. */
export interface Budget {
  readonly window: number
  /** From here on something is done. */
  readonly trigger: number
  /** A way that gets here is good enough: the costlier ones are not tried. */
  readonly goal: number
  /** What does not get below this is not worth the new prefix. */
  readonly limit: number
  readonly keepRecent: number
}

/** The budget of the next request; undefined where nothing is known of the model's window. */
export function budgetOf(view: View, settings: Settings, state: CompactionState): Budget | undefined {
  const { threshold } = settings
  const known = configured(view.model, settings.window) ?? view.window
  const total = view.tokens + view.overhead
  // A model that refuses so much holds less, whatever is said of it.
  const refused = Math.min(
    state.refused.get(view.model) ?? Number.POSITIVE_INFINITY,
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
    // Asked for by hand, it is worth the trouble wherever it makes anything shorter.
    const shorter = Math.min(trigger, total - 1)
    return {
      window,
      trigger,
      goal: Math.min(trigger * 0.7, total / 2),
      limit: shorter,
      keepRecent: Math.min(keepRecent, view.tokens * 0.3),
    }
  }
  // Few, large cuts: what frees little is only good enough where the request does not fit at all.
  const limit = total > window || view.trigger === 'overflow' ? trigger : trigger * 0.9
  return { window, trigger, goal: trigger * 0.7, limit, keepRecent }
}

function configured(model: string, window: Settings['window']): number | undefined {
  if (typeof window !== 'object') return window
  return Object.hasOwn(window, model) ? window[model] : undefined
}

/** How much a request has to grow until what could not be done is tried again. */
export function graceOf({ window }: Budget): number {
  return window * 0.05
}
