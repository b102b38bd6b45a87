import type { ConsoleSession } from '@provost/server/console'
import type { ComponentType } from 'react'

/** What a view of a session receives. */
export interface SessionViewProps {
  readonly sessionId: string
  /** The row of the session, live. Undefined while it is read. */
  readonly session: ConsoleSession | undefined
}

/** A view of a session: a tab at `/sessions/SESSION/ID`. */
export interface SessionView {
  readonly id: string
  readonly name: string
  /** The key after `v` that goes to it. */
  readonly key: string
  /** A view that few readers open is `lazy`. */
  readonly component: ComponentType<SessionViewProps>
}

/** What the address of a view says beside its session: a place in a log, and what else a view puts there. */
export interface ViewSearch {
  /** Default: the log of the session itself. */
  readonly log?: string | undefined
  /** Offset of the selected entry. */
  readonly entry?: number | undefined
  /** In place of an entry: the id of a message, or of a call. A view finds its entry. */
  readonly message?: string | undefined
  readonly call?: string | undefined
  /** JSON pointer into the entry. */
  readonly pointer?: string | undefined
  /** The selected characters at the pointer. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The other session of a comparison. */
  readonly with?: string | undefined
  /** The filter of a view. */
  readonly filter?: string | undefined
}

/** Reads the search of an address. What has another type is left out. */
export function readViewSearch(search: Readonly<Record<string, unknown>>): ViewSearch {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' || typeof value === 'number' ? String(value) || undefined : undefined
  const whole = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? Number(value) : undefined)
  return {
    log: text(search['log']),
    entry: whole(search['entry']),
    message: text(search['message']),
    call: text(search['call']),
    pointer: text(search['pointer']),
    from: whole(search['from']),
    to: whole(search['to']),
    with: text(search['with']),
    filter: text(search['filter']),
  }
}
