import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Agent, Entry } from 'provost'
import { verifyAudit } from 'provost/governance'
import { exportSession } from 'provost/sessions'

import { describeSession } from '../cluster/describe.ts'
import type { Followed } from '../cluster/follow.ts'
import type { Cluster } from '../cluster/machines.ts'
import { auditKey } from './desk.ts'
import { endOf, paymentsOf, planOf } from './plan.ts'

/** What sessions have done, and what does not hold. */
export interface Checked {
  readonly sessions: number
  readonly completed: number
  readonly failed: number
  readonly aborted: number
  /** Sessions whose questions are never answered. */
  readonly waiting: number
  readonly effects: number
  readonly distinctEffects: number
  /** Sessions whose audit chain verifies. */
  readonly verified: number
  readonly violations: readonly string[]
}

/** Descriptions that are printed of sessions that did not end as planned. */
const mostDescribed = 5

/** Checks how sessions rest, what they have paid, and their audit chains. */
export async function checkSessions(of: {
  readonly cluster: Cluster
  readonly agent: Agent
  readonly seed: number
  readonly sessions: ReadonlyMap<string, Followed>
  /** Sessions that were told to abort, which may have been too late. */
  readonly aborted: ReadonlySet<string>
  /** Folder for the exports of sessions for which something does not hold. */
  readonly logs: string | undefined
}): Promise<Checked> {
  const { cluster, agent, seed, sessions, aborted, logs } = of
  const violations: string[] = []
  const paid = new Map<string, string[]>()
  for (const text of readFileSync(cluster.outside, 'utf8').split('\n').filter(Boolean)) {
    const [key = '', id = ''] = text.split(' ')
    paid.set(id, [...(paid.get(id) ?? []), key])
  }
  let described = 0
  let verified = 0
  for (const [index, [id, { status }]] of [...sessions].entries()) {
    const known = violations.length
    const plan = planOf(seed, index)
    const keys = paid.get(id) ?? []
    const planned = paymentsOf(plan)
    const isAborted = status === 'aborted' && aborted.has(id)
    if (!isAborted && status !== endOf(plan)) {
      violations.push(`${id} is ${status}, not ${endOf(plan)}`)
      if (described++ < mostDescribed) process.stderr.write(`${await describeSession(cluster, agent, id)}\n`)
    }
    if (isAborted ? keys.length > planned : keys.length !== planned)
      violations.push(`${id} has paid ${keys.length} times, not ${planned}`)
    if (new Set(keys).size < keys.length) violations.push(`${id} has repeated a payment`)
    let exported = ''
    for await (const line of exportSession(cluster.store, id)) exported += line
    if (hasLostAbort(exported)) violations.push(`${id} has continued after it took its abort from the inbox`)
    const { ok, problems } = verifyAudit(exported, { key: auditKey })
    if (ok) verified++
    else
      violations.push(
        `the log of ${id} does not verify: ${problems.map(({ code, message }) => `${code} (${message})`).join(', ')}`,
      )
    if (logs === undefined || violations.length === known) continue
    mkdirSync(logs, { recursive: true })
    writeFileSync(join(logs, `${id}.jsonl`), exported)
  }
  const all = [...sessions.values()]
  const count = (wanted: string): number => all.filter(({ status }) => status === wanted).length
  const effects = [...paid.values()].flat()
  return {
    ...{ sessions: all.length, completed: count('completed'), failed: count('failed'), aborted: count('aborted') },
    ...{ waiting: count('suspended'), effects: effects.length, distinctEffects: new Set(effects).size, verified },
    violations,
  }
}

/** Whether a run went on by more than a step after its log took an abort: what was being written may follow. */
function hasLostAbort(exported: string): boolean {
  let taken: Entry | undefined
  for (const text of exported.split('\n')) {
    if (text === '') continue
    const { entry }: { readonly entry?: Entry } = JSON.parse(text)
    if (entry?.type === 'resolved' && entry.token.startsWith('abort/')) taken ??= entry
    if (taken && entry && entry.runId === taken.runId && entry.step > taken.step + 1) return true
  }
  return false
}
