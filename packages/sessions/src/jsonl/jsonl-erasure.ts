import { existsSync, readFileSync } from 'node:fs'

import type { Tombstone } from '@provost/core'
import { isRecord } from '@provost/core'

import { erasableNames } from '../text/erasable-names.ts'
import type { JsonlFolder } from './jsonl-folder.ts'
import { writeWhole } from './jsonl-folder.ts'
import { parseLine } from './log-file.ts'

/** Returns the tombstone of a log, or of the session that it belongs to. */
export function tombstoneOf(folder: JsonlFolder, log: string): Tombstone | undefined {
  for (const name of erasableNames(log)) {
    const path = name === undefined ? undefined : folder.erasedPath(name)
    if (path === undefined || !existsSync(path)) continue
    const value = parseLine(path, readFileSync(path, 'utf8'))
    const { at, receipt } = isRecord(value) ? value : {}
    return { at: Number(at), receipt: String(receipt) }
  }
  return undefined
}

/** Adds a tombstone for each name that has none. */
export function addTombstones(
  folder: JsonlFolder,
  names: readonly string[],
  { at, receipt }: Tombstone,
  flushed: boolean,
): void {
  for (const name of names) {
    const path = folder.erasedPath(name)
    if (!existsSync(path)) writeWhole(path, Buffer.from(`${JSON.stringify({ at, receipt })}\n`), flushed)
  }
}
