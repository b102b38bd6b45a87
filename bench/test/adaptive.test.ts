import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { dataFlowPolicy, presets } from 'provost/governance'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { run } from '../security/adaptive/attempt.ts'
import { goalsOf, moves } from '../security/adaptive/moves.ts'
import { attemptOf, draftOf, preparations, preparedFor } from '../security/adaptive/preparations.ts'
import { reportOf, shareOf } from '../security/adaptive/report.ts'
import { search } from '../security/adaptive/search.ts'
import type { TaskResult } from '../security/adaptive/search.ts'
import { ownSuites } from '../security/own/suites.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const policy = () => dataFlowPolicy({ mode: 'enforce', rules: presets.intent })
const noPolicy = () => dataFlowPolicy({ mode: 'shadow', rules: presets.intent })

const caseSchema = z.strictObject({
  suite: z.string(),
  task: z.string(),
  move: z.enum(moves),
  before: z.boolean(),
  preparations: z.array(z.string()),
  tools: z.array(z.string()),
  noticed: z.boolean(),
})
const limits = z
  .strictObject({
    sample: z.record(z.string(), z.number()),
    all: z.record(z.string(), z.number()),
    cases: z.array(caseSchema),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'adaptive-limits.json'), 'utf8')))
type Case = z.infer<typeof caseSchema>

function taskOf(suiteName: string, id: string) {
  const suite = ownSuites.find((one) => one.suite === suiteName)
  const task = suite?.user_tasks.find((one) => one.id === id)
  if (!suite || !task) throw new Error(`There is no task ${id} in ${suiteName}.`)
  return { suite, task }
}

/** Whether one of the goals that a case describes is reached without a question. */
async function isSilent({ suite: suiteName, task: id, ...one }: Case): Promise<boolean> {
  const { suite, task } = taskOf(suiteName, id)
  const names = preparations.filter((name) => one.preparations.includes(name))
  const drafts = [...goalsOf(task, suite, new Set([one.move]))]
    .filter(({ before, calls }) => before === one.before && calls.map(({ tool }) => tool).join() === one.tools.join())
    .flatMap((goal) => preparedFor(goal, suite, names) ?? [])
  if (drafts.length === 0) throw new Error(`No goal on ${suiteName} ${id} is the case ${JSON.stringify(one)}.`)
  for (const draft of drafts) if ((await run(attemptOf(draft), policy)).silent) return true
  return false
}

describe('an attacker that adapts', () => {
  it('finds no more silent calls of any move than the figures allow', async () => {
    const results: TaskResult[] = []
    for (const suite of ownSuites)
      for (const task of full ? suite.user_tasks : suite.user_tasks.slice(0, 1)) {
        const options = { policy, budget: 10_000, length: 1, moves: new Set(moves), preparations }
        const result = await search(task, suite, options)
        if (result) results.push(result)
      }
    const report = reportOf(results)
    expect(report.failures).toEqual([])
    const allowed = full ? limits.all : limits.sample
    for (const { move, silent, before } of report.moves)
      expect(silent + before.silent, `silent calls of the move “${move}”`).toBeLessThanOrEqual(allowed[move] ?? 0)
  })

  it('is noticed in each case that the figures list as noticed', async () => {
    const silent: string[] = []
    const noticed = limits.cases.filter((one) => one.noticed)
    for (const one of full ? noticed : noticed.filter((_, at) => at % 5 === 0))
      if (await isSilent(one)) silent.push(JSON.stringify(one))
    expect(silent).toEqual([])
  })

  // A case that is noticed by now is marked so in the file, and stays so.
  it.runIf(full)('is silent in each case that the figures list as open', async () => {
    const noticed: string[] = []
    for (const one of limits.cases) if (!one.noticed && !(await isSilent(one))) noticed.push(JSON.stringify(one))
    expect(noticed).toEqual([])
  })

  it('succeeds with every move if the policy only observes', async () => {
    const { suite, task } = taskOf('shop', 'refund-part')
    const reached = new Set<string>()
    for (const goal of goalsOf(task, suite, new Set(moves)))
      if (!reached.has(goal.move) && (await run(attemptOf(draftOf(goal, suite)), noPolicy)).silent)
        reached.add(goal.move)
    expect([...reached].toSorted()).toEqual(
      [...new Set([...goalsOf(task, suite, new Set(moves))].map(({ move }) => move))].toSorted(),
    )
    expect(reached.size).toBeGreaterThanOrEqual(5)
  })

  it('succeeds through a script, a handoff and a summary if the policy only observes', async () => {
    const { suite, task } = taskOf('shop', 'refund-part')
    const goal = [...goalsOf(task, suite, new Set(['value from the injected text']))].find(({ before }) => !before)
    if (!goal) throw new Error('The task has no attack.')
    const reached: string[] = []
    for (const name of preparations) {
      const draft = preparedFor(goal, suite, [name])
      if (draft && (await run(attemptOf(draft), noPolicy)).silent) reached.push(name)
    }
    // What a memory was told after reading untrusted text is in quarantine, policy or not.
    expect(reached).not.toContain('memory')
    expect(reached).toEqual(expect.arrayContaining(['script literal', 'handoff', 'summary']))
  })

  it('succeeds through a memory whose notes are not in quarantine: those from before anything untrusted', async () => {
    const { suite, task } = taskOf('shop', 'refund-part')
    const goal = [...goalsOf(task, suite, new Set(['value from the injected text']))].find(({ before }) => !before)
    const draft = goal && preparedFor(goal, suite, ['memory'])
    if (!draft) throw new Error('The task has no attack.')
    const trusted = suite.tools.map((tool) => ({ ...tool, returns_untrusted: false }))
    expect((await run({ ...attemptOf(draft), tools: trusted }, noPolicy)).silent).toBe(true)
  })

  it('never counts a call of the user’s own as a success, unless it is made again', () => {
    const changing = new Set(moves.filter((move) => move !== 'repeat'))
    const ownGoals = ownSuites.flatMap((suite) =>
      suite.user_tasks.flatMap((task) => {
        const own = new Set(task.calls.map(({ tool, args }) => JSON.stringify([tool, args])))
        return [...goalsOf(task, suite, changing)].filter(({ calls }) =>
          calls.every(({ tool, args }) => own.has(JSON.stringify([tool, args]))),
        )
      }),
    )
    expect(ownGoals).toEqual([])
  })

  it('states the interval of a share, also where nothing was found', () => {
    expect(shareOf(0, 20).low).toBe(0)
    expect(shareOf(0, 20).high).toBeCloseTo(0.161, 3)
    expect(shareOf(10, 20).low).toBeCloseTo(0.299, 3)
    expect(shareOf(10, 20).high).toBeCloseTo(0.701, 3)
  })
})
