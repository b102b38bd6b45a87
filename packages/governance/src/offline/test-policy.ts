import type { Agent } from '@provost/agent'
import type { KnownKeys, ToolInfo } from '@provost/core'
import { checkChoice, checkOptions } from '@provost/core'

import type { DataFlowPolicyOptions } from '../data-flow/data-flow-policy.ts'
import { dataFlowPolicy, selectedRules } from '../data-flow/data-flow-policy.ts'
import type { RecordedSession } from './exported-session.ts'
import { readExport } from './exported-session.ts'
import { judgeSession } from './judge-session.ts'
import type { JudgedCall, OfflineVerdict } from './judged-call.ts'
import { knownAgents } from './known-agents.ts'
import type { FailOn, PolicyChange } from './policy-change.ts'
import { changeOf, fails, noChanges } from './policy-change.ts'
import type { PolicyCoverage } from './policy-coverage.ts'
import { coverageTally } from './policy-coverage.ts'

/** What {@link judgeRecorded} needs beside the sessions. */
export interface OfflineOptions {
  /** The policy to judge with, as for `dataFlowPolicy`. It judges as with `mode: 'enforce'`. */
  readonly policy: DataFlowPolicyOptions
  /** The agents of the sessions, with their tools. A call of another agent or tool cannot be judged. */
  readonly agents: readonly Agent<unknown, never>[]
  /** Tools that the agents get from servers, which are not called offline. */
  readonly tools?: readonly ToolInfo[]
  /** Derive contracts and intents again. Default: those of the log. */
  readonly rederive?: boolean
}

/** Options of {@link testPolicy}. */
export interface TestPolicyOptions extends OfflineOptions {
  /** What the policy is compared with: the recorded verdicts, or another policy. Default `recorded`. */
  readonly against?: 'recorded' | DataFlowPolicyOptions
  /** Which changes make the test fail. Default `loosened`. */
  readonly failOn?: FailOn
}

/** A call whose verdict was compared. */
export interface TestedCall extends JudgedCall {
  readonly before: OfflineVerdict
  readonly change: PolicyChange
  /** It follows a changed verdict of the same run: the model would have seen something else. */
  readonly counterfactual: boolean
}

/** The result of {@link testPolicy}. */
export interface PolicyTest {
  /** No call has a change that fails the test. */
  readonly ok: boolean
  readonly sessions: number
  readonly calls: readonly TestedCall[]
  readonly counts: Readonly<Record<PolicyChange, number>>
  readonly coverage: PolicyCoverage
}

const offlineKeys = { policy: true, agents: true, tools: true, rederive: true } satisfies KnownKeys<OfflineOptions>
const optionKeys = { ...offlineKeys, against: true, failOn: true } satisfies KnownKeys<TestPolicyOptions>

/**
 * Judges each recorded call that writes or sends with a policy, at its position in the log, and compares the verdict with
 * the recorded one. No model and no tool is called. What the record lacks gives `cannot-judge`, never `allow`.
 *
 * @param sessions outputs of `exportSession`, or the entries of logs.
 * @throws ProvostError `unreadable-export`, `invalid-policy`
 *
 * @example
 * const { ok, counts } = await testPolicy([readFileSync('ann-17.jsonl', 'utf8')], {
 *   policy: { mode: 'enforce', rules: [onlyAcme, ...presets.intent] },
 *   agents: [desk],
 * })
 */
export async function testPolicy(sessions: Iterable<RecordedSession>, options: TestPolicyOptions): Promise<PolicyTest> {
  checkOptions(options, optionKeys, 'testPolicy')
  const { against = 'recorded', failOn = 'loosened', ...judging } = options
  checkChoice(failOn, ['loosened', 'tightened', 'any'], 'failOn', 'testPolicy')
  if (typeof against === 'string') checkChoice(against, ['recorded'], 'against', 'testPolicy')
  const all = [...sessions]
  const { calls, coverage } = await judgeRecorded(all, judging)
  const other = typeof against === 'string' ? undefined : await judgeRecorded(all, { ...judging, policy: against })
  const changed = new Set<string>()
  const counts = { ...noChanges }
  const tested = calls.map((call, index): TestedCall => {
    const before = other ? (other.calls[index]?.verdict ?? { decision: 'unknown' }) : call.recorded
    const change = changeOf(call, before)
    const run = `${call.session}\n${call.rootId}`
    const counterfactual = changed.has(run)
    if (change !== 'unchanged' && change !== 'moved') changed.add(run)
    counts[change]++
    return { ...call, before, change, counterfactual }
  })
  const ok = !tested.some(({ change }) => fails(change, failOn))
  return { ok, sessions: all.length, calls: tested, counts, coverage }
}

/** The calls of recorded sessions as a policy judges them, and what they exercise of it. */
export interface JudgedRecord {
  readonly calls: readonly JudgedCall[]
  readonly coverage: PolicyCoverage
}

/** Judges recorded calls with a policy. */
export async function judgeRecorded(
  sessions: Iterable<RecordedSession>,
  options: OfflineOptions,
): Promise<JudgedRecord> {
  checkOptions(options, offlineKeys, 'judgeRecorded')
  const { policy, agents, tools = [], rederive = false } = options
  // Check the policy itself: the rules below are wrapped.
  dataFlowPolicy(policy)
  const { rules, contracts } = selectedRules(policy)
  const { guardTrifecta: _, ...rest } = policy
  const tally = coverageTally(rules)
  const known = knownAgents(agents, tools)
  const calls: JudgedCall[] = []
  for (const session of sessions) {
    const extension = dataFlowPolicy({ ...rest, mode: 'enforce', rules: tally.rules, contracts })
    const judging = { policy: { ...tally, extension }, agents: known, rederive }
    for (const call of await judgeSession(readExport(session), judging)) calls.push(call)
  }
  return { calls, coverage: tally.coverageOf(calls) }
}
