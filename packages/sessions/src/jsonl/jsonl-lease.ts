import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { isRecord } from '@provost/core'

import type { JsonlFolder } from './jsonl-folder.ts'

/** The stored state of a log's lease, for the next process. Most logs have none. */
export interface LeaseMark {
  /** Whether its owner has not released it. The held lease of a dead process is expired. */
  readonly held: boolean
  readonly takeovers: number
  readonly quarantinedAt?: number
}

const none: LeaseMark = Object.freeze({ held: false, takeovers: 0 })

/** Reads the mark of a log. A torn mark counts as that of a dead writer. */
export function leaseMark(folder: JsonlFolder, log: string): LeaseMark {
  const path = folder.leasePath(log)
  if (!existsSync(path)) return none
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (isRecord(value) && typeof value['takeovers'] === 'number') {
      const { held, takeovers, quarantinedAt } = value
      return { held: held !== false, takeovers, ...(typeof quarantinedAt === 'number' && { quarantinedAt }) }
    }
  } catch {
    // Torn by a crash.
  }
  return { held: true, takeovers: 0 }
}

/** Writes the mark of a log, or removes an empty one. */
export function markLease(folder: JsonlFolder, log: string, mark: LeaseMark): void {
  const path = folder.leasePath(log)
  const isNeeded = mark.held || mark.takeovers > 0 || mark.quarantinedAt !== undefined
  if (isNeeded) writeFileSync(path, JSON.stringify(mark), { mode: 0o600 })
  else rmSync(path, { force: true })
}
