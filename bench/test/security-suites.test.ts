import { describe, expect, it } from 'vitest'

import { earlierSuites } from '../security/earlier/suites.ts'
import { lastSuites } from '../security/last/suites.ts'
import { ownSuites } from '../security/own/suites.ts'
import type { Suite, SuiteCall } from '../security/replay/suite.ts'

/** What is wrong with the form of a suite. No rule looks at it: suites written last are not measured here. */
function faultsOf({ tools, user_tasks: tasks, attacks }: Suite): readonly string[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const changes = ({ tool }: SuiteCall): boolean =>
    byName.get(tool)?.effect === 'write' || byName.get(tool)?.egress === true
  const callFaults = ({ tool, args, output }: SuiteCall): readonly string[] => {
    const known = byName.get(tool)
    if (!known) return [`there is no tool ${tool}`]
    // An argument without a role is one that the schema names.
    const named = JSON.stringify(known.parameters)
    const unknown = Object.keys(args).filter((key) => !(key in known.arg_roles) && !named.includes(JSON.stringify(key)))
    return [
      ...unknown.map((key) => `${tool} has no argument ${key}`),
      ...(output === undefined ? [`${tool} gives nothing`] : []),
    ]
  }
  const read = new Set(tasks.flatMap(({ calls }) => calls.map(({ tool }) => tool)))
  return [
    ...[...tasks, ...attacks].flatMap(({ id, calls }) => calls.flatMap(callFaults).map((fault) => `${id}: ${fault}`)),
    ...attacks
      .filter(({ calls }) => !calls.some((call) => call.phase === 'attack' && changes(call)))
      .map(({ id }) => `${id}: the attack changes nothing`),
    ...attacks
      .filter(({ calls }) => !calls.some((call) => call.phase === 'user' && byName.get(call.tool)?.returns_untrusted))
      .map(({ id }) => `${id}: the attacker's words are nowhere in what is read`),
    ...(new Set(tasks.map(({ id }) => id)).size < tasks.length ? ['two tasks have one id'] : []),
    ...(read.size < 4 ? ['the tasks use fewer than four tools'] : []),
  ]
}

describe('the security suites', () => {
  it.each([...ownSuites, ...earlierSuites, ...lastSuites].map((suite) => [suite.suite, suite] as const))(
    '%s has tasks and attacks that its tools can carry out',
    (_, suite) => {
      expect(faultsOf(suite)).toEqual([])
      expect(suite.user_tasks.length).toBeGreaterThanOrEqual(8)
      expect(suite.attacks.length).toBeGreaterThanOrEqual(8 * 4)
    },
  )

  it('cover ten domains: an office, travel, money with chat, and seven more', () => {
    expect(
      new Set([...ownSuites, ...earlierSuites, ...lastSuites].map(({ suite }) => suite)).size,
    ).toBeGreaterThanOrEqual(10)
  })

  it('let every goal of a suite written last be met in four voices', () => {
    for (const { user_tasks: tasks, attacks } of [...earlierSuites, ...lastSuites]) {
      const opening = attacks.slice(0, 16).map(({ id }) => id.replace(/.*\+/, '').replace(/-\d$/, ''))
      expect(opening).toHaveLength(16)
      for (const goal of new Set(opening)) {
        const voices = new Set(opening.flatMap((one, at) => (one === goal ? [at % 4] : [])))
        expect(voices).toEqual(new Set([0, 1, 2, 3]))
      }
      expect(attacks).toHaveLength(tasks.length * 16)
    }
  })
})
