import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { foldLog } from '@provost/agent'
import type { Entry, Message, SessionStore } from '@provost/core'
import { assertWellFormed, crashAt, findPostgres, startPostgres } from '@provost/testing'
import type { CrashMoment } from '@provost/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { ChildLine } from './crash-child.ts'
import { effectsOf, goOn, noDeeds, openStore, readLog, writes } from './crash-site.ts'
import type { Deeds, Site } from './crash-site.ts'
import { comparable } from './crash-world.ts'

/** Each point in a process of its own, which dies alone; otherwise a process stands at several and dies at all of them. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
const pointsInAProcess = full ? 1 : 12

const child = fileURLToPath(new URL('./crash-child.ts', import.meta.url))

/** Lines of another process, and how it ended. */
async function run(site: Site, task: 'die' | 'resume', sessions: readonly string[]) {
  const started = spawn(
    process.execPath,
    ['--conditions=@provost/source', child, JSON.stringify(site), task, ...sessions],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_COMPILE_CACHE: join(site.folder, 'cache') } },
  )
  const closed = once(started, 'close')
  const lines: ChildLine[] = []
  for await (const line of createInterface({ input: started.stdout })) lines.push(JSON.parse(line))
  const [, signal] = await closed
  return { lines, signal }
}

/** What a log says of a process that is dead. */
interface Legacy {
  /** Calls that have their result. */
  readonly settled: readonly string[]
  /** Calls of tools that write. */
  readonly started: readonly string[]
  /** Steps that have their answer. */
  readonly answered: readonly number[]
}

function legacyOf(entries: readonly Entry[]): Legacy {
  expect(entries.map(({ offset }) => offset)).toEqual(entries.map((_, index) => index + 1))
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
  const { messages } = foldLog(entries)
  assertWellFormed(isOpen(messages) ? messages.slice(0, -1) : messages)
  const reads = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool-call' && part.toolName === 'look' ? [part.callId] : [])),
    ),
  )
  const ofCalls = (op: 'started' | 'settled'): readonly string[] =>
    entries.flatMap((entry) => (entry.type === 'call' && entry.op === op ? [entry.callId] : []))
  const answered = entries.flatMap((entry) => (entry.type === 'message' && entry.via === 'model' ? [entry.step] : []))
  return { settled: ofCalls('settled'), started: ofCalls('started').filter((callId) => !reads.has(callId)), answered }
}

/** Whether a history ends with calls that wait for their results. */
function isOpen(messages: readonly Message[]): boolean {
  return messages.at(-1)?.content.some(({ type }) => type === 'tool-call') === true
}

/** All moments of a run that nothing happens to, and what it comes to. */
async function undisturbed(site: Site, store: SessionStore) {
  const crash = crashAt(Number.POSITIVE_INFINITY)
  const result = await goOn(site, 'whole', crash.store(store), noDeeds(), crash)
  expect(result).toMatchObject({ status: 'completed', text: 'It is done.' })
  expect(effectsOf(site, 'whole')).toHaveLength(writes)
  return { moments: crash.moments, messages: comparable(result.messages, result.runId) }
}

interface Tried {
  readonly died: string
  readonly uncertain: number
}

/** A session dies at a point in one process, and is brought to its end by another. */
async function tryPoints(site: Site, store: SessionStore, points: readonly CrashMoment[], expected: unknown) {
  const sessionOf = (point: CrashMoment): string => `died-at-${point.at}`
  const died = await run(
    site,
    'die',
    points.map((point) => `${sessionOf(point)}@${point.at}`),
  )
  expect(died.signal).toBe('SIGKILL')
  expect(died.lines).toHaveLength(points.length)
  const legacies = new Map<string, Legacy>()
  for (const { sessionId } of died.lines) legacies.set(sessionId, legacyOf(await readLog(store, sessionId)))

  const resumed = await run(site, 'resume', points.map(sessionOf))
  const tried: Tried[] = []
  for (const line of resumed.lines) {
    const { sessionId } = line
    const legacy = legacies.get(sessionId)
    const death = died.lines.find((one) => one.sessionId === sessionId)
    if (!('status' in line) || !legacy || !death) throw new Error(`nothing is known of ${sessionId}`)
    // Taken as it was where it came through unharmed: its timing may have been another one.
    tried.push({ died: 'died' in death ? death.died : 'nowhere', uncertain: line.deeds.uncertain.length })
    const entries = await readLog(store, sessionId)
    const { messages, run: ended } = foldLog(entries)
    expect([sessionId, line.status, ended?.status]).toEqual([sessionId, 'completed', 'completed'])
    expect(comparable(messages, ended?.id ?? '')).toEqual(expected)
    assertWellFormed(messages)
    legacyOf(entries)
    expectOnce(line.deeds, legacy)
    const effects = effectsOf(site, sessionId)
    expect(effects).toHaveLength(writes)
    expect(new Set(effects.map(({ callId }) => callId)).size).toBe(writes)
    expect(new Set(effects.map(({ key }) => key)).size).toBe(writes)
  }
  return tried
}

/** Nothing finished is done again, and what was begun and may have taken effect not without somebody's word. */
function expectOnce({ ran, asked, uncertain }: Deeds, { settled, started, answered }: Legacy): void {
  expect(ran.filter((callId) => settled.includes(callId))).toEqual([])
  expect(asked.filter((step) => answered.includes(step))).toEqual([])
  expect(new Set(ran).size).toBe(ran.length)
  expect(uncertain).toEqual(started.filter((callId) => !settled.includes(callId)))
}

function report(kind: string, tried: readonly Tried[]): void {
  const counts = Object.entries(Object.groupBy(tried, ({ died }) => died)).map(([name, of]) => `${of?.length} ${name}`)
  const how = full ? 'each in a process of its own' : `up to ${pointsInAProcess} in a process`
  const asked = tried.filter(({ uncertain }) => uncertain > 0).length
  process.stdout.write(`crash matrix on ${kind}: tried ${tried.length} points (${how}): ${counts.join(', ')}; at ${asked} of them somebody had to look\n`)
}

describe.each(['sqlite', 'postgres'] as const)('a run on %s', (kind) => {
  const missing = kind === 'postgres' && findPostgres() === undefined
  let site: Site
  let store: SessionStore
  let stop = async (): Promise<void> => {}

  beforeAll(async () => {
    if (missing) return
    const folder = mkdtempSync(join(tmpdir(), 'provost-crash-'))
    const server = kind === 'postgres' ? await startPostgres() : undefined
    site = { kind, place: server?.url ?? join(folder, 'sessions.db'), folder }
    store = openStore(site)
    stop = async () => {
      await store.close()
      await server?.stop()
      rmSync(folder, { recursive: true })
    }
  })
  afterAll(() => stop())

  test.skipIf(missing)(
    'whose process is killed, at whatever point, is brought to the same end by another process',
    async () => {
      const { moments, messages } = await undisturbed(site, store)
      const batches: CrashMoment[][] = []
      for (let n = 0; n < moments.length; n += pointsInAProcess) batches.push(moments.slice(n, n + pointsInAProcess))
      const tried: Tried[] = []
      const worker = async (): Promise<void> => {
        for (let batch = batches.pop(); batch; batch = batches.pop())
          tried.push(...(await tryPoints(site, store, batch, messages)))
      }
      await Promise.all([worker(), worker()])
      report(kind, tried)
      expect(tried).toHaveLength(moments.length)
      const names = new Set(tried.map(({ died }) => died))
      for (const { name } of moments) expect(names).toContain(name)
    },
    full ? 600_000 : 30_000,
  )
})
