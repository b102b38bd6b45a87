import { join } from 'node:path'

import type { Agent, AgentOptions } from '@provost/agent'
import { createAgent } from '@provost/agent'
import type { Entry, EntryOf, SessionStore } from '@provost/core'
import type { Worker, WorkerOptions } from '@provost/server'
import { createWorker } from '@provost/server'
import { memoryStore, sqliteStore } from '@provost/sessions'
import type { ScriptedEntry } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { expect, onTestFinished } from 'vitest'

import { newFolder } from './folder.ts'

/** The budget of a child. */
export const grant = { tokens: 10_000 }

/** A store that the workers of one process share: leases expire. */
export function sharedStore(): SessionStore {
  const { ephemeral: _, ...store } = memoryStore()
  return store
}

/** A store in a file of its own. */
export function fileStore(): SessionStore {
  const { path, remove } = newFolder()
  const store = sqliteStore(join(path, 'sessions.db'), { pollMs: 5 })
  onTestFinished(async () => {
    await store.close()
    remove()
  })
  return store
}

export function agentOf(
  name: string,
  store: SessionStore,
  steps: readonly ScriptedEntry[],
  more: Partial<AgentOptions> = {},
): Agent {
  const model = scriptedModel([...steps], { after: 'repeat-last' })
  return createAgent({ name, model, leaseMs: 500, ...more, output: undefined, store })
}

/** A model that calls a tool, and then answers with what it returned. */
export const callsOnce = (name: string, input: object): readonly ScriptedEntry[] => [
  ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    return results.length === 0 ? { toolCalls: [{ name, input }] } : { text: JSON.stringify(results.at(-1)?.content) }
  },
]

export function workerOf(store: SessionStore, agents: readonly Agent[], more: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({ agents, store, pollMs: 5, ...more })
  onTestFinished(() => worker.close({ graceMs: 0 }))
  return worker
}

/** Creates a session with unread input. */
export async function begin(store: SessionStore, agent: Agent, id = 's', input = 'Find it.'): Promise<void> {
  await (await agent.createSession({ id, principal: { id: 'ann' } })).close()
  await store.deliver(id, 'send/1', { mode: 'queue', input }, 'ann')
}

export async function entriesOf(store: SessionStore, id: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(id)) entries.push(entry)
  return entries
}

/** Waits until the run of a session has ended. */
export async function endOf(store: SessionStore, id = 's'): Promise<EntryOf<'run', 'ended'>> {
  let end: EntryOf<'run', 'ended'> | undefined
  await expect
    .poll(async () => {
      const entries = await entriesOf(store, id)
      for (const entry of entries) if (entry.type === 'run' && entry.op === 'ended') end = entry
      return end === undefined ? entries.slice(-2) : 'ended'
    })
    .toBe('ended')
  if (!end) throw new Error(`${id} has not ended.`)
  return end
}

/** Returns the children of a session that were spawned. */
export async function childrenOf(store: SessionStore, id = 's'): Promise<readonly EntryOf<'child', 'spawned'>[]> {
  const entries = await entriesOf(store, id)
  return entries.flatMap((entry) => (entry.type === 'child' && entry.op === 'spawned' ? [entry] : []))
}

/** Waits until a session has a child. */
export async function childOf(store: SessionStore, id = 's'): Promise<EntryOf<'child', 'spawned'>> {
  await expect.poll(async () => (await childrenOf(store, id)).length).toBeGreaterThan(0)
  const [child] = await childrenOf(store, id)
  if (!child) throw new Error(`${id} has no child.`)
  return child
}

/** Returns the tokens of the approvals that a session waits for. */
export async function questionsOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const entries = await entriesOf(store, id)
  const closed = new Set(entries.flatMap((entry) => (entry.type === 'resolved' ? [entry.token] : [])))
  return entries.flatMap((entry) => (entry.type === 'wait' && !closed.has(entry.token) ? [entry.token] : []))
}

/** Waits until a session waits for an approval. @returns its token */
export async function questionOf(store: SessionStore, id: string): Promise<string> {
  await expect.poll(async () => (await questionsOf(store, id)).length).toBeGreaterThan(0)
  const [token] = await questionsOf(store, id)
  return token ?? ''
}

/** Waits until a call of a session has started. */
export async function callIn(store: SessionStore, id: string): Promise<void> {
  const hasBegun = (entry: Entry): boolean => entry.type === 'call' && entry.op === 'started'
  await expect.poll(async () => (await entriesOf(store, id)).some(hasBegun)).toBe(true)
}

/** The store of a process that claims no session of some agents. */
export function without(store: SessionStore, names: readonly string[]): SessionStore {
  return {
    ...store,
    async claimDue(options) {
      const agents = options.agents.filter((name) => !names.includes(name))
      return (await store.claimDue?.({ ...options, agents })) ?? []
    },
  }
}

/** Waits until the store says that a session rests, with no living writer. */
export async function restOf(store: SessionStore, id: string, status: string): Promise<void> {
  await expect
    .poll(async () => {
      const { holder } = await store.leaseState(id)
      for await (const info of store.list()) if (info.id === id) return `${info.status} ${holder}`
      return 'unknown'
    })
    .toBe(`${status} none`)
}
