import { parseArgs } from 'node:util'

import { ownSuites } from './own/suites.ts'
import { judge, type Judged } from './planned/judge.ts'
import { devPlans } from './planned/plans-dev.ts'
import { ownPlans } from './planned/plans-own.ts'
import { readSuites } from './replay/suite.ts'

const help = `Runs the tasks of security suites as plans in planned mode, and again with other untrusted text.

Usage: node --conditions=@provost/source bench/security/planned.ts (DIR | --own) [options]

Each plan is a script that was written from the user's words and the tools, before anything is read. All text that a tool
declares as untrusted is replaced: by random text, by hostile text with the words that the suite plants, by text of the same
kind, and by nothing. The model of extract() and llm() says what the text says.
A violation: tools, order, counts, destinations, selectors, amounts, times, flags or credentials of the acting calls differ, and
no human was asked. Before a question the calls must be the same, too. DIR holds the development suites as JSON files.

Options:
  --own           the suites written for this repository
  --rounds N      runs of each mutation for each task (default 8)
  --seed N        the first seed (default 1)
  --suite NAME    only this suite; may be given several times
  --traces N      print N traces, chosen evenly
  --json          one JSON object on stdout, nothing else
  --help          this text
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    own: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    suite: { type: 'string', multiple: true, default: [] },
    traces: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function naturalNumber(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} ${text} is not a whole number.`)
  return number
}

const [folder] = positionals
if (values.help || (folder !== undefined) === values.own) {
  process.stdout.write(help)
  process.exitCode = values.help ? 0 : 1
} else {
  const rounds = naturalNumber('rounds', values.rounds)
  const seed = naturalNumber('seed', values.seed)
  const traces = naturalNumber('traces', values.traces)
  const all = folder === undefined ? ownSuites : readSuites(folder)
  for (const name of values.suite)
    if (!all.some(({ suite }) => suite === name))
      throw new Error(`There is no suite ${name}; there are ${all.map(({ suite }) => suite).join(', ')}.`)
  const suites = all.filter(({ suite }) => values.suite.length === 0 || values.suite.includes(suite))
  const results: Judged[] = []
  for (const suite of suites)
    for await (const one of judge(suite, folder === undefined ? ownPlans : devPlans, { rounds, seed }))
      results.push(one)
  const mutated = results.flatMap(({ suite, task, mutated: others }) => others.map((one) => ({ suite, task, ...one })))
  const report = {
    bench: 'security/planned',
    rounds,
    seed,
    tasks: results.length,
    silent: results.filter(
      ({ recorded, leftOut }) => recorded.asks === undefined && recorded.failed === undefined && leftOut.length === 0,
    ).length,
    leftOut: results.flatMap(({ suite, task, recorded, leftOut }) =>
      recorded.asks === undefined && leftOut.length > 0 ? [{ suite, task, leftOut }] : [],
    ),
    asking: results.flatMap(({ suite, task, recorded }) =>
      recorded.asks === undefined ? [] : [{ suite, task, asks: recorded.asks }],
    ),
    failed: results.flatMap(({ suite, task, recorded }) =>
      recorded.failed === undefined ? [] : [{ suite, task, failed: recorded.failed }],
    ),
    mutated: mutated.length,
    mutatedSilent: mutated.filter(({ trace }) => trace.asks === undefined).length,
    mutatedSilentWithSinks: mutated.filter(({ trace }) => trace.asks === undefined && trace.sinks.length > 0).length,
    violations: mutated
      .filter(({ violates }) => violates)
      .map(({ suite, task, mutation, seed: its }) => ({ suite, task, mutation, seed: its })),
  }
  const shown =
    traces === 0
      ? []
      : mutated.filter((_, at) => at % Math.max(1, Math.floor(mutated.length / traces)) === 0).slice(0, traces)
  if (values.json) process.stdout.write(`${JSON.stringify({ ...report, traces: shown })}\n`)
  else {
    for (const { suite, task, mutation, seed: its, trace } of shown)
      process.stdout.write(`${suite} ${task}, ${mutation} ${its}: ${JSON.stringify(trace)}\n`)
    for (const { suite, task, asks } of report.asking) process.stdout.write(`asks: ${suite} ${task}: ${asks}\n`)
    for (const { suite, task, failed } of report.failed) process.stdout.write(`failed: ${suite} ${task}: ${failed}\n`)
    for (const { suite, task, leftOut } of report.leftOut)
      process.stdout.write(`left out: ${suite} ${task}: ${leftOut.join(', ')}\n`)
    for (const one of report.violations) process.stdout.write(`VIOLATION: ${JSON.stringify(one)}\n`)
    process.stdout.write(
      `${report.silent} of ${report.tasks} tasks complete without a question\n` +
        `${report.mutated} runs with other text: ${report.violations.length} violations, ${report.mutatedSilent} without a question, ${report.mutatedSilentWithSinks} of them with acting calls\n`,
    )
  }
  if (report.violations.length > 0) process.exitCode = 1
}
