import type { CheckedKeys, Input, OnApproval } from '@provost/core'
import { ProvostError, checkOptions, displayText, isRecord } from '@provost/core'

import type { Expectations } from './expectations.ts'
import { expectationKeys } from './expectations.ts'
import type { Trajectory } from './trajectory.ts'

/** Scores a run from 0 to 1. */
export type Scorer = (trajectory: Trajectory) => Score | number | Promise<Score | number>

export interface Score {
  readonly score: number
  readonly reason?: string
}

/** An input, and what the agent is expected to do with it. */
export interface EvalCase extends Expectations {
  /** Unique among the cases. */
  readonly name: string
  readonly input: Input
  /** The app value of the run. */
  readonly context?: unknown
  /** The answer to each approval request. Default `deny`. */
  readonly approvals?: 'approve' | 'deny' | OnApproval
  /** Scores by name. With `atLeast`, a lower score fails the run. */
  readonly scores?: Readonly<Record<string, { readonly score: Scorer; readonly atLeast?: number }>>
}

const caseKeys: CheckedKeys<EvalCase> = {
  ...expectationKeys,
  name: true,
  input: true,
  context: true,
  approvals: true,
  scores: true,
}

/** @throws ProvostError `invalid-case`, `unknown-option` */
export function checkCases(cases: unknown): void {
  if (!Array.isArray(cases) || cases.length === 0) throw invalid('There is no case.')
  const names = new Set<string>()
  for (const [index, one] of cases.entries()) {
    if (!isRecord(one) || typeof one['name'] !== 'string' || one['name'] === '')
      throw invalid(`Case ${index} has no name.`)
    const { name } = one
    if (names.has(name)) throw invalid(`Two cases have the name ${displayText(name, { limit: 200 })}.`)
    names.add(name)
    checkOptions(one, caseKeys, `the case ${displayText(name, { limit: 200 })}`)
    if (one['input'] === undefined) throw invalid(`The case ${displayText(name, { limit: 200 })} has no input.`)
  }
}

function invalid(message: string): ProvostError {
  return new ProvostError('invalid-case', message, {
    hint: "Give cases such as { name: 'a refund', input: 'Refund order 17.', calls: ['refund'] }.",
  })
}
