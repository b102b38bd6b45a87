import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Entry, SessionStore } from '@provost/core'
import { sqliteStore } from '@provost/sessions'
import { crashAt } from '@provost/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { inAnotherProcess, type Moment, momentsOf } from './fixture/script-process.ts'
import { goOn, noDeeds, outsideOf, readLog, type Site } from './fixture/script-site.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
/** The moments that share a process, which is killed once each session is at its moment. */
const inAProcess = 24
const folder = mkdtempSync(join(tmpdir(), 'provost-planned-'))
const site: Site = { place: join(folder, 'sessions.db'), folder, planned: true }
let store: SessionStore

beforeAll(() => {
  store = sqliteStore(site.place)
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** What a log has of the tools: their calls in order, the calls that a human was asked about, and the endorsed values. */
function traceOf(entries: readonly Entry[]) {
  const tools = new Map<string, string>()
  const asked: string[] = []
  const endorsed: unknown[] = []
  for (const entry of entries) {
    if (entry.type === 'call' && entry.op === 'planned') tools.set(entry.callId, entry.toolName)
    if (entry.type === 'wait' && entry.kind === 'approval') asked.push(tools.get(entry.callId ?? '') ?? '')
    if (entry.type === 'audit' && entry.rule === 'endorsed') endorsed.push(entry.evidence)
  }
  return {
    tools: [...tools.values()],
    asked: asked.toSorted(),
    endorsed: [...new Set(endorsed.map((row) => JSON.stringify(row)))],
  }
}

async function resume(sessions: readonly string[]): Promise<readonly string[]> {
  const { lines } = await inAnotherProcess(site, 'resume', sessions)
  return lines.map((line) => ('status' in line ? line.status : line.at))
}

test('a planned script whose process is killed is resumed by another one, asks the same, and repeats no effect', async ({
  skip,
}) => {
  skip(!full, 'in full runs')
  const crash = crashAt(Number.POSITIVE_INFINITY)
  const whole = await goOn(site, 'whole', crash.store(store), noDeeds(), crash)
  expect(whole.status).toBe('completed')
  const expected = traceOf(await readLog(store, 'whole'))
  expect(expected.tools).toEqual(['look', 'look', 'endorse', 'pay', 'book', 'courier', 'note', 'note'])
  // `pay` asks by itself, and its amount is endorsed. The amount of `book` comes from outside.
  expect(expected.asked).toEqual(['book', 'pay'])
  expect(expected.endorsed).toEqual(['{"by":"small","value":1}'])
  const moments = momentsOf(crash)
  const sessionOf = ({ at }: Moment) => `died-at-${at}`
  let died = 0
  for (let first = 0; first < moments.length; first += inAProcess) {
    const batch = moments.slice(first, first + inAProcess)
    const left = await inAnotherProcess(
      site,
      'die',
      batch.map((moment) => `${sessionOf(moment)}@${moment.nth}@${moment.name}`),
    )
    expect(left.signal).toBe('SIGKILL')
    died += left.lines.length
    const sessions = batch.map(sessionOf)
    expect(await resume(sessions)).toEqual(sessions.map(() => 'completed'))
    for (const sessionId of sessions) {
      expect(traceOf(await readLog(store, sessionId)), `in ${sessionId}`).toEqual(expected)
      const effects = outsideOf(site, sessionId).read()
      expect(effects, `in ${sessionId}`).toHaveLength(4)
      expect(new Set(effects.map(({ callId }) => callId)).size, `in ${sessionId}`).toBe(4)
    }
  }
  process.stdout.write(`killed in a planned script: ${died} of ${crash.moments.length} moments\n`)
  expect(died).toBe(moments.length)
})
