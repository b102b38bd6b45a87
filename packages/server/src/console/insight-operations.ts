import type { LeaseState, SessionStore, SessionSummary, Usage } from '@provost/core'
import { addUsage, clockOf, processName, processOfOwner } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import { compareQuery, costQuery, policyQuery, stateQuery, traceBody } from '../console-answers/console-query.ts'
import type { CostAnswer, CostRow, PolicyAnswer, SystemAnswer, VerdictRow } from '../console-answers/insight-answer.ts'
import {
  compareAnswer,
  costAnswer,
  policyAnswer,
  stateAnswer,
  systemAnswer,
  traceAnswer,
} from '../console-answers/insight-schema.ts'
import { checkLog } from '../console-logs/child-logs.ts'
import { compareLogs } from '../console-logs/compare-logs.ts'
import { readState } from '../console-logs/session-state.ts'
import { traceWords } from '../console-logs/trace.ts'
import { unknownSession } from '../http/http-error.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import type { ConsoleAccess } from './console-access.ts'
import { json } from './console-json.ts'
import type { ConsoleStore } from './console-store.ts'
import { sessionRow } from './console-store.ts'
import type { SessionFeed } from './session-feed.ts'

/** Sessions that one sum counts. */
const mostSessions = 10_000
const mostLeases = 100

