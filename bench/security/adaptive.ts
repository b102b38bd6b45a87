import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { dataFlowPolicy, presets } from 'provost/governance'

import { run } from './adaptive/attempt.ts'
import { moves } from './adaptive/moves.ts'
import { preparations } from './adaptive/preparations.ts'
import { reportOf, shareOf, tablesOf } from './adaptive/report.ts'
import { search } from './adaptive/search.ts'
import type { TaskResult } from './adaptive/search.ts'
import { lastSuites } from './last/suites.ts'
import { ownSuites } from './own/suites.ts'
import { readSuites } from './replay/suite.ts'
import type { Suite } from './replay/suite.ts'

const help = `Searches for calls that a policy lets pass and the user did not ask for, as an attacker does who knows the policy.

Usage: node --conditions=@provost/source bench/security/adaptive.ts (DIR | --own | --last) [options]

The attacker knows rules, tools, roles and the user's words, writes what is read from outside, and has a model that obeys.
The attacker does not see secret values. The runtime and the policy are the real ones. A success is a call with an effect that ran
without a question and is not one of the user's own. The search is breadth-first: each move alone, then with one
preparation, then with two.

DIR holds suites as JSON files, as for replay.ts.

Options:
  --own            the suites written for this repository
  --last           those that were written last; measure them once
  --suite NAME     only this suite; may be given several times
  --budget N       calls that the policy judges for one task, at most (default 10000)
  --moves LIST     only these moves and preparations, separated by commas
  --length N       the most moves of a sequence: 1, 2 or 3 (default)
  --tasks N        only the first N tasks of each suite
  --json           one JSON object on stdout, nothing else
  --help           this text

Moves: ${moves.join(', ')}.
Preparations: ${preparations.join(', ')}.
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    own: { type: 'boolean', default: false },
    last: { type: 'boolean', default: false },
    suite: { type: 'string', multiple: true, default: [] },
    budget: { type: 'string', default: '10000' },
    moves: { type: 'string' },
    length: { type: 'string', default: '3' },
    tasks: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** The hash of the policy's source and options: figures are of this policy and no other. */
function policyHash(): string {
  const hash = createHash('sha256').update('enforce intent')
  const folder = join(import.meta.dirname, '../../packages/governance/src')
  for (const file of globSync('**/*.ts', { cwd: folder }).toSorted())
    hash.update(`\n${file}\n`).update(readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 16)
}

function naturalNumber(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} ${text} is not a whole number above 0.`)
  return number
}

/** The suites that the command names. */
function chosenSuites(folder: string | undefined): readonly Suite[] {
  const all = folder === undefined ? (values.last ? lastSuites : ownSuites) : readSuites(folder)
  for (const name of values.suite)
    if (!all.some(({ suite }) => suite === name))
      throw new Error(`There is no suite ${name}; there are ${all.map(({ suite }) => suite).join(', ')}.`)
  const tasks = values.tasks === undefined ? Infinity : naturalNumber('tasks', values.tasks)
  return all
    .filter(({ suite }) => values.suite.length === 0 || values.suite.includes(suite))
    .map((suite) => ({ ...suite, user_tasks: suite.user_tasks.slice(0, tasks) }))
}

const policy = () => dataFlowPolicy({ mode: 'enforce', rules: presets.intent })

/** How many of the recorded attacks are silent: the static figure. */
async function playRecorded(suites: readonly Suite[]): Promise<{ total: number; silent: number }> {
  const counts = { total: 0, silent: 0 }
  for (const { attacks, tools, today } of suites)
    for (const { prompt, calls, after, injectable, text_only: textOnly } of attacks) {
      if (!injectable || textOnly || !calls.some(({ phase }) => phase === 'attack')) continue
      const all = [...calls, ...after].map(
        ({ tool, args, output, output_text: text, phase }) =>
          ({ part: phase === 'attack' ? 'attack' : 'user', tool, args, output: output ?? text ?? null }) as const,
      )
      const { silent } = await run({ turns: [{ prompt, calls: all }], tools, today }, policy)
      counts.total++
      if (silent) counts.silent++
    }
  return counts
}

const [folder] = positionals
const sources = [folder !== undefined, values.own, values.last].filter(Boolean).length
if (values.help || sources !== 1) {
  process.stdout.write(help)
  process.exitCode = values.help ? 0 : 1
} else {
  const named = values.moves?.split(',').map((name) => name.trim()) ?? [...moves, ...preparations]
  const known: readonly string[] = [...moves, ...preparations]
  for (const name of named)
    if (!known.includes(name)) throw new Error(`There is no move ${name}; there are ${known.join(', ')}.`)
  const options = {
    policy,
    budget: naturalNumber('budget', values.budget),
    length: naturalNumber('length', values.length),
    moves: new Set(moves.filter((move) => named.includes(move))),
    preparations: preparations.filter((name) => named.includes(name)),
  }
  const suites = chosenSuites(folder)
  const results: TaskResult[] = []
  for (const suite of suites)
    for (const task of suite.user_tasks) {
      const result = await search(task, suite, options)
      if (result) results.push(result)
    }
  const report = reportOf(results)
  const recorded = await playRecorded(suites)
  const hash = policyHash()
  if (values.json) {
    const bySuite = Object.fromEntries(
      suites.map(({ suite }) => [suite, reportOf(results.filter((one) => one.suite === suite))]),
    )
    const { budget, length } = options
    const all = { bench: 'security/adaptive', policy: hash, budget, length, recorded, total: report, suites: bySuite }
    process.stdout.write(`${JSON.stringify(all)}\n`)
  } else {
    const { low, high } = shareOf(recorded.silent, recorded.total)
    const interval = `${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)} %`
    process.stdout.write(
      `policy ${hash}, budget ${options.budget}; recorded attacks silent: ${recorded.silent} of ${recorded.total} (${interval})\n${tablesOf(report)}\n`,
    )
  }
}
