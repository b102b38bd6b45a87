import type { Json, NewEntry, SessionStore } from '@provost/core'

function base(id: string, at: number): Pick<NewEntry, 'id' | 'at' | 'runId' | 'step' | 'agent' | 'v'> {
  return { id, at, runId: 'run', step: 0, agent: 'desk', v: 1 }
}

/** Creates an entry with a value. */
export function note(id: string, value: Json = id): NewEntry {
  return { ...base(id, 1), type: 'memo', key: id, value }
}

/** Creates the start entry of a run. */
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

/** Creates an entry for a change of a run's status. */
export function turned(id: string, op: 'suspended' | 'resumed' | 'completed' | 'failed', at = 1): NewEntry {
  if (op === 'suspended' || op === 'resumed') return { ...base(id, at), type: 'run', op }
  return { ...base(id, at), type: 'run', op: 'ended', status: op }
}

/** Creates the entry of a run that spawns another. */
export function spawned(id: string, log: string): NewEntry {
  const label = { integrity: 'trusted', confidentiality: 'internal', sources: [] } as const
  return { ...base(id, 1), type: 'child', op: 'spawned', callId: id, log, agent: 'helper', label }
}

/** Creates the entry in which a run names another log as its own, correctly or falsely. */
export function leaving(id: string, runId: string, whose: string = runId): NewEntry {
  const data = { log: `progress/run/${whose}` }
  return { ...base(id, 1), runId, type: 'ext', name: 'progress', key: 'log', data }
}

/** Collects all items of an iteration. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

/** Returns the ids of a log. */
export async function idsOf(store: SessionStore, log: string, after?: number): Promise<readonly string[]> {
  return (await all(store.read(log, after))).map(({ id }) => id)
}

/** Takes a lease that must be free. */
export async function take(store: SessionStore, log: string, owner = 'writer', ttlMs = 60_000): Promise<number> {
  const lease = await store.lease(log, owner, ttlMs)
  if (lease === 'busy') throw new Error(`the lease of ${log} is busy`)
  return lease.fence
}

/** Appends to an empty log, or after offset `after`. */
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

/** Names that an attacker would choose. */
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
