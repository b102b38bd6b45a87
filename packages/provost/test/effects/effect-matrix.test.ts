import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { crashAt, effectServer, findPostgres, pauseAt, startPostgres } from '@provost/testing'
import type { EffectFault, EffectServer } from '@provost/testing'
import { builtProgram } from '@provost/testing/test/program'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { EffectAnswer, EffectMessage, EffectTask } from './effect-child.ts'
import { continueCase, openStore, settleCase, tellsSuccess, toldIn, ways } from './effect-site.ts'
import type { EffectCase, EffectSite } from './effect-site.ts'

/** Every moment on every store; otherwise a sample. */
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** Independent cells that wait for each other's time-outs side by side. A database server takes its share of the machine. */
const cellsAtOnce = { sqlite: 48, postgres: 16 } as const
/** Cells of one process that is killed: to start it costs more than its cells. */
const cellsInProcess = 96

/**
 * What the bank does to the first request. `in-doubt` performs it after a lookup may have denied it: only a bank that knows
 * its keys survives that.
 */
const faults = {
  none: undefined,
  drop: 'drop',
  'lose-reply': 'lose-reply',
  'error-after': 'error-after',
  slow: { delayMs: 60 },
  'in-doubt': { lateMs: 60 },
  timeout: { delayMs: 1_500 },
} as const satisfies Record<string, EffectFault | undefined>
type FaultName = keyof typeof faults

/** A row of the matrix: a case without its bank. */
interface Row extends Omit<EffectCase, 'bank'> {
  readonly fault: FaultName
}

const bools = [false, true] as const
const rows: readonly Row[] = ways.flatMap((way) =>
  bools.flatMap((keyed) =>
    bools.flatMap((lookup) =>
      bools.flatMap((repeats) =>
        (Object.keys(faults) as FaultName[]).flatMap((fault) => {
          // Children that run side by side are three payments without a key.
          if (way === 'fan-out' && !keyed) return []
          return [{ way, keyed, lookup, repeats, fault, timeoutMs: fault === 'timeout' ? 1_000 : 6_000 }]
        }),
      ),
    ),
  ),
)

function nameOf({ way, keyed, lookup, repeats, fault }: Row): string {
  return [way, keyed && 'key', lookup && 'lookup', repeats && 'repeats', fault]
    .filter((part) => part !== false)
    .join('-')
}

/** Every nth of a list, so that all values of all dimensions occur. */
function sampled<T>(list: readonly T[], every: number): readonly T[] {
  return list.filter((_, n) => n % every === 0)
}

function openBank({ fault }: Row): Promise<EffectServer> {
  return effectServer({ knowsKeys: fault === 'in-doubt', faults: [faults[fault]] })
}

/** A human who is certain: what was sent before they look has had its effect. */
function humanAt(bank: EffectServer): () => Promise<boolean> {
  return async () => {
    await bank.settled()
    return bank.effects.length > 0
  }
}

/** How the payment of a cell can go wrong. */
type Trouble = 'drop' | 'delay' | 'kill' | 'abort'

interface Tally {
  cells: number
  doubles: number
  lost: number
  asked: number
  lookedUp: number
}

interface Seen {
  readonly trouble: Trouble
  readonly asked: number
  /** The run came to its end by itself: the model had all its turns. */
  readonly completed: boolean
  /** The run was aborted and stays so. */
  readonly isOver?: boolean
  readonly error?: string | undefined
}

/** Returns what is wrong with a cell, and counts it. */
async function wrongsOf(
  tallies: Map<string, Tally>,
  row: Row,
  at: string,
  bank: EffectServer,
  store: SessionStore,
  id: string,
  seen: Seen,
): Promise<readonly string[]> {
  const told = await allTold(store, id)
  const paid = bank.effects.length
  const key = `${row.way} | ${seen.trouble}`
  const tally = tallies.get(key) ?? { cells: 0, doubles: 0, lost: 0, asked: 0, lookedUp: 0 }
  tallies.set(key, tally)
  const isLost = paid === 0 && (told.some(tellsSuccess) || (seen.completed && row.repeats))
  tally.cells += 1
  tally.doubles += paid > 1 ? 1 : 0
  tally.lost += isLost ? 1 : 0
  tally.asked += seen.asked > 0 ? 1 : 0
  tally.lookedUp += bank.lookups > 0 ? 1 : 0
  const holds: Record<string, boolean> = {
    'paid once at most': paid <= 1,
    'what the model was told is paid': paid === 1 || !told.some(tellsSuccess),
    'paid in the end': paid === 1 || !seen.completed || !row.repeats,
    // A second request is only sent because the first one is known to have had no effect.
    'asked or looked up': bank.requests <= 1 || seen.asked + bank.lookups > 0,
    'the model is told': told.length > 0 || !seen.completed,
    'the run ends by itself': seen.completed || seen.isOver === true,
  }
  const wrongs = Object.keys(holds).filter((name) => !holds[name])
  return wrongs.map(
    (name) =>
      `${nameOf(row)} ${at}: not ${name} (${paid} of ${bank.requests} requests, ${seen.asked} questions, ${bank.lookups} lookups) ${seen.error ?? ''}`,
  )
}

