import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { pendingWork, sessionUsage } from '@provost/agent'
import type { Entry, Json, OpenWait, SessionStore, Usage } from '@provost/core'
import { addUsage } from '@provost/core'
import { indexSummaries } from '@provost/sessions'
import { foldLog, memoryStore } from 'provost'
import { importSession } from 'provost/sessions'
import { sqliteStore } from 'provost/sqlite'
import { afterAll, describe, expect, test } from 'vitest'

import { key } from './fixtures/scenario.ts'
import { scenarios } from './fixtures/scenarios.ts'

const recorded = join(import.meta.dirname, 'fixtures/v1')
const folder = mkdtempSync(join(tmpdir(), 'provost-summaries-'))
afterAll(() => rmSync(folder, { recursive: true }))

const tokensOf = (waits: readonly OpenWait[]): readonly string[] => waits.map(({ token }) => token).toSorted()

/** The ids of what waits, as the runtime tells it. */
function pendingIn(entries: readonly Entry[]): readonly string[] {
  const { approvals, inputs, remoteCalls, uncertain } = pendingWork(foldLog(entries))
  return [...approvals, ...inputs, ...remoteCalls, ...uncertain].map(({ id }) => id).toSorted()
}

async function entriesOf(store: SessionStore, log: string): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(log)) entries.push(entry)
  return entries
}

describe.each(scenarios)('a summary of a recorded session: $name', ({ name }) => {
  const text = readFileSync(join(recorded, `exports/${name}.jsonl`), 'utf8')

  test('has the open waits and the usage of the runtime after each entry', async () => {
    const from = memoryStore()
    const { sessionId } = await importSession(from, text, { key })
    const entries = await entriesOf(from, sessionId)
    const store = memoryStore()
    const lease = await store.lease(sessionId, 'writer', 60_000)
    if (lease === 'busy') throw new Error('busy')
    for (const [n, entry] of entries.entries()) {
      await store.append(sessionId, [entry], { after: n, fence: lease.fence })
      const so = entries.slice(0, n + 1)
      const summary = await store.summaries?.get(sessionId)
      // An allowed call and a planned one change the row with a later entry.
      if (!summary) continue
      expect([entry.offset, entry.type, tokensOf(summary.waits)]).toEqual([entry.offset, entry.type, pendingIn(so)])
    }
    const summary = await store.summaries?.get(sessionId)
    let usage: Usage = {}
    for (const row of summary?.spend ?? []) usage = addUsage(usage, row.usage)
    const { byModel: _, ...whole } = sessionUsage(foldLog(entries))
    expect(usage).toEqual(whole)
  })
})

test('a store of an earlier release, and one whose summaries were dropped, get them by a fold', async () => {
  const path = join(folder, 'sessions.db')
  cpSync(join(recorded, 'sessions.db'), path)
  const store = sqliteStore(path)
  const summaries: Json = JSON.parse(JSON.stringify(await store.summaries?.list()))
  expect(summaries).toEqual(JSON.parse(JSON.stringify(await indexSummaries(store).list())))
  expect(Array.isArray(summaries) && summaries.length).toBeGreaterThan(5)
  await store.close()
  const db = new DatabaseSync(path)
  db.exec('delete from summaries')
  db.close()
  const again = sqliteStore(path)
  expect(JSON.parse(JSON.stringify(await again.summaries?.list()))).toEqual(summaries)
  await again.close()
})
