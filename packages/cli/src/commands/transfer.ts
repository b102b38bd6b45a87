import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

import { displayText, ProvostError } from '@provost/core'
import { exportSession, importSession } from '@provost/sessions'

import type { ExitCode, Invocation } from '../command/command.ts'
import { exitCodes } from '../command/command.ts'
import { invalidUsage } from '../command/usage-error.ts'
import { keyIn, messageOf, textOf } from '../project/export-file.ts'
import { openStore } from '../project/open-store.ts'

/** `provost export SESSION` */
export async function exportToFile(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const isOutside = given.value('for') === 'outside'
  const file = given.value('output')
  // The lines have texts of strangers as they are: they belong into a file, not on a screen.
  if (file === undefined && terminal.shows)
    throw await invalidUsage({ name: 'export' }, 'stdout is a terminal: pass --output FILE, or redirect it.')
  const { store } = openStore(given, 'existing')
  const sessionId = given.argument('SESSION')
  try {
    const lines = exportSession(store, sessionId, {
      ...(isOutside && { for: 'outside' }),
      ...keyIn('PROVOST_EXPORT_KEY'),
    })
    if (file === undefined) for await (const line of lines) await terminal.write(line)
    else {
      await writeNew(file, lines)
      if (terminal.json) terminal.print(displayText({ sessionId, file }, { limit: Infinity }))
      else terminal.print(`Exported to ${displayText(file)}.`)
    }
    return exitCodes.ok
  } finally {
    await store.close()
  }
}

/** `provost import FILE` */
export async function importFromFile(given: Invocation): Promise<ExitCode> {
  const { terminal } = given
  const id = given.value('id')
  const { store } = openStore(given, 'create')
  try {
    const imported = await importSession(store, textOf(given.argument('FILE')), {
      ...(id !== undefined && { id }),
      ...keyIn('PROVOST_EXPORT_KEY'),
    })
    const { sessionId, entries, trusted, existing } = imported
    if (terminal.json) terminal.print(displayText(imported, { limit: Infinity }))
    else {
      const origin = trusted
        ? 'with a valid signature'
        : 'without a valid signature: it is a record, labelled untrusted'
      terminal.print(`Session ${displayText(sessionId)}: ${entries} entries, ${origin}.`)
      if (existing) terminal.print('It existed before, with the same entries.')
    }
    return exitCodes.ok
  } finally {
    await store.close()
  }
}

/** Writes a new file, readable for its owner only. A failed export leaves none. */
async function writeNew(file: string, lines: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(lines, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  } catch (cause) {
    if (cause instanceof ProvostError) {
      await rm(file, { force: true })
      throw cause
    }
    throw new ProvostError('unwritable-file', `${displayText(file)} cannot be written: ${messageOf(cause)}`, {
      hint: 'Pass the path of a file that does not exist yet.',
      cause,
    })
  }
}
