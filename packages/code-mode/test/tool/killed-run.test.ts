import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { foldLog } from '@provost/agent'
import type { Entry, RunResult, SessionStore } from '@provost/core'
import { sqliteStore } from '@provost/sessions'
import { assertWellFormed, crashAt } from '@provost/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import type { ChildLine } from '../fixture/script-child.ts'
import { inAnotherProcess, type Moment, momentsOf } from '../fixture/script-process.ts'
import { calls, outsideOf, goOn, noDeeds, readLog, type Site, writes } from '../fixture/script-site.ts'

/** The moments that share a process, which is killed once each session is at its moment. */
const inAProcess = 24
/** All moments, or a sample. */
const full = process.env['PROVOST_TEST_FULL'] === '1'

const folder = mkdtempSync(join(tmpdir(), 'provost-killed-'))
const site: Site = { place: join(folder, 'sessions.db'), folder }
let store: SessionStore

beforeAll(() => {
  store = sqliteStore(site.place)
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const outcome = z.object({
  result: z.object({
    by: z.string(),
    seat: z.object({ seat: z.number() }),
    paid: z.string(),
    van: z.string(),
    refused: z.string(),
    notes: z.array(z.string()),
  }),
  logs: z.array(z.string()),
})

/** The result of the script in the log. */
function outcomeOf(messages: RunResult['messages']) {
  const parts = messages.flatMap(({ content }) => content)
  const result = parts.find((part) => part.type === 'tool-result')
  if (result?.type !== 'tool-result' || result.output.type !== 'json') throw new Error('the script has no result')
  return outcome.parse(result.output.value)
}

/** The bridged calls of a log with the random number and the time of each. */
function bridged(entries: readonly Entry[]) {
  const planned = entries.flatMap((entry) => (entry.type === 'call' && entry.op === 'planned' ? [entry] : []))
  const settled = entries.flatMap((entry) => (entry.type === 'call' && entry.op === 'settled' ? [entry.callId] : []))
  const by = planned.map(({ args }) => z.object({ by: z.string() }).parse(args).by)
  return { planned: planned.map(({ callId }) => callId), settled, by: new Set(by) }
}

/** Every moment in full runs, otherwise the last of every sixth name. */
function sampleOf(moments: readonly Moment[]): readonly Moment[] {
  if (full) return moments
  return [...new Map(moments.map((moment) => [moment.name, moment])).values()].filter((_, index) => index % 6 === 0)
}

/** Resumes in another process in full runs, otherwise in this one. */
async function resume(sessions: readonly string[]): Promise<readonly ChildLine[]> {
  if (full) {
    const { signal, lines } = await inAnotherProcess(site, 'resume', sessions)
    expect(signal).toBe('null')
    return lines
  }
  return Promise.all(
    sessions.map(async (sessionId) => {
      const deeds = noDeeds()
      const { status } = await goOn(site, sessionId, store, deeds)
      return { sessionId, status, deeds }
    }),
  )
}

async function tryMoments(moments: readonly Moment[], expected: object): Promise<readonly string[]> {
  const sessionOf = ({ at }: Moment) => `died-at-${at}`
  const died = await inAnotherProcess(
    site,
    'die',
    moments.map((moment) => `${sessionOf(moment)}@${moment.nth}@${moment.name}`),
  )
  expect(died.signal).toBe('SIGKILL')
  const left = new Map<string, ReturnType<typeof bridged>>()
  for (const { sessionId } of died.lines) left.set(sessionId, bridged(await readLog(store, sessionId)))

  const resumed = await resume(moments.map(sessionOf))
  expect(resumed).toHaveLength(moments.length)
  for (const line of resumed) {
    const { sessionId, deeds } = line
    const entries = await readLog(store, sessionId)
    const { messages } = foldLog(entries)
    assertWellFormed(messages)
    const { result, logs } = outcomeOf(messages)
    const made = bridged(entries)
    const before = left.get(sessionId)
    expect(line, `in ${sessionId}`).toMatchObject({ status: 'completed' })
    expect({ ...result, by: '', logs }, `in ${sessionId}`).toEqual(expected)
    // The calls have the same random number and time as in the process that died.
    expect([...made.by], `in ${sessionId}`).toEqual([result.by])
    expect(made.planned, `in ${sessionId}`).toHaveLength(calls)
    expect(new Set(made.planned).size, `in ${sessionId}`).toBe(calls)
    expect(made.planned.slice(0, before?.planned.length), `in ${sessionId}`).toEqual(before?.planned)
    expect(
      deeds.ran.filter((callId) => before?.settled.includes(callId)),
      `in ${sessionId}`,
    ).toEqual([])
    const effects = outsideOf(site, sessionId).read()
    expect(effects, `in ${sessionId}`).toHaveLength(writes)
    expect(new Set(effects.map(({ callId }) => callId)).size, `in ${sessionId}`).toBe(writes)
    expect(new Set(effects.map(({ key }) => key)).size, `in ${sessionId}`).toBe(writes)
  }
  return died.lines.map((line) => ('at' in line ? line.at : 'nowhere'))
}

test('a script whose process is killed at any of its calls is resumed by another process to the same value, without a repeated effect', async () => {
  const crash = crashAt(Number.POSITIVE_INFINITY)
  const whole = await goOn(site, 'whole', crash.store(store), noDeeds(), crash)
  expect(whole.status).toBe('completed')
  const { result, logs } = outcomeOf(whole.messages)
  expect(result).toMatchObject({ seat: { seat: 7 }, paid: 'paid', van: 'van 7', refused: 'tool-failed' })
  expect(outsideOf(site, 'whole').read()).toHaveLength(writes)
  const moments = sampleOf(momentsOf(crash))
  const died: string[] = []
  for (let first = 0; first < moments.length; first += inAProcess) {
    const batch = moments.slice(first, first + inAProcess)
    died.push(...(await tryMoments(batch, { ...result, by: '', logs })))
  }
  process.stdout.write(`killed in a script: ${died.length} of ${crash.moments.length} moments\n`)
  expect(died).toHaveLength(moments.length)
  for (const { name } of moments) expect(died).toContain(name)
})
