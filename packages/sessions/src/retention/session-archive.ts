import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { checkArguments } from '@provost/core'

import { fileName } from '../text/name-key.ts'

/** Keeps exports of sessions that leave the store. */
export interface SessionArchive {
  /** Keeps the lines of an export; those of an earlier one of the session are replaced. All or none. */
  put(sessionId: string, lines: AsyncIterable<string>): Promise<void>
  /** Returns the lines of a kept export, for `importSession`; undefined for a session that is not kept. */
  read(sessionId: string): AsyncIterable<string> | undefined
  /** Removes the export of a session. @returns whether there was one. */
  remove(sessionId: string): Promise<boolean>
}

/**
 * Returns an archive with one file for each session in a folder, readable by its owner only. A missing folder is created.
 *
 * @example
 * await pruneSessions(store, { olderThanMs: 90 * 86_400_000, archive: folderArchive('data/archive') })
 */
export function folderArchive(dir: string): SessionArchive {
  checkArguments('folderArchive', [dir], ['text'])
  const root = resolve(dir)
  const pathOf = (sessionId: string): string => join(root, `${fileName(sessionId)}.jsonl`)
  return {
    async put(sessionId, lines) {
      mkdirSync(root, { recursive: true, mode: 0o700 })
      const draft = `${pathOf(sessionId)}.${process.pid}.tmp`
      try {
        await pipeline(Readable.from(lines), createWriteStream(draft, { mode: 0o600, flush: true }))
        renameSync(draft, pathOf(sessionId))
      } finally {
        rmSync(draft, { force: true })
      }
    },

    read(sessionId) {
      const path = pathOf(sessionId)
      return existsSync(path) ? createInterface({ input: createReadStream(path), crlfDelay: Infinity }) : undefined
    },

    async remove(sessionId) {
      const path = pathOf(sessionId)
      if (!existsSync(path)) return false
      rmSync(path)
      return true
    },
  }
}
