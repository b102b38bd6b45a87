import type { Json, NewEntry, SessionStore } from '@provost/core'

function base(id: string, at: number): Pick<NewEntry, 'id' | 'at' | 'runId' | 'step' | 'agent' | 'v'> {
  return { id, at, runId: 'run', step: 0, agent: 'desk', v: 1 }
}

/** An entry with a value. */
export function note(id: string, value: Json = id): NewEntry {
  return { ...base(id, 1), type: 'memo', key: id, value }
}

/** The start of a run. */
export function started(id: string, more: { principal?: string; parent?: string; at?: number } = {}): NewEntry {
  const { principal, parent, at = 1 } = more
  return {
    ...base(id, at),
    type: 'run',
    op: 'started',
    manifest: { agent: 'desk', extensions: [], tools: [] },
    ...(principal !== undefined && { principal: { id: principal } }),
    ...(parent !== undefined && { parent: { log: parent, runId: 'run' } }),
  }
}

/** What a run comes to. */
export function turned(id: string, op: 'suspended' | 'resumed' | 'completed' | 'failed', at = 1): NewEntry {
  if (op === 'suspended' || op === 'resumed') return { ...base(id, at), type: 'run', op }
  return { ...base(id, at), type: 'run', op: 'ended', status: op }
}

/** A run that another one spawns. */
export function spawned(id: string, log: string): NewEntry {
  const label = { integrity: 'trusted', confidentiality: 'internal', sources: [] } as const
  return { ...base(id, 1), type: 'child', op: 'spawned', callId: id, log, agent: 'helper', label }
}

/** The word of a run that it has left something for others, which is its own or, falsely, another's. */
export function leaving(id: string, runId: string, whose: string = runId): NewEntry {
  const data = { log: `progress/run/${whose}` }
  return { ...base(id, 1), runId, type: 'ext', name: 'progress', key: 'log', data }
}

/** Everything that an iteration gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

/** The ids of a log. */
export async function idsOf(store: SessionStore, log: string, after?: number): Promise<readonly string[]> {
  return (await all(store.read(log, after))).map(({ id }) => id)
}

/** Takes a lease that must be free. */
export async function take(store: SessionStore, log: string, owner = 'writer', ttlMs = 60_000): Promise<number> {
  const lease = await store.lease(log, owner, ttlMs)
  if (lease === 'busy') throw new Error(`the lease of ${log} is busy`)
  return lease.fence
}

/** Appends to a log that is empty, or behind `after`. */
export async function write(
  store: SessionStore,
  log: string,
  entries: readonly NewEntry[],
  after = 0,
): Promise<number> {
  const fence = await take(store, log)
  await store.append(log, entries, { after, fence })
  return fence
}

/** Names as an attacker would choose them. */
export const hostileNames: readonly string[] = [
  '',
  '.',
  '..',
  '../../etc/passwd',
  '/etc/passwd',
  'a/b',
  'a\\b',
  'A',
  'a',
  'Ä',
  'A\u0308',
  'nul\0byte',
  'nul',
  'con.jsonl',
  '\ud800',
  '\ud801',
  '\u2028line\nbreak\r',
  "'; drop table logs; --",
  '%',
  '_',
  '"quoted"',
  '#hash',
  '~tilde',
  '__proto__',
  'constructor',
  ' ',
  '🙂',
  'x'.repeat(5_000),
  `${'x'.repeat(4_999)}y`,
]
