import { describe, expect, it } from 'vitest'

import { ownSuites } from '../security/own/suites.ts'
import { differs, judge, type Judged } from '../security/planned/judge.ts'
import { ownPlans } from '../security/planned/plans-own.ts'
import type { Suite } from '../security/replay/suite.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

async function judged(suite: Suite, mode?: 'code-mode'): Promise<readonly Judged[]> {
  const options = { rounds: full ? 3 : 1, seed: 1, ...(!full && { tasks: 2 }), ...(mode && { mode }) }
  const all: Judged[] = []
  for await (const one of judge(suite, ownPlans, options)) all.push(one)
  return all
}
const runsOf = (all: readonly Judged[]) => all.flatMap(({ mutated }) => mutated)

describe('the tasks of the security suites as plans', () => {
  it('are all written', () => {
    for (const { suite, user_tasks: tasks } of ownSuites)
      expect(Object.keys(ownPlans[suite] ?? {}).toSorted(), `in ${suite}`).toEqual(tasks.map(({ id }) => id).toSorted())
  })

  it('call the same tools with the same arguments, whatever others write, or ask', async () => {
    const all = (await Promise.all(ownSuites.map((suite) => judged(suite)))).flat()
    expect(all.filter(({ recorded }) => recorded.failed !== undefined)).toEqual([])
    const runs = runsOf(all)
    expect(runs.filter(({ violates }) => violates)).toEqual([])
    // Not all of them ask, and not all of them do nothing.
    expect(runs.some(({ trace }) => trace.asks === undefined && trace.sinks.length > 0)).toBe(true)
    expect(runs.some(({ trace }) => trace.asks !== undefined)).toBe(true)
  })

  it('are steered in code mode without the guarantee', async () => {
    const shop = ownSuites.filter(({ suite }) => suite === 'shop')
    const all = (await Promise.all(shop.map((suite) => judged(suite, 'code-mode')))).flat()
    expect(runsOf(all).some(({ violates }) => violates)).toBe(true)
  })

  it('differ if calls before a question do, and not if one asks earlier', () => {
    const [first, second] = ['a', 'b'].map((to) => ({ tool: 'send', args: { to } }))
    if (!first || !second) throw new Error('There are two calls.')
    expect(differs({ sinks: [first, second] }, { sinks: [first], asks: 'May it?' })).toBe(false)
    expect(differs({ sinks: [first] }, { sinks: [second], asks: 'May it?' })).toBe(true)
    expect(differs({ sinks: [first] }, { sinks: [first, second], asks: 'May it?' })).toBe(true)
    expect(differs({ sinks: [first] }, { sinks: [first, second] })).toBe(true)
  })
})