/** What models were told in the log of a session and in those of its children. */
async function allTold(store: SessionStore, id: string): Promise<readonly string[]> {
  const logs = [id, ...(await childrenOf(store, id))]
  return (await Promise.all(logs.map((log) => toldIn(store, log)))).flat()
}

async function childrenOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const children: string[] = []
  for await (const entry of store.read(id)) {
    if (entry.type === 'child' && entry.op === 'spawned') children.push(entry.log)
  }
  return children
}

const site = (kind: 'sqlite' | 'postgres', place: string): EffectSite => ({ kind, place })

describe.each(['sqlite', 'postgres'] as const)('an effect on %s', (kind) => {
  const missing = kind === 'postgres' && findPostgres() === undefined
  /** The ledger is the same on every store, which its own tests show; PostgreSQL has all cells in full runs. */
  const left = kind === 'postgres' && !full
  const tallies = new Map<string, Tally>()
  let place: EffectSite
  let store: SessionStore
  let stop = async (): Promise<void> => {}

  beforeAll(async () => {
    if (missing || left) return
    const folder = mkdtempSync(join(tmpdir(), 'provost-effects-'))
    const server = kind === 'postgres' ? await startPostgres() : undefined
    place = site(kind, server?.url ?? join(folder, 'sessions.db'))
    store = openStore(place)
    stop = async () => {
      await store.close()
      await server?.stop()
      rmSync(folder, { recursive: true })
    }
  })
  afterAll(async () => {
    if (process.env['PROVOST_TEST_TABLE'] === '1') console.log(tableOf(kind, tallies))
    await stop()
  })

  test.skipIf(missing)('takes place once when its request or its reply is lost or late', async ({ skip }) => {
    skip(left, 'in full runs')
    const wrongs: string[] = []
    await inTurns(sampled(rows, full ? 1 : 17), cellsAtOnce[kind], async (row) => {
      const bank = await openBank(row)
      const id = `lost-${nameOf(row)}`
      const { status, asked, error } = await settleCase({ ...row, bank: bank.url }, id, store, humanAt(bank))
      const trouble = ['slow', 'in-doubt', 'timeout'].includes(row.fault) ? 'delay' : 'drop'
      const seen = { trouble, asked, error, completed: status === 'completed' } as const
      wrongs.push(...(await wrongsOf(tallies, row, '', bank, store, id, seen)))
      await bank.close()
    })
    expect(wrongs).toEqual([])
  })

  test.skipIf(missing)('takes place once when the run is aborted at any moment and continues', async ({ skip }) => {
    skip(left, 'in full runs')
    const wrongs: string[] = []
    let reached = 0
    const cells = await cellsOf(['none', 'slow', 'in-doubt'], 0)
    await inTurns(cells, cellsAtOnce[kind], async ({ row, name, nth }) => {
      const bank = await openBank(row)
      const id = `abort-${nameOf(row)}-${name}-${nth}`
      const controller = new AbortController()
      const crash = pauseAt({ name, nth }, () => controller.abort())
      const one = { ...row, bank: bank.url }
      const first = await settleCase(one, id, store, humanAt(bank), { crash, signal: controller.signal })
      if (controller.signal.aborted) reached += 1
      // Without a key, a child or a script that is requested anew is another payment.
      const continues = first.status === 'aborted' && (row.keyed || row.way === 'agent')
      // An abort may come when the run has just been suspended.
      const again =
        first.status === 'suspended'
          ? await settleCase(one, id, store, humanAt(bank))
          : continues
            ? await continueCase(one, id, store, humanAt(bank))
            : undefined
      const seen = {
        trouble: 'abort',
        asked: first.asked + (again?.asked ?? 0),
        error: (again ?? first).error,
        completed: (again ?? first).status === 'completed',
        isOver: first.status === 'aborted' && !continues,
      } as const
      wrongs.push(...(await wrongsOf(tallies, row, `aborted ${name} ${nth}`, bank, store, id, seen)))
      await bank.close()
    })
    expect(wrongs).toEqual([])
    expect(reached).toBeGreaterThan(cells.length / 2)
  })

  test.skipIf(missing)(
    'takes place once when the process is killed at any moment and another one resumes',
    async ({ skip }) => {
      skip(left, 'in full runs')
      const wrongs: string[] = []
      const reached = new Set<string>()
      const cells = await cellsOf(['none', 'lose-reply', 'slow', 'in-doubt'], 1)
      const batches: (readonly Cell[])[] = []
      for (let n = 0; n < cells.length; n += cellsInProcess) batches.push(cells.slice(n, n + cellsInProcess))
      await inTurns(batches, 1, async (batch) => {
        const banks = new Map<string, EffectServer>()
        const asked = new Map<string, number>()
        const tasks: EffectTask[] = []
        for (const { row, name, nth } of batch) {
          const bank = await openBank(row)
          const sessionId = `kill-${nameOf(row)}-${name}-${nth}`
          banks.set(sessionId, bank)
          tasks.push({ sessionId, at: { name, nth }, one: { ...row, bank: bank.url } })
        }
        // Only full runs start it often.
        const program = full ? await builtProgram(childSource) : fileURLToPath(childSource)
        const child = fork(program, [JSON.stringify(place), JSON.stringify(tasks)], {
          execArgv: ['--conditions=@provost/source'],
        })
        child.on('message', ({ kind: said, sessionId }: EffectMessage) => {
          if (said === 'reached') return void reached.add(sessionId)
          asked.set(sessionId, (asked.get(sessionId) ?? 0) + 1)
          const bank = banks.get(sessionId)
          if (bank) void humanAt(bank)().then((took) => child.send({ sessionId, took } satisfies EffectAnswer))
        })
        const [, signal]: (string | null)[] = await once(child, 'close')
        expect(signal).toBe('SIGKILL')
        await Promise.all(
          tasks.map(async ({ sessionId, one }, n) => {
            const bank = banks.get(sessionId)
            const cell = batch[n]
            if (!bank || !cell) throw new Error(`there is no bank of ${sessionId}`)
            const ending = await settleCase(one, sessionId, store, humanAt(bank))
            const seen = {
              trouble: 'kill',
              asked: (asked.get(sessionId) ?? 0) + ending.asked,
              error: ending.error,
              completed: ending.status === 'completed',
            } as const
            const { row, name, nth } = cell
            wrongs.push(...(await wrongsOf(tallies, row, `killed ${name} ${nth}`, bank, store, sessionId, seen)))
            await bank.close()
          }),
        )
      })
      expect(wrongs).toEqual([])
      expect(reached.size).toBeGreaterThan(cells.length / 2)
    },
  )
})

