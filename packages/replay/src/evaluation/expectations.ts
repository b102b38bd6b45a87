import type { CheckedKeys, Json, KnownKeys, RunStatus } from '@provost/core'
import { checkOptions, displayText, isRecord, toErrorInfo } from '@provost/core'

import type { Trajectory, TrajectoryCall } from './trajectory.ts'

/** A tool call, by the name of its tool or also by its input. */
export type CallPattern =
  | string
  | {
      readonly tool: string
      /** The keys that the input must have, with these values; other keys are free. Or a function of the input. */
      readonly input?: Json | ((input: Json) => boolean)
    }

/** Checks an answer: a text that it contains, a pattern that it matches, or a function that returns why it is wrong. */
export type AnswerCheck =
  | string
  | RegExp
  | ((answer: string, trajectory: Trajectory) => string | undefined | Promise<string | undefined>)

/** The most that a run may use. */
export interface RunLimits {
  readonly steps?: number
  /** Calls that ran. */
  readonly toolCalls?: number
  /** Input and output. */
  readonly tokens?: number
  /** US dollars. A run with an unknown price fails it. */
  readonly cost?: number
  readonly durationMs?: number
}

/** What is expected of a run. */
export interface Expectations {
  /** How the run ends. Default `completed`. */
  readonly status?: RunStatus
  /** Calls that succeed, in this order; other calls may stand between them. */
  readonly calls?: readonly CallPattern[]
  /** Calls that do not run. A call that is refused has not run. */
  readonly never?: readonly CallPattern[]
  readonly answer?: AnswerCheck | readonly AnswerCheck[]
  readonly limits?: RunLimits
}

const limitKeys = {
  steps: true,
  toolCalls: true,
  tokens: true,
  cost: true,
  durationMs: true,
} satisfies KnownKeys<RunLimits>

/** The checks of the expectations of a case. */
export const expectationKeys: CheckedKeys<Expectations> = {
  status: true,
  calls: true,
  never: true,
  answer: true,
  limits: (value, name, where) => checkOptions(value, limitKeys, `${name} of ${where}`),
}

/**
 * Returns how a run differs from what is expected, one sentence for each difference.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * const trajectory = await trajectoryOf(desk.stream('Refund order 17.'))
 * expect(await differencesOf(trajectory, { calls: ['refund'], never: ['send_email'] })).toEqual([])
 */
export async function differencesOf(trajectory: Trajectory, expected: Expectations): Promise<readonly string[]> {
  checkOptions(expected, expectationKeys, 'differencesOf')
  const { status = 'completed', calls = [], never = [], answer = [], limits = {} } = expected
  const differences: string[] = []
  if (trajectory.status !== status) {
    const why = trajectory.error ? `: ${trajectory.error.code} ${trajectory.error.message}` : ''
    differences.push(`The run is ${trajectory.status}, not ${status}${displayText(why, { limit: 500 })}`)
  }
  differences.push(...missing(trajectory.calls, calls))
  for (const pattern of never) {
    const found = trajectory.calls.find((call) => hasRun(call) && matches(call, pattern))
    if (found) differences.push(`${callText(found)} ran, and must not.`)
  }
  for (const check of Array.isArray(answer) ? answer : [answer]) {
    const difference = await answerDifference(trajectory, check)
    if (difference !== undefined) differences.push(difference)
  }
  return [...differences, ...exceeded(trajectory, limits)]
}

function missing(calls: readonly TrajectoryCall[], patterns: readonly CallPattern[]): readonly string[] {
  let at = 0
  for (const pattern of patterns) {
    const found = calls.findIndex((call, index) => index >= at && call.outcome === 'ok' && matches(call, pattern))
    if (found < 0) {
      const made = calls.map((call) => `${callText(call)} ${call.outcome}`).join(', ')
      const after = at > 0 ? ' after the expected calls before it' : ''
      return [`${patternText(pattern)} did not succeed${after}. The calls: ${made === '' ? 'none' : made}.`]
    }
    at = found + 1
  }
  return []
}

function hasRun({ outcome }: TrajectoryCall): boolean {
  return outcome === 'ok' || outcome === 'failed'
}

function matches(call: TrajectoryCall, pattern: CallPattern): boolean {
  if (typeof pattern === 'string') return call.toolName === pattern
  const { tool, input } = pattern
  if (call.toolName !== tool) return false
  if (input === undefined) return true
  return typeof input === 'function' ? input(call.input) : includes(call.input, input)
}

/** Whether a value has all that another one has. */
function includes(value: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(value) && value.length === part.length && part.every((one, i) => includes(value[i], one))
  }
  if (!isRecord(part)) return value === part
  if (!isRecord(value)) return false
  return Object.entries(part).every(([key, one]) => Object.hasOwn(value, key) && includes(value[key], one))
}

async function answerDifference(trajectory: Trajectory, check: AnswerCheck): Promise<string | undefined> {
  const { answer } = trajectory
  const shown = displayText(answer, { limit: 300 })
  if (typeof check === 'string') return answer.includes(check) ? undefined : `The answer has no “${check}”: ${shown}`
  if (check instanceof RegExp) {
    // A pattern with the flag g begins where its last match ended.
    return answer.search(check) >= 0 ? undefined : `The answer does not match ${String(check)}: ${shown}`
  }
  try {
    return await check(answer, trajectory)
  } catch (thrown) {
    return `A check of the answer failed: ${displayText(toErrorInfo(thrown).message, { limit: 500 })}`
  }
}

function exceeded(trajectory: Trajectory, limits: RunLimits): readonly string[] {
  const { steps, inputTokens, outputTokens, cost, durationMs, calls } = trajectory
  const used: Readonly<Record<keyof RunLimits, number | undefined>> = {
    steps,
    toolCalls: calls.filter(hasRun).length,
    tokens: inputTokens + outputTokens,
    cost,
    durationMs,
  }
  const names: readonly (keyof RunLimits)[] = ['steps', 'toolCalls', 'tokens', 'cost', 'durationMs']
  return names.flatMap((name) => {
    const [limit, value] = [limits[name], used[name]]
    if (limit === undefined || (value !== undefined && value <= limit)) return []
    return [`${name} is ${value ?? 'unknown'}, over ${limit}.`]
  })
}

function callText({ toolName, input }: TrajectoryCall): string {
  return `${displayText(toolName, { limit: 100 })} ${displayText(input, { limit: 200 })}`
}

function patternText(pattern: CallPattern): string {
  if (typeof pattern === 'string') return pattern
  const { tool, input } = pattern
  return input === undefined || typeof input === 'function' ? tool : `${tool} ${displayText(input, { limit: 200 })}`
}
