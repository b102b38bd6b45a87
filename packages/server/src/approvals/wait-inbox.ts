import { compensatedSession, foldLog, pendingWork } from '@provost/agent'
import type { SessionState } from '@provost/agent'
import type {
  Entry,
  Json,
  PendingApproval,
  Principal,
  RunChange,
  SessionInfo,
  SessionStatus,
  SessionStore,
} from '@provost/core'
import { changeText, displayText, questionText } from '@provost/core'

import type { Waiting } from './pending-question.ts'
import { waitingIn } from './pending-question.ts'

/** A row of the operators' inbox: one pending decision of any session. */
export interface WaitRow {
  /** `quarantined`: the session itself waits to be released. `change`: the run waits until a change of its agent is accepted. */
  readonly kind: Waiting['kind'] | 'quarantined' | 'change'
  readonly sessionId: string
  readonly agent: string
  /** The id of the session's principal. */
  readonly requester?: string
  readonly updatedAt: number
  /** The question as one printable line. */
  readonly text: string
  /** The wait as in `pending` of the session. */
  readonly wait?: Waiting['wait']
  /** Of a `change`. */
  readonly change?: RunChange
}

/** Where the next page starts: after the wait or change `wait` of the session after `after`, in the list of one status. */
export interface InboxCursor {
  readonly status: SessionStatus
  readonly after?: string
  readonly wait?: string
}

/** A page of the inbox. */
export interface InboxPage {
  readonly waits: readonly WaitRow[]
  readonly next?: InboxCursor
}

/** Statuses whose lists a page reads, in this order. A running session may have waiting branches. */
const statuses: readonly SessionStatus[] = ['quarantined', 'suspended', 'running']

/** Parameters of a page. */
export interface InboxReading {
  readonly store: SessionStore
  readonly from: InboxCursor | undefined
  /** Rows at most, and sessions whose logs are read at most. */
  readonly limit: number
  /** Whether the reader may see a wait. */
  shows(info: SessionInfo, requester: Principal | undefined, waiting: Waiting): Promise<boolean>
  /** Returns the change that the reader may accept in a session. */
  changeIn(info: SessionInfo, requester: Principal | undefined, state: SessionState): Promise<RunChange | undefined>
  /** Whether the reader may release a session. */
  releases(info: SessionInfo): Promise<boolean>
}

/**
 * Reads a page of the pending decisions of all sessions. Sessions come from the store's list of a status. At most `limit`
 * logs are read, so a page may have fewer rows than `limit` and still have a next page.
 */
export async function readInbox({ store, from, limit, releases, ...reading }: InboxReading): Promise<InboxPage> {
  const rows: WaitRow[] = []
  let looked = 0
  let { after, wait } = from ?? {}
  for (const status of statuses.slice(Math.max(0, from ? statuses.indexOf(from.status) : 0))) {
    for await (const listed of store.list({ status, limit: limit - looked, ...(after !== undefined && { after }) })) {
      looked++
      // The waits of a compensation are answered in its session.
      const info = { ...listed, id: compensatedSession(listed.id) ?? listed.id }
      const found =
        status === 'quarantined'
          ? await quarantinedRow(info, releases)
          : await rowsOf({ store, ...reading }, listed.id, info, wait)
      for (const row of found) {
        if (rows.length === limit) {
          const last = rows.at(-1)
          const within = last?.sessionId === info.id ? (last.wait ?? last.change)?.id : wait
          return { waits: rows, next: cursor(status, after, within) }
        }
        rows.push(row)
      }
      after = listed.id
      wait = undefined
      if (looked === limit || rows.length === limit) return { waits: rows, next: cursor(status, after) }
    }
    after = undefined
    wait = undefined
  }
  return { waits: rows }
}

function cursor(status: SessionStatus, after?: string, wait?: string): InboxCursor {
  return { status, ...(after !== undefined && { after }), ...(wait !== undefined && { wait }) }
}

async function rowsOf(
  { store, shows, changeIn }: Pick<InboxReading, 'store' | 'shows' | 'changeIn'>,
  log: string,
  info: SessionInfo,
  behind: string | undefined,
): Promise<readonly WaitRow[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  const state = foldLog(entries)
  const requester = state.run?.principal
  const row = {
    sessionId: info.id,
    agent: info.agent,
    ...(info.principal !== undefined && { requester: info.principal }),
    updatedAt: info.updatedAt,
  }
  const rows: WaitRow[] = []
  // The change comes first, so a page that starts behind a wait has had it.
  const change = behind === undefined && log === info.id ? await changeIn(info, requester, state) : undefined
  if (change) rows.push({ kind: 'change', ...row, text: displayText(changeText(change), { limit: 2_000 }), change })
  const all = waitingIn(pendingWork(state))
  // A wait that is over by now came before all that are pending.
  const start = behind === undefined ? 0 : all.findIndex(({ wait }) => wait.id === behind) + 1
  for (const waiting of all.slice(start)) {
    if (!(await shows(info, requester, waiting))) continue
    rows.push({ kind: waiting.kind, ...row, text: waitText(waiting), wait: waiting.wait })
  }
  return rows
}

/** Returns the row of a session in quarantine without reading its log, which may kill the process. */
async function quarantinedRow(info: SessionInfo, releases: InboxReading['releases']): Promise<readonly WaitRow[]> {
  if (!(await releases(info))) return []
  return [
    {
      kind: 'quarantined',
      sessionId: info.id,
      agent: info.agent,
      ...(info.principal !== undefined && { requester: info.principal }),
      updatedAt: info.updatedAt,
      text: quarantineText(info.id),
    },
  ]
}

/** Returns what the row of a session in quarantine says. */
export function quarantineText(id: string): string {
  return `Session ${displayText(id, { limit: 200 })} is in quarantine: its processes died repeatedly.`
}

/** Returns the question of a wait as one printable line. */
export function waitText(waiting: Waiting): string {
  if (waiting.kind === 'approval') return questionText(waiting.wait satisfies PendingApproval)
  const { toolName } = waiting.wait
  const name = displayText(toolName, { limit: 128 })
  if (waiting.kind === 'input') return `${name} asks: ${displayText(waiting.wait.message, { limit: 1_000 })}`
  const input = shown(waiting.wait.input)
  if (waiting.kind === 'remote') return `${name} waits for its result. Input: ${input}`
  return `${name} had started when its process died: its outcome is unknown. Input: ${input}`
}

function shown(input: Json): string {
  return displayText(input, { limit: 1_000 })
}
