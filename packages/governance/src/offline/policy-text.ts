import type { KnownKeys } from '@provost/core'
import { checkOptions, displayText } from '@provost/core'

import type { OfflineVerdict } from './judged-call.ts'
import type { PolicyReport, QuestionCount } from './policy-report.ts'
import type { PolicyTest, TestedCall } from './test-policy.ts'

/** Options of {@link policyTestText} and {@link policyReportText}. */
export interface PolicyTextOptions {
  /** Show values of arguments, and reasons that quote them. Default: only names, roles and origins. */
  readonly values?: boolean
}

const optionKeys = { values: true } satisfies KnownKeys<PolicyTextOptions>

/** Characters of a value, and rows of a table. */
const longestValue = 80
const mostRows = 200

const shown = (text: string): string => displayText(text, { limit: longestValue })

/**
 * Returns the result of `testPolicy` as text for a terminal: the changed calls, the counts, and the coverage.
 *
 * @example
 * process.stdout.write(policyTestText(await testPolicy(exports, { policy, agents })))
 */
export function policyTestText(test: PolicyTest, options: PolicyTextOptions = {}): string {
  checkOptions(options, optionKeys, 'policyTestText')
  const { values = false } = options
  const changed = test.calls.filter(({ change }) => change !== 'unchanged')
  const lines = changed.slice(0, mostRows).flatMap((call) => linesOf(call, values))
  if (changed.length > mostRows) lines.push(`… and ${changed.length - mostRows} more`)
  const counts = Object.entries(test.counts).filter(([, number]) => number > 0)
  lines.push(
    '',
    `${count(test.calls.length, 'call')} in ${count(test.sessions, 'session')}: ${counts.map(([change, number]) => `${number} ${change}`).join(', ') || 'none'}`,
    '',
    'rule: evaluated, hit, decisive, refused by a human',
    ...test.coverage.rules.map(
      ({ rule, evaluated, hit, decisive, refused }) =>
        `  ${shown(rule)}: ${evaluated}, ${hit}, ${decisive}, ${refused}${hit === 0 ? '  (never hit)' : ''}`,
    ),
  )
  for (const { tool, undeclared, guessed } of test.coverage.tools) {
    if (undeclared) lines.push(`${shown(tool)}: declares no roles; ${guessed} roles were guessed`)
    else if (guessed > 0) lines.push(`${shown(tool)}: ${guessed} roles were guessed`)
  }
  for (const { tool, grants, unused } of test.coverage.grants)
    if (unused > 0) lines.push(`${shown(tool)}: ${unused} of ${grants} grants were never used`)
  lines.push('', test.ok ? 'passed' : 'FAILED')
  return textOf(lines)
}

function linesOf(call: TestedCall, values: boolean): readonly string[] {
  const { change, tool, agent, session, callId, human, counterfactual, redefined } = call
  const notes = [
    ...(human
      ? [
          `${human.decision === 'approve' ? 'approved' : 'refused'} by ${shown(human.by)}${human.edited ? ', with other arguments' : ''}`,
        ]
      : []),
    ...(counterfactual ? ['counterfactual'] : []),
    ...(redefined ? ['the tool was redefined'] : []),
  ]
  return [
    `${change}: ${shown(agent)} → ${shown(tool)}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`,
    `  ${shown(session)} ${displayText(callId, { limit: 200 })}`,
    `  ${verdictText(call.before, values)} → ${verdictText(call.verdict, values)}`,
    ...call.arguments.map(
      ({ path, role, origin, value }) =>
        `  ${shown(path)} ${role}${origin === undefined ? '' : ` from ${origin}`}${values ? `: ${shown(value)}` : ''}`,
    ),
  ]
}

function verdictText({ decision, rule, reason, missing }: OfflineVerdict, values: boolean): string {
  if (missing) return `cannot judge without ${missing.map(shown).join(', ')}`
  const by = rule === undefined ? '' : ` by ${shown(rule)}`
  return `${decision}${by}${values && reason !== undefined ? `: ${displayText(reason, { limit: 200 })}` : ''}`
}

/**
 * Returns the result of `reportPolicy` as text for a terminal.
 *
 * @example
 * process.stdout.write(policyReportText(await reportPolicy(exports), { values: true }))
 */
export function policyReportText(report: PolicyReport, options: PolicyTextOptions = {}): string {
  checkOptions(options, optionKeys, 'policyReportText')
  const { values = false } = options
  const { sessions, runs, denials, unknown, groups, proposals, questionsPer100Runs } = report
  const lines = [
    `${count(runs, 'run')} in ${count(sessions, 'session')}: ${answersText(report)}, ${count(denials, 'denial')}${unknown > 0 ? `, ${unknown} that cannot be judged` : ''}`,
    `${questionsPer100Runs} questions per 100 runs`,
    ...groups.map(
      ({ rule, tool, role, origin, ...counts }) =>
        `  ${shown(rule)}, ${shown(tool)}${role === undefined ? '' : `, ${shown(role)}`}${origin === undefined ? '' : ` from ${shown(origin)}`}: ${answersText(counts)}`,
    ),
  ]
  if (report.values.length > 0) {
    lines.push(
      `Trusting the commonest values (${report.values.length}) removes ${count(report.removedByValues, 'question')}.`,
    )
    if (values) for (const one of report.values) lines.push(`  ${shown(one.value)} (${one.role}): ${answersText(one)}`)
  }
  for (const one of proposals) {
    if (one.kind === 'trusted-field')
      lines.push(
        `proposal: trustedFields: ['${shown(one.field)}'] of ${shown(one.tool)} removes ${count(one.questions, 'question')}`,
      )
    else if (values)
      lines.push(`proposal: the ${one.role} ${shown(one.value)} removes ${count(one.questions, 'question')}`)
  }
  return textOf(lines)
}

function answersText({ questions, approved, refused }: QuestionCount): string {
  return `${count(questions, 'question')} (${approved} approved, ${refused} refused)`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
