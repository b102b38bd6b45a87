import { pendingWork, foldLog } from '@provost/agent'
import type { SessionInfo, SessionStatus, SessionStore } from '@provost/core'
import { displayText } from '@provost/core'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'
import { entriesOf } from '../session/recorded-session.ts'
import { waitCount } from '../terminal/waits.ts'

const defaultLimit = 20

/** `provost runs` */
export async function runs(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const limit = given.number('limit') ?? defaultLimit
  const { store } = openStore(given, 'existing')
  try {
    const { newest, total } = await newestOf(store, given.value('status'), limit)
    const rows = []
    for (const info of newest) rows.push({ ...info, waits: await waitsOf(store, info) })
    if (terminal.json) for (const row of rows) terminal.print(displayText(row, { limit: Infinity }))
    else for (const line of table(rows, Date.now())) terminal.print(line)
    if (total > newest.length) terminal.note(terminal.dim(`${newest.length} of ${total} sessions; --limit shows more.`))
    return exitCodes.ok
  } finally {
    await store.close()
  }
}

/** Returns the sessions that changed last. At most twice as many rows as are shown are held in memory. */
async function newestOf(
  store: SessionStore,
  status: string | undefined,
  limit: number,
): Promise<{ readonly newest: readonly SessionInfo[]; readonly total: number }> {
  let newest: SessionInfo[] = []
  let total = 0
  const cut = (): SessionInfo[] => newest.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, limit)
  for await (const info of store.list(isStatus(status) ? { status } : {})) {
    total++
    newest.push(info)
    if (newest.length >= limit * 2) newest = cut()
  }
  return { newest: cut(), total }
}

/** The command line was checked. */
function isStatus(status: string | undefined): status is SessionStatus {
  return status !== undefined
}

/** Reads the log of a session only where its run may wait. That of a session in quarantine may kill its reader. */
async function waitsOf(store: SessionStore, { id, status }: SessionInfo): Promise<number> {
  if (status !== 'suspended' && status !== 'running') return 0
  return waitCount(pendingWork(foldLog(await entriesOf(store, id))))
}

function table(rows: readonly (SessionInfo & { readonly waits: number })[], now: number): readonly string[] {
  if (rows.length === 0) return ['No sessions.']
  const cells = rows.map(({ id, status, agent, principal = '-', updatedAt, waits }) => [
    displayText(id, { limit: 200 }),
    status,
    displayText(agent, { limit: 60 }),
    displayText(principal, { limit: 60 }),
    ageText(now - updatedAt),
    waits === 0 ? '' : String(waits),
  ])
  const all = [['SESSION', 'STATUS', 'AGENT', 'PRINCIPAL', 'AGE', 'WAITS'], ...cells]
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Returns a duration as one number with its unit, such as `5m`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`
}
