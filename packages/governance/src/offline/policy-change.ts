import type { JudgedCall, OfflineDecision, OfflineVerdict } from './judged-call.ts'

/**
 * How a policy differs from another one on a recorded call.
 *
 * - `unchanged`: the same verdict by the same rule.
 * - `moved`: the same verdict by another rule.
 * - `loosened`: a weaker verdict.
 * - `tightened`: a stricter verdict.
 * - `now-asks-human-agreed`: a question about a call that a human had approved for another reason.
 * - `now-allows-human-refused`: no objection to a call that a human had refused.
 * - `cannot-judge`: the record lacks something that the policy needs.
 */
export type PolicyChange =
  | 'unchanged'
  | 'moved'
  | 'loosened'
  | 'tightened'
  | 'now-asks-human-agreed'
  | 'now-allows-human-refused'
  | 'cannot-judge'

/** A count for each change, in the order of their weight. */
export const noChanges: Readonly<Record<PolicyChange, number>> = {
  'now-allows-human-refused': 0,
  loosened: 0,
  tightened: 0,
  'now-asks-human-agreed': 0,
  'cannot-judge': 0,
  moved: 0,
  unchanged: 0,
}

const strictness: Readonly<Record<OfflineDecision, number>> = { allow: 0, ask: 1, deny: 2, unknown: Number.NaN }

/** Returns how the verdict on a call differs from an earlier one. */
export function changeOf({ human, verdict }: JudgedCall, before: OfflineVerdict): PolicyChange {
  if (verdict.decision === 'unknown' || before.decision === 'unknown') return 'cannot-judge'
  const difference = strictness[verdict.decision] - strictness[before.decision]
  if (verdict.decision === 'allow' && difference < 0 && isRefused(human)) return 'now-allows-human-refused'
  if (verdict.decision === 'ask' && difference > 0 && human && !isRefused(human)) return 'now-asks-human-agreed'
  if (difference !== 0) return difference < 0 ? 'loosened' : 'tightened'
  return verdict.rule === before.rule ? 'unchanged' : 'moved'
}

/** Returns whether a human refused the call as it was: by a denial, or by approving other arguments. */
function isRefused(human: JudgedCall['human']): boolean {
  return human?.decision === 'deny' || human?.edited === true
}

/** Which changes fail a test. */
export type FailOn = 'loosened' | 'tightened' | 'any'

/**
 * Returns whether a change fails a test. What a human had refused always does. A call that cannot be judged may be any
 * change, so it fails too.
 */
export function fails(change: PolicyChange, failOn: FailOn): boolean {
  if (change === 'now-allows-human-refused' || change === 'cannot-judge') return true
  if (failOn === 'any') return change !== 'unchanged'
  if (failOn === 'loosened') return change === 'loosened'
  return change === 'tightened' || change === 'now-asks-human-agreed'
}
