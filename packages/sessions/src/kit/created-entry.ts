import type { Entry, Json, NewEntry, Principal } from '@provost/core'
import { isRecord } from '@provost/core'

/** The content of a session's creation entry. */
export interface Created {
  readonly agent: string
  readonly principal?: Principal
  /** Repairs of the messages that it began with. */
  readonly repairs: readonly string[]
}

type ExtEntry<E> = Extract<E, { type: 'ext' }>

/** Returns the body of the creation entry, the first of a log, which claims the id of a session. */
export function createdBody({ agent, principal, repairs }: Created): {
  readonly type: 'ext'
  readonly name: 'session'
  readonly key: 'created'
  readonly data: Json
} {
  const data: Json = {
    agent,
    ...(principal && { principal: { ...principal } }),
    ...(repairs.length > 0 && { repairs }),
  }
  return { type: 'ext', name: 'session', key: 'created', data }
}

/** Returns the id of the creation entry. */
export function createdId(sessionId: string): string {
  return `${sessionId}/created`
}

/** Whether an entry is a creation entry. An extension's entry may have the same name and key, but not this id. */
export function isCreated(entry: Entry): entry is ExtEntry<Entry>
export function isCreated(entry: NewEntry): entry is ExtEntry<NewEntry>
export function isCreated(entry: NewEntry): entry is ExtEntry<NewEntry> {
  return entry.type === 'ext' && entry.key === 'created' && entry.id === createdId(entry.runId)
}

/** Returns the content of a creation entry. */
export function createdIn({ agent: by, data }: ExtEntry<NewEntry>): Created {
  const { agent, principal, repairs }: Record<string, unknown> = isRecord(data) ? data : {}
  return {
    agent: typeof agent === 'string' ? agent : by,
    ...(isPrincipal(principal) && { principal }),
    repairs: Array.isArray(repairs) ? repairs.filter((line) => typeof line === 'string') : [],
  }
}

function isPrincipal(value: unknown): value is Principal {
  return isRecord(value) && typeof value['id'] === 'string'
}
