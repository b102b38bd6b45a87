import type { JsonPointer } from '@provost/core'

/** What a human's turn allows. Plain data: the log has it, and a policy compares calls with it. */
export interface Contract {
  readonly version: 1
  /** `words`: rules and a lexicon read the turn. `planner`: a model did, and its answer was validated. */
  readonly deriver: 'words' | 'planner'
  readonly grants: readonly Grant[]
  /** What the user excluded. It outweighs every grant. */
  readonly forbidden: readonly Prohibition[]
  /** Numbers of the turn. A call may use these as amounts. */
  readonly amounts: readonly number[]
  /** The turn asks for amounts that are computed or looked up, such as a difference. */
  readonly computes: boolean
  /** The turn names people by a relation to a record, such as the participants of an event. */
  readonly relations: boolean
  /** The turn delegates to a text, such as a list of tasks. */
  readonly delegates: boolean
  /** Whether the lexicon has verbs of the turn. If it has none, missing grants prove nothing. */
  readonly understood: boolean
}

/** The permission to call one tool in this turn. */
export interface Grant {
  readonly tool: string
  /** Calls in this turn; `many` for a plural, a quantifier, or a tool that only reads an address. */
  readonly calls: number | 'many'
  /**
   * What a call must fulfil besides. `own-values`: all its targets and amounts come from the user or from trusted data.
   * `named-record`: the user named each record that it selects. `described-record`: each has a word of the user's, such as
   * its kind, or was found by such words. Absent: nothing.
   */
  readonly needs?: 'own-values' | 'named-record' | 'described-record'
  /** Values that arguments are limited to. Other arguments are judged by their origin. */
  readonly args: Readonly<Record<JsonPointer, readonly (string | number)[]>>
  /** The words of the user that it rests on. */
  readonly because: string
  /**
   * Tools that the same words ask for. One deed is asked for once: as soon as one of them was called in the turn, the first
   * call of this tool is in doubt.
   */
  readonly yieldsTo?: readonly string[]
}

/** What the user excluded. */
export interface Prohibition {
  readonly tool: string
  /** Excludes only calls with one of these values. Empty: every call. */
  readonly values: readonly string[]
  readonly because: string
}

/** What is known of one tool's part of a contract when it is called. */
export interface ContractView {
  readonly contract: Contract
  /** Calls of the tool that this turn has counted, in all runs of the tree. This call is not among them. */
  readonly used: number
  /** Those with the same arguments. */
  readonly same: number
  /** Those with the same destinations and selectors; 0 for a call without any. */
  readonly toTargets: number
  /** Whether none of them had these times and flags. */
  readonly hasOtherDetails: boolean
  /** Whether none of them had these values of yes or no. */
  readonly hasOtherSwitches: boolean
  /** A call of this turn has done what the words ask for, see {@link Grant.yieldsTo}, and none was of this tool. */
  readonly isServed: boolean
  /** A human has confirmed the contract as a whole, also its doubtful grants. */
  readonly confirmed: boolean
}

/** Returns the sum of the calls that the grants of a tool allow. */
export function allowedCalls(grants: readonly Grant[]): number {
  return grants.reduce((sum, { calls }) => sum + (calls === 'many' ? Number.POSITIVE_INFINITY : calls), 0)
}