const childSource = new URL('effect-child.ts', import.meta.url)

/** A row, and the moment at which something happens to its process: the nth of a name. */
interface Cell {
  readonly row: Row
  readonly name: string
  readonly nth: number
}

/** The moments of rows when nothing happens to their process: the same on every store. */
const momentsOf = new Map<Row, Promise<readonly Cell[]>>()

async function findMoments(row: Row): Promise<readonly Cell[]> {
  const { ephemeral: _, ...store } = memoryStore()
  const bank = await openBank(row)
  const crash = crashAt(Number.POSITIVE_INFINITY)
  await settleCase({ ...row, bank: bank.url }, 'whole', store, humanAt(bank), { crash })
  await bank.close()
  const seen = new Map<string, number>()
  return crash.moments.map(({ name }) => {
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return { row, name, nth }
  })
}

/**
 * Returns one cell for each moment of each way, with a model that repeats itself and without. Keys, lookups and faults take
 * turns.
 *
 * @param turn selects another combination of them.
 */
async function cellsOf(some: readonly FaultName[], turn: number): Promise<readonly Cell[]> {
  const chosen = sampled(
    rows.filter(({ fault }) => some.includes(fault)),
    full ? 1 : 11,
  )
  await inTurns(chosen, cellsAtOnce.sqlite, async (row) => {
    if (!momentsOf.has(row)) momentsOf.set(row, findMoments(row))
    await momentsOf.get(row)
  })
  const groups = new Map<string, Cell[]>()
  for (const row of chosen) {
    for (const cell of (await momentsOf.get(row)) ?? []) {
      // The children of a fan-out do the same, one after the other.
      const nth = row.way === 'fan-out' ? Math.ceil(cell.nth / 3) : cell.nth
      const key = [row.way, row.repeats, cell.name, nth].join(' ')
      groups.set(key, [...(groups.get(key) ?? []), cell])
    }
  }
  const cells = [...groups.values()].flatMap((group, n) => group[(n + turn) % group.length] ?? [])
  return sampled(cells, full ? 1 : 41)
}

function tableOf(kind: string, tallies: ReadonlyMap<string, Tally>): string {
  const lines = [...tallies].map(
    ([key, { cells, doubles, lost, asked, lookedUp }]) =>
      `| ${kind} | ${key} | ${cells} | ${doubles} | ${lost} | ${asked} | ${lookedUp} |`,
  )
  return lines.toSorted().join('\n')
}

async function inTurns<T>(list: readonly T[], workers: number, work: (one: T) => Promise<void>): Promise<void> {
  const rest = [...list]
  const worker = async (): Promise<void> => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
