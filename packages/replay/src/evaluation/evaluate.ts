import type { Agent } from '@provost/agent'
import type { KnownKeys, ModelSpec, OnApproval } from '@provost/core'
import { ProvostError, checkOptions, toErrorInfo } from '@provost/core'

import { checkCases } from './eval-case.ts'
import type { EvalCase, Scorer } from './eval-case.ts'
import { differencesOf } from './expectations.ts'
import type { Trajectory } from './trajectory.ts'
import { trajectoryOf } from './trajectory.ts'

/** Options of {@link evaluate}. */
export interface EvaluateOptions {
  /** How often each case runs. Models vary: a case that passes 4 of 5 times is worth knowing. Default 1. */
  readonly runs?: number
  /** Runs at the same time. Default 4. */
  readonly concurrency?: number
  /** Replaces the model of the agent. Agents that it hands over to, and its children, keep their own. */
  readonly model?: ModelSpec
  /** Ends the evaluation: running cases are aborted, others are not started. */
  readonly signal?: AbortSignal
  /** Called after each run. */
  readonly onRun?: (name: string, run: EvaluatedRun) => void
}

/** One run of a case. */
export interface EvaluatedRun {
  /** No difference, and no score below its least value. */
  readonly passed: boolean
  /** How the run differs from what is expected, a sentence each. */
  readonly differences: readonly string[]
  /** By name, from 0 to 1. */
  readonly scores: Readonly<Record<string, { readonly score: number; readonly reason?: string }>>
  readonly trajectory: Trajectory
}

/** A case and its runs. */
export interface EvaluatedCase {
  readonly name: string
  /** Runs that passed. */
  readonly passes: number
  readonly runs: readonly EvaluatedRun[]
}

/** What an evaluation found. It is JSON: store it, and compare a later one with it. */
export interface Evaluation {
  readonly agent: string
  /** Each run of each case passed. */
  readonly passed: boolean
  readonly cases: readonly EvaluatedCase[]
}

const optionKeys = {
  runs: true,
  concurrency: true,
  model: true,
  signal: true,
  onRun: true,
} satisfies KnownKeys<EvaluateOptions>

const mostRuns = 1_000
const mostConcurrent = 100

/**
 * Runs an agent on cases, and compares what it does with what they expect. Each run has a session of its own in the store
 * of the agent. Its tools run: give it some that do no harm.
 *
 * @throws ProvostError `invalid-case`, `invalid-option`, `unknown-option`
 *
 * @example
 * const { passed, cases } = await evaluate(desk, [
 *   { name: 'a faulty kettle', input: 'Refund order 17.', calls: [{ tool: 'refund', input: { orderId: '17' } }] },
 *   { name: 'a mail with orders', input: 'Read my mail.', never: ['send_email'] },
 * ])
 */
export async function evaluate(
  agent: Agent<unknown>,
  cases: readonly EvalCase[],
  options: EvaluateOptions = {},
): Promise<Evaluation> {
  checkOptions(options, optionKeys, 'evaluate')
  checkCases(cases)
  const runs = whole('runs', options.runs ?? 1, mostRuns)
  const concurrency = whole('concurrency', options.concurrency ?? 4, mostConcurrent)
  const done = cases.map((): EvaluatedRun[] => [])
  const open = cases.flatMap((one, index) => Array.from({ length: runs }, () => ({ one, index })))
  const work = async (): Promise<void> => {
    for (let next = open.shift(); next; next = open.shift()) {
      options.signal?.throwIfAborted()
      const run = await runCase(agent, next.one, options)
      done[next.index]?.push(run)
      options.onRun?.(next.one.name, run)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, open.length) }, work))
  const evaluated = cases.map(({ name }, index): EvaluatedCase => {
    const all = done[index] ?? []
    return { name, passes: all.filter(({ passed }) => passed).length, runs: all }
  })
  return { agent: agent.name, passed: evaluated.every((one) => one.passes === one.runs.length), cases: evaluated }
}

async function runCase(
  agent: Agent<unknown>,
  one: EvalCase,
  { model, signal }: EvaluateOptions,
): Promise<EvaluatedRun> {
  const { name: _, input, approvals = 'deny', scores = {}, context, ...expected } = one
  const onApproval: OnApproval = typeof approvals === 'function' ? approvals : () => approvals
  const trajectory = await trajectoryOf(
    agent.stream(input, { onApproval, context, ...(model !== undefined && { model }), ...(signal && { signal }) }),
  )
  const differences = [...(await differencesOf(trajectory, expected))]
  const given: Record<string, { score: number; reason?: string }> = {}
  for (const [name, { score, atLeast = 0 }] of Object.entries(scores)) {
    const found = await scored(score, trajectory)
    if ('failed' in found) differences.push(`The score ${name} failed: ${found.failed}`)
    else {
      given[name] = found
      if (found.score < atLeast) differences.push(`The score ${name} is ${found.score}, below ${atLeast}.`)
    }
  }
  return { passed: differences.length === 0, differences, scores: given, trajectory }
}

async function scored(
  score: Scorer,
  trajectory: Trajectory,
): Promise<{ score: number; reason?: string } | { failed: string }> {
  try {
    const answer = await score(trajectory)
    const found = typeof answer === 'number' ? { score: answer } : answer
    if (found.score >= 0 && found.score <= 1) return found
    return { failed: `${found.score} is not from 0 to 1` }
  } catch (thrown) {
    return { failed: toErrorInfo(thrown).message }
  }
}

function whole(name: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value
  throw new ProvostError('invalid-option', `The option "${name}" of evaluate is ${String(value)}.`, {
    hint: `Give a whole number from 1 to ${most}.`,
  })
}
