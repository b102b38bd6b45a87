import { existsSync } from 'node:fs'

import { displayText, ProvostError } from '@provost/core'
import type { AuditReport } from '@provost/governance'
import { verifyAudit } from '@provost/governance'
import { exportSession } from '@provost/sessions'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { keyIn, textOf } from '../project/export-file.ts'
import { openStore } from '../project/open-store.ts'
import { standardInput } from '../project/standard-input.ts'

/** Characters of an export that is verified: the verification holds it in memory. */
const longestExport = 256 * 1024 * 1024
/** Problems that are shown. `--json` has all. */
const shownProblems = 50

/** `provost verify FILE|SESSION` */
export async function verify(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const subject = given.argument('FILE|SESSION')
  const head = given.value('head')
  const exported =
    subject === standardInput || existsSync(subject) ? await whole(textOf(subject)) : await exportOf(given, subject)
  const report = verifyAudit(exported, { ...keyIn('PROVOST_AUDIT_KEY'), ...(head !== undefined && { head }) })
  if (terminal.json) terminal.print(displayText({ subject, ...report }, { limit: Infinity }))
  if (report.ok && report.links > 0) {
    if (!terminal.json) showReport(given, report)
    return exitCodes.ok
  }
  if (report.ok) {
    throw new ProvostError('no-audit', `${displayText(subject, { limit: 300 })} has no audit.`, {
      hint: 'Add auditLog() to the extensions of the agent.',
    })
  }
  const problems = report.problems
    .slice(0, shownProblems)
    .map(
      ({ code, entry, message }) =>
        `\n  ${code} ${displayText(entry, { limit: 200 })}: ${displayText(message, { limit: 300 })}`,
    )
  throw new ProvostError('audit-invalid', `Problems of the audit: ${report.problems.length}.${problems.join('')}`, {
    hint: 'Compare with an export from before. A key comes from PROVOST_AUDIT_KEY.',
  })
}

function showReport({ terminal }: Invocation, { links, deleted, open, effects, head }: AuditReport): void {
  terminal.print(`${terminal.green('Valid')}: ${links} links, ${effects.length} rows about effects.`)
  if (deleted.length > 0) terminal.print(`Deleted rows: ${deleted.length}. Their links are valid.`)
  if (open.length > 0) terminal.print(`Rows after the last link: ${open.length}.`)
  if (head !== undefined) terminal.print(`Head: ${displayText(head, { limit: 200 })}`)
}

async function exportOf(given: Invocation, sessionId: string): Promise<string> {
  const { store } = openStore(given, 'existing')
  try {
    return await whole(exportSession(store, sessionId))
  } finally {
    await store.close()
  }
}

/** @throws ProvostError `export-too-big` */
async function whole(pieces: AsyncIterable<string>): Promise<string> {
  const parts: string[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > longestExport) {
      throw new ProvostError('export-too-big', `The export has more than ${longestExport} characters.`, {
        hint: 'Verify its links alone, as auditChain() writes them.',
      })
    }
    parts.push(piece)
  }
  return parts.join('')
}
