import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { isRecord } from '@provost/core'

import type { JsonlFolder } from './jsonl-folder.ts'

/** What the folder keeps of the lease of a log, for the process after this one. Most logs have none. */
export interface LeaseMark {
  /** Its owner has not released it. Left behind by a process that died, it is lapsed. */
  readonly held: boolean
  readonly takeovers: number
  readonly quarantinedAt?: number
}

const none: LeaseMark = Object.freeze({ held: false, takeovers: 0 })

/** Reads the mark of a log. One that a crash tore is as that of a writer that died. */
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
    // Torn: see above.
  }
  return { held: true, takeovers: 0 }
}

/** Writes the mark of a log; one that says nothing is removed. */
export function markLease(folder: JsonlFolder, log: string, mark: LeaseMark): void {
  const path = folder.leasePath(log)
  const says = mark.held || mark.takeovers > 0 || mark.quarantinedAt !== undefined
  if (says) writeFileSync(path, JSON.stringify(mark), { mode: 0o600 })
  else rmSync(path, { force: true })
}
