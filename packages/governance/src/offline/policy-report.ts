import type { Json } from '@provost/core'
import { checkOptions, isRecord } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { RecordedSession } from './exported-session.ts'
import { readExport } from './exported-session.ts'
import type { HumanAnswer, OfflineVerdict } from './judged-call.ts'
import { recordedCalls } from './recorded-verdicts.ts'
import type { OfflineOptions } from './test-policy.ts'
import { judgeRecorded } from './test-policy.ts'

/** Options of {@link reportPolicy}: what to judge with. Without a policy the recorded verdicts are reported. */
export type ReportPolicyOptions = { readonly [K in keyof OfflineOptions]?: OfflineOptions[K] }

/** How many questions something causes, and how humans answered them. */
export interface QuestionCount {
  readonly questions: number
  readonly approved: number
  readonly refused: number
}

/** Questions with the same rule, tool, role and origin. */
export interface QuestionGroup extends QuestionCount {
  readonly rule: string
  readonly tool: string
  readonly role?: string
  readonly origin?: string
}

/** Questions about the same value. */
export interface QuestionValue extends QuestionCount {
  readonly role: string
  readonly value: string
}

/**
 * Trust that would remove questions, all of which humans approved: a value, or a field of a tool's results. It is a
 * proposal: an operator decides whether the value or the field deserves it.
 */
export type TrustProposal = QuestionCount &
  (
    | { readonly kind: 'known-value'; readonly role: string; readonly value: string }
    | { readonly kind: 'trusted-field'; readonly tool: string; readonly field: string }
  )

/** What a policy asks in recorded sessions, or would ask. */
export interface PolicyReport extends QuestionCount {
  readonly sessions: number
  /** Runs without those of children. */
  readonly runs: number
  readonly questionsPer100Runs: number
  readonly denials: number
  /** Calls that could not be judged. */
  readonly unknown: number
  /** The most frequent first. */
  readonly groups: readonly QuestionGroup[]
  /** The ten most frequent values. */
  readonly values: readonly QuestionValue[]
  /** Questions that go away once the policy knows all of `values`. Each question names the first value it is about. */
  readonly removedByValues: number
  readonly proposals: readonly TrustProposal[]
}

const optionKeys = { policy: true, agents: true, tools: true, rederive: true } satisfies KnownKeys<ReportPolicyOptions>

/** Values, groups and proposals that a report lists. */
const mostValues = 10
const mostRows = 50

interface Question {
  readonly tool: string
  readonly verdict: OfflineVerdict
  readonly human?: HumanAnswer | undefined
}

/**
 * Reports how often a policy asks and why: by rule, tool, role and origin, with the commonest values and the answers of
 * humans. Of shadow runs it reports the questions that the policy would have asked.
 *
 * @param sessions outputs of `exportSession`, or the entries of logs.
 * @param options a policy and agents to judge with. Default: the recorded verdicts.
 * @throws ProvostError `unreadable-export`, `invalid-policy`
 *
 * @example
 * const { questionsPer100Runs, groups } = await reportPolicy(exports)
 */
export async function reportPolicy(
  sessions: Iterable<RecordedSession>,
  options: ReportPolicyOptions = {},
): Promise<PolicyReport> {
  checkOptions(options, optionKeys, 'reportPolicy')
  const { policy, agents = [], tools = [], rederive = false } = options
  const all = [...sessions]
  let runs = 0
  const recorded: Question[] = []
  for (const session of all) {
    for (const entries of readExport(session).logs.values()) {
      runs += entries.filter((one) => one.type === 'run' && one.op === 'started' && !one.parent).length
      if (policy) continue
      for (const { verdict, human } of recordedCalls(entries).values()) {
        if (verdict.rule !== undefined) recorded.push({ tool: toolIn(verdict), verdict, human })
      }
    }
  }
  const calls = policy ? (await judgeRecorded(all, { policy, agents, tools, rederive })).calls : recorded
  const asked = calls.filter(({ verdict }) => verdict.decision === 'ask')
  const values = mostFrequent(valuesOf(asked)).slice(0, mostValues)
  const { questions, approved, refused } = countOf(asked)
  return {
    sessions: all.length,
    runs,
    questionsPer100Runs: runs === 0 ? 0 : Math.round((1000 * questions) / runs) / 10,
    ...{ questions, approved, refused },
    denials: calls.filter(({ verdict }) => verdict.decision === 'deny').length,
    unknown: calls.filter(({ verdict }) => verdict.decision === 'unknown').length,
    groups: mostFrequent(groupsOf(asked)).slice(0, mostRows),
    values,
    removedByValues: values.reduce((sum, one) => sum + one.questions, 0),
    proposals: mostFrequent([...proposedValues(asked), ...proposedFields(asked)]).slice(0, mostRows),
  }
}

