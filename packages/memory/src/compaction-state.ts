import type { Entry, EntryOf, Fold } from '@provost/core'
import { isRecord } from '@provost/core'

/** The name of the extension, under which its entries stand in the log. */
export const extensionName = 'compaction'

/** What compaction knows of a session: all of it from its log, so that no session knows of another. */
export interface CompactionState {
  /** Ids of the messages that compactions have put in. */
  readonly own: Set<string>
  /** Nothing could be done when the request was this long: it is not tried again before it has grown. */
  held: number | undefined
  /** Tokens of requests that a model refused as too long, by its name: less than its window may hold. */
  readonly refused: Map<string, number>
  /** Approvals that nobody has given or refused. */
  readonly waits: Map<string, EntryOf<'wait'>>
}

/** Reads it from the log. */
export const compactionFold: Fold<CompactionState | undefined> = {
  key: 'memory/compaction',
  initial: undefined,
  apply(state = empty(), entry) {
    read(state, entry)
    return state
  },
}

/** Of a log in which nothing is. */
export function empty(): CompactionState {
  return { own: new Set(), held: undefined, refused: new Map(), waits: new Map() }
}

function read(state: CompactionState, entry: Entry): void {
  switch (entry.type) {
    case 'view':
      state.held = undefined
      if (!entry.compacted) break
      // Those of the messages that stood there before have other ids.
      for (const { id } of entry.with) if (id.startsWith(`${entry.id}/`)) state.own.add(id)
      break
    case 'ext': {
      if (entry.name !== extensionName || !isRecord(entry.data)) break
      const { held, refused, model } = entry.data
      if (typeof held === 'number') state.held = held
      if (typeof refused === 'number' && typeof model === 'string') state.refused.set(model, refused)
      break
    }
    case 'wait':
      if (entry.kind === 'approval') state.waits.set(entry.token, entry)
      break
    case 'resolved':
      state.waits.delete(entry.token)
      break
    case 'run':
      if (entry.op === 'ended') state.waits.clear()
      break
    default:
  }
}
