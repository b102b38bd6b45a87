import type { Extension } from '@provost/core'
import { defineExtension } from '@provost/core'

import { retryDelayMs } from './retry.ts'

/** Retries of a call whose settings do not say how many. */
export const defaultRetries = 2

/**
 * The extension that retries a failed model call, as often as its `maxRetries` allows, where the error is transient and
 * no tool of the provider has run. Every agent has it behind its other extensions, so that they answer first.
 */
export const retries: Extension<unknown> = defineExtension({
  name: 'retries',
  hooks: {
    'model.error'({ class: kind, attempt, error, retryAfterMs, params }) {
      if (attempt > (params.maxRetries ?? defaultRetries)) return undefined
      const { message, retryable = false } = error
      const fault = { class: kind, message, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) }
      const delay = retryDelayMs(fault, attempt)
      return delay === undefined ? undefined : { retryAfterMs: delay }
    },
  },
})
