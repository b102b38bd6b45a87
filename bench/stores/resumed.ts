import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { scriptedModel } from '@provost/testing'
import type { Agent, Entry, SessionStore } from 'provost'
import { createAgent, defineExtension, memoryStore, tool, z } from 'provost'
import { auditLog, verifyAudit } from 'provost/governance'
import { sqliteStore } from 'provost/sqlite'

import { compare } from '../measure.ts'
import type { Plan, Subject, Summary } from '../measure.ts'

/** Milliseconds by the clock and of CPU. */
interface Cost {
  readonly wallMs: number
  readonly cpuMs: number
  readonly lowestCpuMs: number
}

/** What it takes to go on with a long session. */
export interface Resumed {
  readonly entries: number
  /** Until `resumeSession` gives the session: its log is read and folded. */
  readonly opened: Cost
  /** Until a run has the answer: the model is asked with all of it, too. */
  readonly answered: Cost
  /** The same rows read and parsed, and nothing else. */
  readonly read: Cost
  /** Links of the audit chain among the entries: one for each step. */
  readonly links: number
  /** To verify that chain: each row and each link is hashed. */
  readonly chain: Cost
  /** How often the log was read from its beginning while the run took ten more steps. */
  readonly reads: number
}

const sessionId = 'long'
const extraSteps = 10

const key = 'bench'

/** Leaves an audit row for each call. */
const notes = defineExtension({
  name: 'notes',
  hooks: {
    async 'tool.result'({ callId }, ctx) {
      await ctx.audit('flagged', { rule: 'noted', callId, sources: ['look'], evidence: null })
    },
  },
})

function looker(store: SessionStore, steps: number): Agent {
  let step = 0
  const model = scriptedModel(
    [
      () =>
        ++step < steps ? { text: 'Looking.', toolCalls: [{ name: 'look', input: { item: step } }] } : { text: 'Done.' },
    ],
    { after: 'repeat-last' },
  )
  const look = tool({
    name: 'look',
    effect: 'read',
    input: z.object({ item: z.number() }),
    execute: ({ item }) => ({ item, found: true }),
  })
  return createAgent({
    name: 'looker',
    model,
    tools: [look],
    maxSteps: steps + 1,
    store,
    extensions: [notes, auditLog({ key })],
  })
}

/** A log as a run of that many steps leaves it, in a file. */
async function fill(path: string, entries: number): Promise<number> {
  const memory = memoryStore()
  // A step with a call takes five, and two for its audit row.
  await looker(memory, Math.ceil(entries / 7)).run('Look at all of them.', { sessionId })
  const store = sqliteStore(path, { sync: 'never' })
  const lease = await store.lease(sessionId, 'bench', 600_000)
  if (lease === 'busy') throw new Error('the new file is in use')
  let after = 0
  let batch = []
  for await (const entry of memory.read(sessionId)) {
    batch.push(entry)
    if (batch.length < 1_000) continue
    after = (await store.append(sessionId, batch, { after, fence: lease.fence })).offset
    batch = []
  }
  after = (await store.append(sessionId, batch, { after, fence: lease.fence })).offset
  await store.release(sessionId, lease.fence)
  await store.close()
  return after
}

export async function measureResumed(entries: number, plan: Plan): Promise<Resumed> {
  const folder = mkdtempSync(join(tmpdir(), 'provost-bench-'))
  const path = join(folder, 'sessions.db')
  const filled = await fill(path, entries)

  const filledStore = sqliteStore(path)
  const entriesRead: Entry[] = []
  for await (const entry of filledStore.read(sessionId)) entriesRead.push(entry)
  await filledStore.close()
  let links = 0

  const subjects: readonly Subject[] = [
    {
      name: 'open',
      repeat: 1,
      prepare() {
        const store = sqliteStore(path)
        const agent = looker(store, 1)
        return async () => {
          const session = await agent.resumeSession(sessionId)
          if (session.messages.length === 0) throw new Error('the session is empty')
          await session.close()
          await store.close()
        }
      },
    },
    {
      name: 'agent',
      repeat: 1,
      prepare() {
        const store = sqliteStore(path)
        const agent = looker(store, 1)
        return async () => {
          const result = await agent.run('And now?', { sessionId })
          if (result.status !== 'completed') throw new Error(`the run ${result.status}`)
          await store.close()
        }
      },
    },
    {
      name: 'read',
      repeat: 1,
      prepare() {
        const store = sqliteStore(path)
        return async () => {
          let count = 0
          for await (const { offset } of store.read(sessionId)) if (offset > 0) count++
          if (count < filled) throw new Error(`the store gave ${count} of ${filled} entries`)
          await store.close()
        }
      },
    },
    {
      name: 'chain',
      repeat: 1,
      prepare: () => async () => {
        const report = verifyAudit(entriesRead, { key })
        if (!report.ok || report.links === 0) throw new Error('the chain does not verify')
        links = report.links
      },
    },
  ]
  const { open, agent, read, chain } = await compare(subjects, plan)
  if (!open || !agent || !read || !chain) throw new Error('nothing was measured')

  const store = sqliteStore(path)
  let reads = 0
  const counting: SessionStore = {
    ...store,
    read(log, after) {
      reads++
      return store.read(log, after)
    },
  }
  await looker(counting, extraSteps).run('And ten more?', { sessionId })
  await store.close()
  rmSync(folder, { recursive: true })
  return {
    entries: filled,
    opened: costOf(open),
    answered: costOf(agent),
    read: costOf(read),
    links,
    chain: costOf(chain),
    reads,
  }
}

function costOf({ wallMs, cpuMs, lowest }: Summary): Cost {
  return { wallMs, cpuMs, lowestCpuMs: lowest }
}
