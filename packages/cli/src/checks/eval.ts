import { readFile, writeFile } from 'node:fs/promises'

import { displayText, isRecord, ProvostError, toErrorInfo } from '@provost/core'
import type { CaseChange, EvalCase, EvaluatedRun, Evaluation, EvaluationChange } from '@provost/replay'
import { compareEvaluations, evaluate } from '@provost/replay'

import type { Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { watchInterruption } from '../command/interruption.ts'
import type { Terminal } from '../command/terminal.ts'
import { agentIn, exportsOf } from '../project/agent-file.ts'

/** `provost eval FILE` */
export async function evaluateFile(given: Invocation): Promise<number> {
  const { terminal } = given
  const file = given.argument('FILE')
  const agent = await agentIn(file)
  const cases = chosen(await casesIn(file), given.value('only'))
  const [before, output] = [given.value('against'), given.value('output')]
  const earlier = before === undefined ? undefined : await readEvaluation(before)
  const [runs, concurrency, model] = [given.number('runs'), given.number('concurrency'), given.value('model')]
  const interrupt = new AbortController()
  const interruption = watchInterruption(() => interrupt.abort())
  try {
    const evaluation = await evaluate(agent, cases, {
      ...(runs !== undefined && { runs }),
      ...(concurrency !== undefined && { concurrency }),
      ...(model !== undefined && { model }),
      signal: interrupt.signal,
      onRun: (name, run) => terminal.note(runLine(terminal, name, run)),
    })
    if (interruption.exitCode !== undefined) return interruption.exitCode
    if (output !== undefined) await writeFile(output, `${JSON.stringify(evaluation, null, 2)}\n`)
    const change = earlier && compareEvaluations(earlier, evaluation)
    if (terminal.json) terminal.print(displayText(change ? { ...evaluation, change } : evaluation, { limit: Infinity }))
    else if (change) showChange(terminal, change)
    else showEvaluation(terminal, evaluation)
    return (change ? change.ok : evaluation.passed) ? exitCodes.ok : exitCodes.failed
  } catch (thrown) {
    if (interruption.exitCode !== undefined) return interruption.exitCode
    throw thrown
  } finally {
    interruption.end()
  }
}

/** @throws ProvostError `invalid-case` */
async function casesIn(file: string): Promise<readonly EvalCase[]> {
  const { cases } = await exportsOf(file)
  if (isCases(cases)) return cases
  throw new ProvostError('invalid-case', `${displayText(file)} exports no list \`cases\`.`, {
    hint: "Write: export const cases: EvalCase[] = [{ name: 'a refund', input: 'Refund order 17.', calls: ['refund'] }]",
  })
}

/** `evaluate` checks each of them. */
function isCases(cases: unknown): cases is readonly EvalCase[] {
  return Array.isArray(cases)
}

function chosen(cases: readonly EvalCase[], only: string | undefined): readonly EvalCase[] {
  if (only === undefined) return cases
  const found = cases.filter(({ name }) => name.includes(only))
  if (found.length > 0) return found
  throw new ProvostError('invalid-case', `No case has ${displayText(only, { limit: 200 })} in its name.`, {
    hint: `The cases: ${displayText(cases.map(({ name }) => name).join(', '), { limit: 500 })}`,
  })
}

/** @throws ProvostError `unreadable-file` */
async function readEvaluation(file: string): Promise<Evaluation> {
  try {
    const read: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (isEvaluation(read)) return read
  } catch (cause) {
    throw unreadable(file, toErrorInfo(cause).message, cause)
  }
  throw unreadable(file, 'it is no evaluation')
}

function isEvaluation(read: unknown): read is Evaluation {
  const isRun = (run: unknown): boolean =>
    isRecord(run) && isRecord(run['scores']) && isRecord(run['trajectory']) && Array.isArray(run['differences'])
  return (
    isRecord(read) &&
    Array.isArray(read['cases']) &&
    read['cases'].every((one) => isRecord(one) && Array.isArray(one['runs']) && one['runs'].every(isRun))
  )
}

function unreadable(file: string, why: string, cause?: unknown): ProvostError {
  return new ProvostError('unreadable-file', `${displayText(file)} cannot be read: ${displayText(why)}`, {
    hint: 'Pass a file that `provost eval --output FILE` wrote.',
    ...(cause !== undefined && { cause }),
  })
}

function runLine({ green, red }: Terminal, name: string, { passed, differences }: EvaluatedRun): string {
  const lines = differences.map((one) => `\n    ${displayText(one, { limit: 1_000 })}`)
  return `${passed ? green('✓') : red('✗')} ${displayText(name, { limit: 200 })}${lines.join('')}`
}

function showEvaluation(terminal: Terminal, { cases }: Evaluation): void {
  const runs = cases.flatMap((one) => one.runs)
  const passes = runs.filter(({ passed }) => passed).length
  terminal.print(`${passes} of ${runs.length} runs of ${cases.length} cases passed.`)
}

function showChange(terminal: Terminal, { cases, tokens, cost }: EvaluationChange): void {
  const width = Math.min(60, Math.max(4, ...cases.map(({ name }) => name.length)))
  terminal.print(`${'CASE'.padEnd(width)}  BEFORE  NOW   CHANGE`)
  for (const one of cases) {
    const name = displayText(one.name, { limit: 60 }).padEnd(width)
    const paint = one.change === 'regressed' ? terminal.red : one.change === 'improved' ? terminal.green : terminal.dim
    const scores = Object.entries(one.scores).map(
      ([score, { before, now }]) => `${score} ${share(before)} → ${share(now)}`,
    )
    const change = paint(scores.length > 0 ? one.change.padEnd(9) : one.change)
    const row = `${name}  ${percent(one.before)}    ${percent(one.now)}  ${change}`
    terminal.print(scores.length > 0 ? `${row}  ${displayText(scores.join(', '))}` : row)
  }
  const money = cost.before === undefined || cost.now === undefined ? 'unpriced' : `$${cost.before} → $${cost.now}`
  terminal.print(`tokens ${tokens.before} → ${tokens.now}, ${money}`)
}

function percent(rate: CaseChange['now']): string {
  return rate === undefined ? '–   ' : `${Math.round(rate * 100)}%`.padEnd(4)
}

function share(score: number | undefined): string {
  return score === undefined ? '–' : score.toFixed(2)
}
