import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { foldLog } from '@provost/agent'
import type { Entry, Message, SessionStore } from '@provost/core'
import { SessionBusyError } from '@provost/core'
import { assertWellFormed, crashAt, findPostgres, startPostgres } from '@provost/testing'
import type { CrashMoment } from '@provost/testing'
import { builtProgram } from '@provost/testing/test/program'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { ChildLine } from './crash-child.ts'
import { clerk, outsideOf, goOn, noDeeds, openStore, readLog, stateFrom, writes } from './crash-site.ts'
import type { Deeds, Site } from './crash-site.ts'
import { comparable } from './crash-world.ts'

/** All points on every store; otherwise a sample of them. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** Sessions in a process: each stands still at its own point, and the process is killed when all do. */
const pointsInAProcess = Number(process.env['PROVOST_TEST_POINTS'] ?? 42)

const source = new URL('./crash-child.ts', import.meta.url)
/** Only full runs start it often. */
let child = fileURLToPath(source)
beforeAll(async () => {
  if (full) child = await builtProgram(source)
})

/** Another process at work; what it says is heard as it says it. */
function start(site: Site, task: 'die' | 'stop' | 'hold' | 'resume', sessions: readonly string[]) {
  const started = spawn(
    process.execPath,
    ['--conditions=@provost/source', child, JSON.stringify(site), task, ...sessions],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const ended = once(started, 'close').then(([, signal]: (string | null)[]) => signal)
  const lines: ChildLine[] = []
  const heard = new EventEmitter()
  createInterface({ input: started.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text))
    heard.emit('line')
  })
  return {
    lines,
    ended,
    pid: started.pid ?? 0,
    /** Lets one go on that was held. */
    release: () => started.stdin.end('go'),
    async said(count: number): Promise<void> {
      while (lines.length < count) await once(heard, 'line')
    },
  }
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
async function undisturbed(site: Site, store: SessionStore, sessionId = 'whole') {
  const crash = crashAt(Number.POSITIVE_INFINITY)
  const result = await goOn(site, sessionId, crash.store(store), noDeeds(), crash)
  expect(result).toMatchObject({ status: 'completed', text: 'It is done.' })
  expect(outsideOf(site, sessionId).read()).toHaveLength(writes)
  return { moments: crash.moments, messages: comparable(result.messages, result.runId) }
}

/** Others go on with what a process left: one more process where all is tried, this one otherwise. */
async function inherit(site: Site, store: SessionStore, sessions: readonly string[]): Promise<readonly ChildLine[]> {
  if (full) {
    const heir = start(site, 'resume', sessions)
    if ((await heir.ended) !== null) throw new Error('the heir died')
    return heir.lines
  }
  return Promise.all(
    sessions.map(async (sessionId) => {
      const deeds = noDeeds()
      const { status } = await goOn(site, sessionId, store, deeds)
      return { sessionId, status, deeds }
    }),
  )
}

interface Tried {
  readonly died: string
  readonly uncertain: number
}

/** A session dies at a point in one process, and is brought to its end by another. */
async function tryPoints(site: Site, store: SessionStore, points: readonly CrashMoment[], expected: unknown) {
  const sessionOf = (point: CrashMoment): string => `died-at-${point.at}`
  const died = start(
    site,
    'die',
    points.map((point) => `${sessionOf(point)}@${point.at}`),
  )
  expect(await died.ended).toBe('SIGKILL')
  expect(died.lines).toHaveLength(points.length)
  const legacies = new Map<string, Legacy>()
  for (const { sessionId } of died.lines) legacies.set(sessionId, legacyOf(await readLog(store, sessionId)))

  const tried: Tried[] = []
  for (const line of await inherit(site, store, points.map(sessionOf))) {
    const { sessionId } = line
    const legacy = legacies.get(sessionId)
    const death = died.lines.find((one) => one.sessionId === sessionId)
    if (!('status' in line) || !legacy || !death) throw new Error(`nothing is known of ${sessionId}`)
    // Taken as it was where it came through unharmed: its timing may have been another one.
    tried.push({ died: 'at' in death ? death.at : 'nowhere', uncertain: line.deeds.uncertain.length })
    const entries = await readLog(store, sessionId)
    const { messages, run: ended } = foldLog(entries)
    expect([sessionId, line.status, ended?.status]).toEqual([sessionId, 'completed', 'completed'])
    expect(comparable(messages, ended?.id ?? '')).toEqual(expected)
    assertWellFormed(messages)
    legacyOf(entries)
    expectOnce(line.deeds, legacy)
    const effects = outsideOf(site, sessionId).read()
    expect(effects).toHaveLength(writes)
    expect(new Set(effects.map(({ callId }) => callId)).size).toBe(writes)
    expect(new Set(effects.map(({ key }) => key)).size).toBe(writes)
  }
  return tried
}

