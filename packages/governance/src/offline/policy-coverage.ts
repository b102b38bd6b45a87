import type { ArgRole, HookContext } from '@provost/core'

import { covers } from '../provenance/argument-role.ts'
import type { DataFlowRule, RuleAnswer, Sink } from '../provenance/data-flow-rule.ts'
import type { JudgedCall } from './judged-call.ts'

/** What recorded calls exercise of a policy. */
export interface PolicyCoverage {
  readonly rules: readonly RuleCoverage[]
  readonly tools: readonly ToolCoverage[]
  /** Number of argument values by role and origin. */
  readonly origins: readonly { readonly role: ArgRole; readonly origin: string; readonly values: number }[]
  /** Grants of contracts by tool: how many there were, and how many of them belong to a tool that never ran. */
  readonly grants: readonly { readonly tool: string; readonly grants: number; readonly unused: number }[]
}

/** What recorded calls exercise of one rule. */
export interface RuleCoverage {
  readonly rule: string
  /** Calls that the rule received: a rule before it had not decided. */
  readonly evaluated: number
  /** Calls that it answered. */
  readonly hit: number
  /** Calls whose verdict it made. */
  readonly decisive: number
  /** Calls that it stopped and a human refused as well. */
  readonly refused: number
}

/** How the arguments of one tool got their roles. */
export interface ToolCoverage {
  readonly tool: string
  readonly calls: number
  /** The tool declares no roles. */
  readonly undeclared: boolean
  /** Values whose role was suggested by the name of their argument or its format. */
  readonly guessed: number
}

interface Tally {
  evaluated: number
  hit: number
}

/** Counts what the rules of a policy receive and answer. */
export interface CoverageTally {
  /** The rules, each counted; the first one sees every sink. */
  readonly rules: readonly DataFlowRule[]
  takeSink(): Sink | undefined
  /** Does work that does not count, such as judging an approved call a second time. */
  uncounted<T>(work: () => Promise<T>): Promise<T>
  coverageOf(calls: readonly JudgedCall[]): PolicyCoverage
}

/** Returns rules that count their use. */
export function coverageTally(rules: readonly DataFlowRule[]): CoverageTally {
  const counts = new Map<string, Tally>(rules.map((rule) => [nameOf(rule), { evaluated: 0, hit: 0 }]))
  const tools = new Map<string, { calls: number; undeclared: boolean; guessed: number }>()
  const origins = new Map<string, number>()
  const grants = new Map<string, Map<string, number>>()
  let last: Sink | undefined
  let isCounting = true

  function see(sink: Sink): void {
    last = sink
    const { tool } = sink.call
    const known = tools.get(tool.name) ?? { calls: 0, undeclared: Object.keys(tool.roles).length === 0, guessed: 0 }
    tools.set(tool.name, known)
    known.calls++
    const declared = Object.keys(tool.roles).map((pointer) => pointer.split('/'))
    for (const { path, role, origin } of sink.values) {
      const steps = path.split('/')
      if (!declared.some((pointer) => covers(pointer, steps))) known.guessed++
      const key = `${role}\n${origin.kind}`
      origins.set(key, (origins.get(key) ?? 0) + 1)
    }
    const turn = sink.turn.map(({ id }) => id).join(' ')
    const granted = new Map<string, number>()
    for (const grant of sink.contract?.contract.grants ?? [])
      granted.set(grant.tool, (granted.get(grant.tool) ?? 0) + 1)
    if (sink.contract) grants.set(turn, granted)
  }

  const counted = rules.map((rule): DataFlowRule => {
    const name = nameOf(rule)
    const wrapped = async (sink: Sink, ctx: HookContext): Promise<void | undefined | RuleAnswer> => {
      const tally = isCounting ? counts.get(name) : undefined
      if (tally) tally.evaluated++
      const answer = await rule(sink, ctx)
      if (tally && answer) tally.hit++
      return answer
    }
    Object.defineProperty(wrapped, 'name', { value: name })
    return Object.assign(wrapped, rule.counts && { counts: rule.counts })
  })
  const probe: DataFlowRule = (sink) => {
    if (isCounting) see(sink)
    return undefined
  }

  return {
    rules: [probe, ...counted],
    takeSink() {
      const sink = last
      last = undefined
      return sink
    },
    async uncounted(work) {
      isCounting = false
      try {
        return await work()
      } finally {
        isCounting = true
      }
    },
    coverageOf(calls) {
      const ran = new Set(calls.filter((call) => call.ran).map(({ tool }) => tool))
      const decided = Map.groupBy(calls, ({ verdict }) => verdict.rule ?? '')
      const names = new Set([...counts.keys(), ...decided.keys()])
      names.delete('')
      return {
        rules: [...names].map((rule) => {
          const own = decided.get(rule) ?? []
          const refused = own.filter((one) => one.verdict.decision !== 'allow' && one.human?.decision === 'deny')
          const { evaluated = own.length, hit = own.length } = counts.get(rule) ?? {}
          return { rule, evaluated, hit, decisive: own.length, refused: refused.length }
        }),
        tools: [...tools].map(([tool, known]) => ({ tool, ...known })),
        origins: [...origins].map(([key, values]) => {
          const [role = '', origin = ''] = key.split('\n')
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key was made of a role
          return { role: role as ArgRole, origin, values }
        }),
        grants: grantRows(grants, ran),
      }
    },
  }
}

function grantRows(
  turns: ReadonlyMap<string, ReadonlyMap<string, number>>,
  ran: ReadonlySet<string>,
): PolicyCoverage['grants'] {
  const rows = new Map<string, number>()
  for (const grants of turns.values()) for (const [tool, count] of grants) rows.set(tool, (rows.get(tool) ?? 0) + count)
  return [...rows].map(([tool, grants]) => ({ tool, grants, unused: ran.has(tool) ? 0 : grants }))
}

function nameOf(rule: DataFlowRule): string {
  return rule.name || 'rule'
}
