import type { PendingWait } from '@provost/agent'
import { compensatedSession, pendingWait } from '@provost/agent'
import type { Entry, Json, OpenWait, Principal, SessionSummary } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { HeldRole } from '../approvals/approver.ts'
import { actionOf } from '../approvals/decision-service.ts'
import { questionOf } from '../approvals/pending-question.ts'
import { quarantineText, waitText } from '../approvals/wait-inbox.ts'
import type { ConsoleWait, ConsoleWaitsAnswer } from '../console-answers/console-answer.ts'
import { entryAfter } from '../console-logs/child-logs.ts'
import { isOpen } from '../console-logs/withhold.ts'
import { ownership } from '../sessions/ownership.ts'
import type { ConsoleAccess } from './console-access.ts'
import { consoleChanges } from './console-changes.ts'
import { readWaitPlace, writePlace } from './console-cursor.ts'
import type { ConsoleStore } from './console-store.ts'

/** The inbox of a principal. */
interface InboxRequest {
  readonly principal: Principal
  readonly role: HeldRole
  readonly after: string | undefined
  readonly limit: number
}

/** Reads pages of the open waits of all sessions, oldest first. Each wait reads at most two entries. */
export function consoleWaits(
  { host, permits, report }: Pick<OperationSetup, 'host' | 'permits' | 'report'>,
  { store, summaries }: ConsoleStore,
  access: ConsoleAccess,
): (request: InboxRequest) => Promise<ConsoleWaitsAnswer> {
  const changes = consoleChanges({ host, report }, { store, summaries })

  async function changed({ principal, role }: InboxRequest): Promise<readonly ConsoleWait[]> {
    return changes.rows(async ({ id, principal: requesterId }, change) => {
      if (role.role === 'view') return access.mayRead(principal, role, id, requesterId)
      const requester = (await ownership(store, id))?.principal
      return permits(principal, { kind: 'accept', sessionId: id, ...(requester && { requester }), change })
    })
  }

  async function rowOf(
    { principal, role }: InboxRequest,
    summary: SessionSummary,
    open: OpenWait,
  ): Promise<ConsoleWait | undefined> {
    const log = summary.id
    const sessionId = compensatedSession(log) ?? log
    const entry = await entryAt(log, open.offset)
    if (entry?.type !== 'wait') return undefined
    const input = await inputOf(log, open)
    const waiting = pendingWait(entry, { toolName: open.toolName, input })
    if (!(await shows(principal, role, sessionId, summary, waiting))) return undefined
    const { wait } = waiting
    const tool = host.agentNamed(open.agent)?.registry.get(wait.toolName)
    const visible = role.cleared || (entry.about !== undefined && isOpen(entry.about.label))
    return {
      kind: waiting.kind,
      ...{ id: open.token, sessionId, title: summary.title, agent: open.agent, at: open.at, log, offset: open.offset },
      ...(summary.principal !== undefined && { requester: summary.principal }),
      ...(wait.expiresAt !== undefined && { expiresAt: wait.expiresAt }),
      text: visible ? waitText(waiting) : `${wait.toolName === '' ? 'An answer' : wait.toolName} waits.`,
      ...(open.rule !== undefined && { rule: open.rule }),
      ...(entry.sticky && { sticky: entry.sticky }),
      ...(tool && {
        tool: { name: tool.name, effect: tool.effect, idempotent: tool.idempotent, schema: tool.inputSchema },
      }),
      ...(visible && { wait: { ...wait } }),
    }
  }

  async function entryAt(log: string, offset: number): Promise<Entry | undefined> {
    const entry = await entryAfter(store, log, offset - 1)
    return entry?.offset === offset ? entry : undefined
  }

  async function inputOf(log: string, { from, offset, callId }: OpenWait): Promise<Json> {
    const entry = callId === undefined || from === offset ? undefined : await entryAt(log, from)
    if (entry?.type === 'call' && (entry.op === 'decided' || entry.op === 'planned')) return entry.args
    if (entry?.type !== 'message') return null
    for (const part of entry.message.content) if (part.type === 'tool-call' && part.callId === callId) return part.input
    return null
  }

  async function shows(
    principal: Principal,
    role: HeldRole,
    sessionId: string,
    { agent: name, principal: requesterId }: SessionSummary,
    waiting: PendingWait,
  ): Promise<boolean> {
    if (role.role === 'view') return access.mayRead(principal, role, sessionId, requesterId)
    const agent = host.agentNamed(name)
    // Another server over the same store has this agent.
    if (!agent) return false
    const requester = (await ownership(store, sessionId))?.principal
    return permits(
      principal,
      actionOf(waiting, questionOf({ live: { id: sessionId, agent }, requester, via: 'http' }, waiting)),
    )
  }

  async function quarantined({ principal, role }: InboxRequest): Promise<readonly ConsoleWait[]> {
    const rows: ConsoleWait[] = []
    for (const { id, agent, principal: requester, title, updatedAt: at, offset } of await summaries.list({
      status: 'quarantined',
      limit: mostQuarantined,
    })) {
      const sees =
        role.role === 'operate'
          ? await permits(principal, { kind: 'release', sessionId: id })
          : await access.mayRead(principal, role, id, requester)
      if (!sees) continue
      const text = quarantineText(id)
      const row = { kind: 'quarantined', id, sessionId: id, title, agent, at, log: id, offset, text } as const
      rows.push({ ...row, ...(requester !== undefined && { requester }) })
    }
    return rows
  }

  return async (request) => {
    const { after, limit } = request
    const rows: ConsoleWait[] = []
    if (after === undefined) rows.push(...(await quarantined(request)), ...(await changed(request)))
    const place = after === undefined ? undefined : readWaitPlace(after)
    const page = await summaries.waits({ limit, ...(place && { after: place }) })
    const known = new Map<string, SessionSummary | undefined>()
    for (const { sessionId, wait } of page) {
      if (!known.has(sessionId)) known.set(sessionId, await summaries.get(sessionId))
      const summary = known.get(sessionId)
      const row = summary && (await rowOf(request, summary, wait))
      if (row) rows.push(row)
    }
    const last = page.length === limit ? page.at(-1)?.wait : undefined
    return { waits: rows, ...(last && { next: writePlace([last.at, last.token]) }) }
  }
}

/** Sessions in quarantine that the first page shows. */
const mostQuarantined = 100
