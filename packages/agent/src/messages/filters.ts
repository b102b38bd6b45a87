import type { FilterDescriptor, SensitivityRule } from '@provost/core'
import { checkFilter, checkOptions } from '@provost/core'

/**
 * What crosses a handoff, as data. Reasoning and system prompts never cross, whatever the filter, and a call crosses
 * with its result or not at all.
 *
 * @example
 * const filter = filters.compose(filters.bySensitivity({ drop: 'secret' }), filters.lastN(6))
 */
export const filters: {
  /** Everything. */
  full(): FilterDescriptor
  /** The last `n` messages, fewer where that would part a call from its result. */
  lastN(n: number): FilterDescriptor
  /** What the user said last, and nothing else. */
  lastUser(): FilterDescriptor
  /**
   * A summary in place of the history. The agent's own model writes it when the handoff is made; its text goes into the
   * log, so that a replay needs no model.
   *
   * @param options.maxTokens about how long it may be. Default 1,000.
   */
  summary(options?: { maxTokens?: number }): FilterDescriptor
  /**
   * By confidentiality: `{ drop: 'secret' }` leaves out what is at least that secret, `{ keep: 'internal' }` what is more
   * than that, and with `{ require: 'internal' }` the handoff is refused where anything is more than that.
   */
  bySensitivity(rule: SensitivityRule): FilterDescriptor
  /** Reasoning. It never crosses anyway: this says so. */
  stripReasoning(): FilterDescriptor
  /** Puts a word in place of results that are secret. */
  stripSensitiveOutputs(): FilterDescriptor
  /** Leaves out calls of tools and their results. */
  stripToolCalls(): FilterDescriptor
  /** One after the other, each on what those before it left. */
  compose(...filters: readonly FilterDescriptor[]): FilterDescriptor
} = {
  full: () => checkFilter({ kind: 'full' }),
  lastN: (n) => checkFilter({ kind: 'lastN', n }),
  lastUser: () => checkFilter({ kind: 'lastUser' }),
  summary: (options = {}) => {
    checkOptions(options, { maxTokens: true }, 'filters.summary')
    const { maxTokens } = options
    return checkFilter({ kind: 'summary', ...(maxTokens !== undefined && { maxTokens }) })
  },
  bySensitivity: (rule) => checkFilter({ ...rule, kind: 'bySensitivity' }),
  stripReasoning: () => checkFilter({ kind: 'stripReasoning' }),
  stripSensitiveOutputs: () => checkFilter({ kind: 'stripSensitiveOutputs' }),
  stripToolCalls: () => checkFilter({ kind: 'stripToolCalls' }),
  compose: (...parts) => checkFilter({ kind: 'compose', filters: parts }),
}
