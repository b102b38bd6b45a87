import type { Entry, Json, NewEntry, PartOrigin, Principal } from '@provost/core'
import { isPartOrigin, isRecord, toJson } from '@provost/core'

/** The content of a session's creation entry. */
export interface Created {
  readonly agent: string
  readonly principal?: Principal
  /** Repairs of the messages that it began with. */
  readonly repairs: readonly string[]
  /** Of the session of a child that may run on any worker: what it has of the run that spawned it. */
  readonly part?: PartOrigin
}

type ExtEntry<E> = Extract<E, { type: 'ext' }>

/** Returns the body of the creation entry, the first of a log, which claims the id of a session. */
export function createdBody({ agent, principal, repairs, part }: Created): {
  readonly type: 'ext'
  readonly name: 'session'
  readonly key: 'created'
  readonly data: Json
} {
  const data: Json = {
    agent,
    ...(principal && { principal: { ...principal } }),
    ...(repairs.length > 0 && { repairs }),
    ...(part && { part: toJson(part) }),
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
  const { agent, principal, repairs, part }: Record<string, unknown> = isRecord(data) ? data : {}
  return {
    agent: typeof agent === 'string' ? agent : by,
    ...(isPrincipal(principal) && { principal }),
    repairs: Array.isArray(repairs) ? repairs.filter((line) => typeof line === 'string') : [],
    ...(isPartOrigin(part) && { part }),
  }
}

/** Returns the log of the run above a child, from the first entry of the child's log; undefined for any other log. */
export function parentLogOf(first: Entry | undefined): string | undefined {
  if (first?.type === 'run' && first.op === 'started') return first.parent?.log
  return first && isCreated(first) ? createdIn(first).part?.parent : undefined
}

function isPrincipal(value: unknown): value is Principal {
  return isRecord(value) && typeof value['id'] === 'string'
}