function countOf(questions: readonly Question[]): QuestionCount {
  const approved = questions.filter(({ human }) => human?.decision === 'approve' && !human.edited).length
  const refused = questions.filter(({ human }) => human?.decision === 'deny' || human?.edited === true).length
  return { questions: questions.length, approved, refused }
}

function mostFrequent<T extends QuestionCount>(rows: readonly T[]): readonly T[] {
  return rows.toSorted((a, b) => b.questions - a.questions)
}

/** Returns what the evidence says of the value that a question is about. */
function subjectOf({ verdict }: Question): Readonly<Record<string, unknown>> {
  const said = isRecord(verdict.evidence) ? verdict.evidence['evidence'] : undefined
  return isRecord(said) ? said : {}
}

function toolIn({ evidence }: OfflineVerdict): string {
  return textIn(isRecord(evidence) ? evidence['tool'] : undefined)
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function groupsOf(asked: readonly Question[]): readonly QuestionGroup[] {
  return grouped(asked, (question) => {
    const { role, origin } = subjectOf(question)
    return [question.verdict.rule ?? '', question.tool, textIn(role), textIn(origin)]
  }).map(([[rule = '', tool = '', role, origin], own]) => ({
    ...{ rule, tool },
    ...(role && { role }),
    ...(origin && { origin }),
    ...countOf(own),
  }))
}

function valuesOf(asked: readonly Question[]): readonly QuestionValue[] {
  const valued = asked.filter((question) => textIn(subjectOf(question)['value']) !== '')
  return grouped(valued, (question) => {
    const { role, value } = subjectOf(question)
    return [textIn(role), textIn(value)]
  }).map(([[role = '', value = ''], own]) => ({ role, value, ...countOf(own) }))
}

function isProposed({ questions, approved }: QuestionCount): boolean {
  return approved > 0 && approved === questions
}

function proposedValues(asked: readonly Question[]): readonly TrustProposal[] {
  return valuesOf(asked)
    .filter((one) => isProposed(one) && (one.role === 'destination' || one.role === 'selector'))
    .map((one) => ({ kind: 'known-value', ...one }))
}

/** Proposes fields whose values were all approved; their place in a list is left open. */
function proposedFields(asked: readonly Question[]): readonly TrustProposal[] {
  const placed = asked.filter((question) => placeOf(question) !== undefined)
  return grouped(placed, (question) => placeOf(question) ?? [])
    .map(([[tool = '', field = ''], own]) => ({ kind: 'trusted-field' as const, tool, field, ...countOf(own) }))
    .filter(isProposed)
}

function placeOf(question: Question): readonly [string, string] | undefined {
  const { from }: { readonly from?: unknown } = subjectOf(question)
  const first: Json | undefined = Array.isArray(from) && from.length === 1 ? from[0] : undefined
  if (!isRecord(first)) return undefined
  const tool = textIn(first['source'])
  const place = textIn(first['place'])
  return tool === '' || place === '' ? undefined : [tool, place.replaceAll(/\/\d+(?=\/|$)/g, '/*')]
}

/** Groups questions by a list of texts. */
function grouped(
  questions: readonly Question[],
  key: (question: Question) => readonly string[],
): readonly (readonly [readonly string[], readonly Question[]])[] {
  const groups = new Map<string, { readonly parts: readonly string[]; readonly own: Question[] }>()
  for (const question of questions) {
    const parts = key(question)
    const name = JSON.stringify(parts)
    const known = groups.get(name)
    if (known) known.own.push(question)
    else groups.set(name, { parts, own: [question] })
  }
  return [...groups.values()].map(({ parts, own }) => [parts, own] as const)
}
