import type { NewEntry, RunResult } from '@provost/core'

import type { InboxCursor } from './inbox.ts'
import type { KnownLog } from './known-log.ts'
import type { RunTree } from './lineage.ts'
import type { Mailbox } from './mailbox.ts'

/** What a session object lends its runs, so that none of them reads again what another has read. */
export interface RunHost<Output> {
  readonly known: KnownLog
  readonly cursor: InboxCursor
  readonly mailbox: Mailbox
  readonly tree: RunTree
  /** Entries to write before the run, which takes them out. */
  readonly edits: NewEntry[]
  /** Resolves when the session's own writing is done: it needs the same lease. */
  ready(): Promise<void> | undefined
  /** Whether anybody listens to the session. */
  isHeard(): boolean
  /** The run is over, before anybody else hears of it. */
  settle(result: RunResult<Output>): void
}
