import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { jsonlStore, memoryStore, RunState } from 'provost'
import type { Agent, SessionStore } from 'provost'
import { auditChain, verifyAudit } from 'provost/governance'
import { createMemory } from 'provost/memory'
import { exportSession, importSession } from 'provost/sessions'
import { sqliteMemory, sqliteStore } from 'provost/sqlite'
import { afterAll, describe, expect, test } from 'vitest'

import type { Read } from './fixtures/recorded.ts'
import { entriesOf, readSession } from './fixtures/recorded.ts'
import { key } from './fixtures/scenario.ts'
import type { Scenario } from './fixtures/scenario.ts'
import { scenarios } from './fixtures/scenarios.ts'

/** Written by the release before the second wave; see fixtures/write.ts. */
const recorded = join(import.meta.dirname, 'fixtures/v1')
const textOf = (path: string): string => readFileSync(join(recorded, path), 'utf8')
const expected: Readonly<Record<string, Read & { readonly sessionId: string }>> = JSON.parse(textOf('expected.json'))
const exportOf = ({ name }: Scenario): string => textOf(`exports/${name}.jsonl`)

async function textOfExport(store: SessionStore, sessionId: string): Promise<string> {
  const lines: string[] = []
  for await (const line of exportSession(store, sessionId, { key })) lines.push(line)
  return lines.join('')
}

/** Takes a session up where it was left, and answers what it waits for. */
async function goOn(agent: Agent, sessionId: string, { resumed }: Scenario): Promise<{ status: string; text: string }> {
  const session = await agent.resumeSession(sessionId)
  // A run whose process died says what it waits for once it is taken up.
  if (session.status === 'running' || Object.values(session.pending).every((list) => list.length === 0)) {
    await session.resume().result
  }
  let end = await session.resume(resumed?.decisions(session.pending)).result
  // The logs of this release do not say which definition an approval is for, so each is asked about once more.
  if (end.status === 'suspended' && end.pending.approvals.length > 0)
    end = await session.resume(resumed?.decisions(end.pending)).result
  await session.close()
  return { status: end.status, text: end.text }
}

describe.each(scenarios)('a session that an earlier release recorded: $name', (scenario) => {
  const { name, agent: make } = scenario
  const { sessionId = name, ...read } = expected[name] ?? {}

  test('reads, folds and replays as it did then', async () => {
    expect(await readSession(make, exportOf(scenario))).toEqual(read)
  })

  test('is exported with the same bytes, and imported without its key as untrusted', async () => {
    const store = memoryStore()
    expect(await importSession(store, exportOf(scenario), { key })).toMatchObject({ trusted: true, sessionId })
    expect(await textOfExport(store, sessionId)).toBe(exportOf(scenario))
    const strange = memoryStore()
    expect(await importSession(strange, exportOf(scenario))).toMatchObject({ trusted: false })
    const next = await make({ store: strange, part: 'resumed' }).resumeSession(sessionId)
    expect(next.pending.approvals).toEqual([])
    await next.close()
    const labels = (await entriesOf(strange, sessionId)).map((entry) => entry.type === 'message' && entry.message.label)
    expect(labels.filter((label) => label && label.integrity !== 'untrusted')).toEqual([])
  })
})

const waiting = scenarios.filter(({ resumed }) => resumed)
test.each(waiting)('a session that waits goes on to its end: $name', async (scenario) => {
  const { name, agent: make, resumed } = scenario
  const store = memoryStore()
  await importSession(store, exportOf(scenario), { key })
  const end = await goOn(make({ store, part: 'resumed' }), name, scenario)
  expect(end).toEqual({ status: resumed?.status, text: resumed?.text })
})

// What died in the middle of a call has no state: only its log says how far it was.
const withState = waiting.filter(({ name }) => !name.startsWith('uncertain'))
test.each(withState)(
  'a run state that an earlier release wrote goes on to its end: $name',
  async ({ name, agent: make, resumed }) => {
    const agent = make({ store: memoryStore(), part: 'resumed' })
    const state = RunState.fromJSON(textOf(`states/${name}.json`), agent)
    const first = await agent.run(state)
    let end = first
    // Each approval is asked about once more, as above.
    for (let asked = 0; asked < 2 && end.status === 'suspended'; asked++)
      end = await agent.run(end.state, resumed?.decisions(end.pending))
    expect({ status: end.status, text: end.text }).toEqual({ status: resumed?.status, text: resumed?.text })
  },
)

test.each(['blocked', 'blocked-pending'])('the audit of a recorded session verifies: %s', (name) => {
  const exported = textOf(`exports/${name}.jsonl`)
  expect(verifyAudit(exported, { key })).toMatchObject({ ok: true, problems: [], open: [] })
  expect(verifyAudit(auditChain(exported), { key })).toMatchObject({ ok: true })
  const changed = exported.replace('"type":"audit","decision":"', '"type":"audit","decision":"un')
  expect(verifyAudit(changed, { key }).ok).toBe(false)
})

test.each(['plain', 'blocked', 'child', 'secrets'])('what was exported for the outside is read: %s', async (name) => {
  const store = memoryStore()
  const { sessionId } = await importSession(store, textOf(`outside/${name}.jsonl`))
  expect((await entriesOf(store, sessionId)).length).toBeGreaterThan(0)
})

describe('a store that an earlier release wrote', () => {
  const folder = mkdtempSync(join(tmpdir(), 'provost-old-'))
  cpSync(recorded, folder, { recursive: true })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const stored = [
    'plain',
    'spilled',
    'approval-pending',
    'child-pending',
    'uncertain-retry',
    'compacted',
    'remote-pending',
  ]

  test.each([
    ['SQLite', () => sqliteStore(join(folder, 'sessions.db'))],
    ['JSON lines', () => jsonlStore(join(folder, 'sessions'))],
  ])('%s: lists its sessions, and those that wait go on to their end', async (_, open) => {
    const store = open()
    const listed: string[] = []
    for await (const { id } of store.list({})) listed.push(id)
    expect(listed.toSorted()).toEqual(stored.toSorted())
    for (const scenario of scenarios) {
      const { name, agent: make, resumed } = scenario
      if (!stored.includes(name)) continue
      expect(await entriesOf(store, name)).toHaveLength(expected[name]?.entries ?? 0)
      const end = resumed && (await goOn(make({ store, part: 'resumed' }), name, scenario))
      expect(end).toEqual(resumed && { status: resumed.status, text: resumed.text })
      // Blobs are there, too.
      await importSession(memoryStore(), await textOfExport(store, name), { key })
    }
    await store.close()
  })

  test('SQLite: what was remembered is recalled', async () => {
    const memory = createMemory({ store: sqliteMemory(join(folder, 'memory.db')) })
    const hits = await memory.recall('Which language does Ann prefer?', { principal: { id: 'ann' } })
    expect(hits.map(({ text }) => text)).toContain('Ann prefers French.')
    await memory.close()
  })
})