/** Returns the routes that explain sessions: sums, states, traces and comparisons. They only read. */
export function insightOperations(
  setup: OperationSetup,
  stored: ConsoleStore,
  access: ConsoleAccess,
  feed: SessionFeed,
): readonly Operation[] {
  const { host, engine, concurrency, storeKind } = setup
  const { store } = stored
  const startedAt = clockOf(store).now()

  async function summaryOf(id: string): Promise<SessionSummary> {
    const summary = await stored.summaries.get(id)
    if (!summary) throw unknownSession(id)
    return summary
  }

  async function counted(range: { from?: number | undefined; to?: number | undefined; rule?: string | undefined }) {
    const given = Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined))
    const found = await stored.summaries.list({ ...given, limit: mostSessions + 1 })
    return { sessions: found.slice(0, mostSessions), more: found.length > mostSessions }
  }

  return [
    operation({
      method: 'get',
      path: '/api/console/policy',
      operationId: 'consolePolicy',
      summary: 'For operators: what each rule decided, by tool, in the sessions that were updated from `from` to `to`.',
      query: policyQuery,
      success: 200,
      answer: policyAnswer,
      async handle({ principal, query }) {
        await access.roleFor(principal, 'view', { kind: 'system' })
        const { sessions, more } = await counted(query)
        const rows = verdictRows(sessions).filter(({ rule }) => query.rule === undefined || rule === query.rule)
        return json({ rows, sessions: sessions.length, more } satisfies PolicyAnswer)
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/cost',
      operationId: 'consoleCost',
      summary: 'For operators: tokens and US dollars by day, agent or model, of the UTC days from `from` to `to`.',
      query: costQuery,
      success: 200,
      answer: costAnswer,
      async handle({ principal, query: { from, to, by = 'day' } }) {
        await access.roleFor(principal, 'view', { kind: 'system' })
        const { sessions, more } = await counted({ from })
        const rows = costRows(sessions, by, [dayOf(from), dayOf(to)])
        return json({ by, rows, sessions: sessions.length, more } satisfies CostAnswer)
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/system',
      operationId: 'consoleSystem',
      summary:
        'For operators of the role `operate`: this process, its store, runs in progress, the processes that hold them, sessions that are due at a certain time, and sessions in quarantine.',
      success: 200,
      answer: systemAnswer,
      async handle({ principal }) {
        await access.roleFor(principal, 'operate', { kind: 'system' })
        const running = await stored.summaries.list({ status: 'running', limit: mostLeases })
        const leases: SystemAnswer['leases'] = []
        for (const { id, agent } of running) leases.push(leaseRow(id, agent, await store.leaseState(id)))
        const waiting = await stored.summaries.list({ status: 'suspended', limit: mostLeases })
        const due = []
        for (const summary of waiting) {
          const at = await dueOf(store, summary)
          if (at === undefined) continue
          const waits = [...new Set(summary.waits.map(({ kind }) => kind))]
          due.push({ sessionId: summary.id, agent: summary.agent, at, waits })
        }
        const quarantined = await stored.summaries.list({ status: 'quarantined', limit: mostLeases })
        return json({
          process: {
            name: processName(),
            running: [...host.running].slice(0, 1_000).map(({ id }) => id),
            room: Math.max(0, concurrency - host.occupied()),
            engine,
            startedAt,
            feeds: feed.readers,
          },
          store: { kind: storeKind, summaries: store.summaries ? 'stored' : 'in-memory' },
          leases,
          processes: processRows(leases),
          due: due.toSorted((a, b) => a.at - b.at),
          quarantined: quarantined.map(({ id: sessionId, agent, updatedAt }) => ({ sessionId, agent, updatedAt })),
        } satisfies SystemAnswer)
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/session/{id}/state',
      operationId: 'consoleState',
      summary: 'For operators: the state of a log after its entry `at`.',
      query: stateQuery,
      success: 200,
      answer: stateAnswer,
      async handle({ principal, id, query: { log, at } }) {
        const { role } = await access.session(principal, id)
        return json(await readState(store, { log: await checkLog(store, id, log), at, cleared: role.cleared }))
      },
    }),
    operation({
      method: 'post',
      path: '/api/console/session/{id}/trace',
      operationId: 'consoleTrace',
      summary: 'For operators: where selected words of an entry come from, and where they went.',
      body: traceBody,
      success: 200,
      answer: traceAnswer,
      async handle({ principal, id, body: { log, ...place } }) {
        const { role } = await access.session(principal, id)
        const selection = { sessionId: id, log: await checkLog(store, id, log), ...place, cleared: role.cleared }
        return json(await traceWords(store, selection))
      },
    }),
    operation({
      method: 'get',
      path: '/api/console/compare',
      operationId: 'consoleCompare',
      summary: 'For operators: what two sessions have in common, and the first entries that differ.',
      query: compareQuery,
      success: 200,
      answer: compareAnswer,
      async handle({ principal, query: { a, b } }) {
        const { role } = await access.session(principal, a)
        await access.session(principal, b)
        const compared = await compareLogs(store, [a, b], role.cleared)
        return json({ ...compared, sums: { a: sessionRow(await summaryOf(a)), b: sessionRow(await summaryOf(b)) } })
      },
    }),
  ]
}

function leaseRow(sessionId: string, agent: string, lease: LeaseState): SystemAnswer['leases'][number] {
  const { holder, owner, renewedAt, takeovers, until } = lease
  const name = owner === undefined ? undefined : processOfOwner(owner)
  return {
    ...{ sessionId, agent, holder, takeovers },
    ...(name !== undefined && { process: name }),
    ...(renewedAt !== undefined && { renewedAt }),
    ...(until !== undefined && { until: Math.round(until) }),
  }
}

/** Returns the processes that hold leases, the last heard first. */
function processRows(leases: SystemAnswer['leases']): SystemAnswer['processes'] {
  const rows = new Map<string, SystemAnswer['processes'][number]>()
  for (const { process: name, holder, renewedAt = 0 } of leases) {
    if (name === undefined) continue
    const { state = 'silent', runs = 0, renewedAt: before = 0 } = rows.get(name) ?? {}
    rows.set(name, {
      name,
      state: holder === 'alive' ? 'alive' : state,
      runs: runs + 1,
      renewedAt: Math.max(before, renewedAt),
    })
  }
  return [...rows.values()].toSorted((a, b) => b.renewedAt - a.renewedAt)
}

function verdictRows(sessions: readonly SessionSummary[]): VerdictRow[] {
  const rows = new Map<string, VerdictRow>()
  for (const { verdicts } of sessions) {
    for (const one of verdicts) {
      const { rule, toolName } = one
      const key = JSON.stringify([rule, toolName])
      const sum = rows.get(key)
      rows.set(key, {
        ...{ rule, toolName },
        sessions: (sum?.sessions ?? 0) + 1,
        allowed: (sum?.allowed ?? 0) + one.allowed,
        asked: (sum?.asked ?? 0) + one.asked,
        approved: (sum?.approved ?? 0) + one.approved,
        refused: (sum?.refused ?? 0) + one.refused,
        denied: (sum?.denied ?? 0) + one.denied,
        declassified: (sum?.declassified ?? 0) + one.declassified,
        flagged: (sum?.flagged ?? 0) + one.flagged,
      })
    }
  }
  const order = ({ asked, denied }: VerdictRow): number => asked + denied
  return [...rows.values()].toSorted((a, b) => order(b) - order(a) || (a.rule < b.rule ? -1 : 1))
}

function dayOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString().slice(0, 10)
}

function costRows(
  sessions: readonly SessionSummary[],
  by: CostAnswer['by'],
  [from = '', to = '9999']: readonly [from: string | undefined, to: string | undefined],
): CostRow[] {
  const rows = new Map<string, CostRow>()
  for (const { spend } of sessions) {
    for (const one of spend) {
      if (one.day < from || one.day > to) continue
      const name = one[by]
      const sum = rows.get(name)
      const discarded: Usage = addUsage(tokensOf(sum?.discarded), one.discarded ?? {})
      rows.set(name, {
        name,
        usage: addUsage(tokensOf(sum?.usage), one.usage),
        discarded,
        cost: (sum?.cost ?? 0) + one.cost,
        unpriced: sum?.unpriced === true || one.unpriced === true,
      })
    }
  }
  return [...rows.values()].toSorted((a, b) => (by === 'day' ? (a.name < b.name ? 1 : -1) : b.cost - a.cost))
}

/** Returns counts as the runtime adds them. */
function tokensOf(counts: CostRow['usage'] = {}): Usage {
  const { inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens, estimated } = counts
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(estimated && { estimated }),
  }
}

/** Returns when a process looks at a session that waits; undefined for one that only an answer wakes. */
async function dueOf(store: SessionStore, { id, offset }: SessionSummary): Promise<number | undefined> {
  let due: number | undefined
  for await (const entry of store.read(id, Math.max(0, offset - 1))) {
    if (entry.type === 'run') due = entry.op === 'suspended' ? entry.due : undefined
  }
  return due
}