/** A finished call does not run again. A started call that may have taken effect runs again only after a decision. */
function expectOnce({ ran, asked, uncertain }: Deeds, { settled, started, answered }: Legacy): void {
  expect(ran.filter((callId) => settled.includes(callId))).toEqual([])
  expect(asked.filter((step) => answered.includes(step))).toEqual([])
  expect(new Set(ran).size).toBe(ran.length)
  expect(uncertain).toEqual(started.filter((callId) => !settled.includes(callId)))
}

function report(kind: string, tried: readonly Tried[], all: number): void {
  const counts = Object.entries(Object.groupBy(tried, ({ died }) => died)).map(([name, of]) => `${of?.length} ${name}`)
  const how = `up to ${pointsInAProcess} in a process`
  const asked = tried.filter(({ uncertain }) => uncertain > 0).length
  process.stdout.write(
    `crash matrix on ${kind}: tried ${tried.length} of ${all} points (${how}): ${counts.join(', ')}; ${asked} of them needed a decision\n`,
  )
}

/** The first point of each kind. */
function sampleOf(moments: readonly CrashMoment[]): readonly CrashMoment[] {
  return moments.filter(({ name }, n) => moments.findIndex((one) => one.name === name) === n)
}

describe.each(['sqlite', 'postgres'] as const)('a run on %s', (kind) => {
  const missing = kind === 'postgres' && findPostgres() === undefined
  /** Two processes at one run are the same to the loop on any store; that a store tells them apart is shown of each. */
  const sampled = kind === 'postgres' && !full
  let site: Site
  let store: SessionStore
  let stop = async (): Promise<void> => {}

  beforeAll(async () => {
    if (missing || sampled) return
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
    async ({ skip }) => {
      skip(sampled, 'in full runs')
      const { moments, messages } = await undisturbed(site, store)
      const batches: CrashMoment[][] = []
      const points = full ? moments : sampleOf(moments)
      for (let n = 0; n < points.length; n += pointsInAProcess) batches.push(points.slice(n, n + pointsInAProcess))
      const tried: Tried[] = []
      const worker = async (): Promise<void> => {
        for (let batch = batches.pop(); batch; batch = batches.pop())
          tried.push(...(await tryPoints(site, store, batch, messages)))
      }
      await Promise.all([worker(), worker()])
      report(kind, tried, moments.length)
      expect(tried).toHaveLength(points.length)
      // Calls that run at once may take turns otherwise in a process that dies: only all points have all kinds for certain.
      const names = new Set(tried.map(({ died }) => died))
      const missed = [...new Set(moments.map(({ name }) => name))].filter((name) => !names.has(name))
      expect(missed.length).toBeLessThanOrEqual(full ? 0 : 2)
    },
  )

  test.skipIf(missing)(
    'that another process works on is refused to a second one, and continues undisturbed',
    async ({ skip }) => {
      // A lease that another handle holds is shown of each store, and a session that is busy in this process.
      skip(!full, 'in full runs')
      // However slow the machine is, who lives keeps what it holds.
      const patient: Site = { ...site, leaseMs: 60_000 }
      const first = start(patient, 'hold', ['held@9'])
      await first.said(1)
      const agent = clerk(patient, 'held', store, noDeeds())
      const state = stateFrom(await readLog(store, 'held'), 'held', agent)
      if (!state) throw new Error('the run has not begun')
      const second = await agent.run(state)
      expect(second.status).toBe('failed')
      expect(second.error).toBeInstanceOf(SessionBusyError)
      first.release()
      expect(await first.ended).toBe(null)
      expect(first.lines.at(-1)).toMatchObject({ sessionId: 'held', status: 'completed' })
      expect(outsideOf(site, 'held').read()).toHaveLength(writes)
      legacyOf(await readLog(store, 'held'))
    },
  )

  test.skipIf(missing)(
    'that was taken over from a process which stood still: that one appends nothing more and starts no tool',
    async ({ skip }) => {
      skip(!full, 'in full runs')
      const { moments: points } = await undisturbed(site, store, 'whole again')
      const sessions = points.map(({ at }) => `stopped-at-${at}`)
      const zombie = start(
        site,
        'stop',
        points.map(({ at }, n) => `${sessions[n]}@${at}`),
      )
      await zombie.said(points.length)
      const ranBefore = new Map(zombie.lines.map(({ sessionId, deeds }) => [sessionId, deeds.ran]))
      await inherit(site, store, sessions)
      const before = new Map<string, readonly Entry[]>()
      for (const sessionId of sessions) before.set(sessionId, await readLog(store, sessionId))
      process.kill(zombie.pid, 'SIGCONT')
      expect(await zombie.ended).toBe(null)
      for (const { sessionId, deeds, ...end } of zombie.lines.slice(points.length)) {
        const entries = await readLog(store, sessionId)
        expect(entries).toEqual(before.get(sessionId))
        expect([sessionId, deeds.ran]).toEqual([sessionId, ranBefore.get(sessionId)])
        // It hears how the run ended elsewhere, or that it is no longer its own.
        expect(end).toSatisfy(
          (one: { status: string; error?: string }) => one.status === 'completed' || one.error === 'fenced',
        )
        assertWellFormed(foldLog(entries).messages)
      }
    },
  )
})
