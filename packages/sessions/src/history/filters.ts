import type { FilterDescriptor, SensitivityRule } from '@provost/core'
import { checkFilter, checkOptions } from '@provost/core'

/**
 * What a handoff transfers, as data. Reasoning and system prompts never transfer. A call transfers with its result or
 * not at all.
 *
 * @example
 * const filter = filters.compose(filters.bySensitivity({ drop: 'secret' }), filters.lastN(6))
 */
export const filters: {
  /** Everything. */
  full(): FilterDescriptor
  /** The last `n` messages, or fewer where a call would be separated from its result. */
  lastN(n: number): FilterDescriptor
  /** Only the last turn of the user. */
  lastUser(): FilterDescriptor
  /**
   * A summary instead of the history. The agent's own model writes it at the handoff; the log records its text, so that
   * a replay needs no model.
   *
   * @param options.maxTokens approximate length. Default 1,000.
   */
  summary(options?: { maxTokens?: number }): FilterDescriptor
  /**
   * By confidentiality. `{ drop: 'secret' }` removes everything at that level or above, `{ keep: 'internal' }`
   * everything above that level. With `{ require: 'internal' }` the handoff fails if anything is above that level.
   */
  bySensitivity(rule: SensitivityRule): FilterDescriptor
  /** Removes reasoning. It never transfers anyway: this makes it explicit. */
  stripReasoning(): FilterDescriptor
  /** Replaces secret results with a placeholder. */
  stripSensitiveOutputs(): FilterDescriptor
  /** Removes tool calls and their results. */
  stripToolCalls(): FilterDescriptor
  /** Applies filters in order, each to the result of the previous one. */
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
