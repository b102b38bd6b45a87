import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { scriptedModel } from '@provost/testing'
import { createAgent, defineExtension, runFanOut } from 'provost'
import type { Agent, SessionStore } from 'provost'
import { sqliteStore } from 'provost/sqlite'

import { collectGarbage } from './measure.ts'

const help = `Measures what a fan-out keeps in memory: for each child that runs, and for each that has ended.

Usage: node --conditions=@provost/source bench/fan-out.ts [options]

Each child is an agent with a log of its own, in a SQLite file. Three times in a run all children that are running are
held inside of their model call, and what is alive on the heap then is measured. The same with one child at a time tells
what the others take; how it grows from one time to the next tells what a child leaves when it has ended.

Options:
  --children 200,1000,4000   sizes of the fan-outs; the ratios compare with the first (default 200,1000,4000)
  --concurrency 16           children that run at a time (default 16)
  --json                     one JSON object on stdout, nothing else
  --help                     this text
`

interface Measured {
  /** Bytes alive on the heap at 25, 50 and 75 % of the children, beyond those before the run. */
  readonly held: readonly number[]
  /** The most children that were in a model call at the same time. */
  readonly most: number
  readonly cpuMs: number
}

/** The heap once it falls no more: some of what is gone is collected only when something else was. */
async function alive(): Promise<number> {
  let [least, same] = [Number.POSITIVE_INFINITY, 0]
  for (let rounds = 0; rounds < 40 && same < 3; rounds++) {
    await setTimeout(30)
    collectGarbage()
    const { heapUsed } = process.memoryUsage()
    same = heapUsed > least - 10_000 ? same + 1 : 0
    least = Math.min(least, heapUsed)
  }
  return least
}

/** Holds arrivals from a given number on, until as many have arrived as can. */
function gate(points: readonly number[], together: number) {
  let [begun, inside, most] = [0, 0, 0]
  let holding: PromiseWithResolvers<void> | undefined
  let full: PromiseWithResolvers<void> | undefined
  const left = [...points]
  return {
    get most() {
      return most
    },
    async enter() {
      begun++
      most = Math.max(most, ++inside)
      if (left[0] !== undefined && begun >= left[0]) holding ??= Promise.withResolvers()
      if (holding) {
        if (inside === together) full?.resolve()
        await holding.promise
      }
      inside--
    },
    /** Resolves when all that run are held. */
    async held() {
      full = Promise.withResolvers()
      if (holding && inside === together) full.resolve()
      await full.promise
    },
    release() {
      left.shift()
      const { resolve } = holding ?? Promise.withResolvers<void>()
      holding = undefined
      resolve()
    },
  }
}

async function measure(store: SessionStore, count: number, concurrency: number): Promise<Measured> {
  const points = [0.25, 0.5, 0.75].map((share) => Math.floor(count * share))
  const held = gate(points, concurrency)
  const agent: Agent = createAgent({
    name: 'child',
    model: scriptedModel([{ text: 'It is done.', usage: { inputTokens: 20, outputTokens: 5 } }], {
      after: 'repeat-last',
    }),
    extensions: [defineExtension({ name: 'gate', hooks: { 'model.request': () => held.enter() } })],
  })
  const before = await alive()
  const cpu = process.cpuUsage()
  const run = runFanOut({
    children: Array.from({ length: count }, (_, n) => ({ agent, input: `Do part ${n}.` })),
    mergeStrategy: { kind: 'custom', merge: (children) => `${children.length}` },
    maxConcurrentChildren: concurrency,
    store,
  })
  const seen: number[] = []
  for (const _ of points) {
    await held.held()
    seen.push((await alive()) - before)
    held.release()
  }
  const { output } = await run
  if (output !== `${count}`) throw new Error(`Of ${count} children ${output} ended.`)
  const { user, system } = process.cpuUsage(cpu)
  return { held: seen, most: held.most, cpuMs: (user + system) / 1000 }
}

interface Row {
  readonly children: number
  readonly mostAtATime: number
  /** Of a child that is held in its model call, with all that belongs to it. */
  readonly bytesPerRunning: number
  /** What a child leaves: its result, and the entries in the log of the run that tell of it. */
  readonly bytesPerEnded: number
  readonly cpuMsPerChild: number
}

function rowOf(children: number, concurrency: number, many: Measured, one: Measured): Row {
  const [first = 0, , last = 0] = many.held
  const apart = concurrency - 1
  const differences = many.held.map((bytes, index) => bytes - (one.held[index] ?? 0))
  const running = differences.reduce((sum, bytes) => sum + bytes, 0) / differences.length
  return {
    children,
    mostAtATime: many.most,
    bytesPerRunning: Math.round(running / Math.max(1, apart)),
    bytesPerEnded: Math.round((last - first) / (children / 2)),
    cpuMsPerChild: Number((many.cpuMs / children).toFixed(3)),
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      children: { type: 'string', default: '200,1000,4000' },
      concurrency: { type: 'string', default: '16' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return void process.stdout.write(help)
  const sizes = values.children.split(',').map(Number)
  const concurrency = Number(values.concurrency)
  if (![...sizes, concurrency].every((n) => Number.isInteger(n) && n >= 2) || Math.min(...sizes) < concurrency * 4) {
    throw new Error('Give whole numbers: at least 4 times as many children as run at a time, and 2 at a time.')
  }
  const folder = mkdtempSync(join(tmpdir(), 'fan-out-'))
  const rows: Row[] = []
  try {
    const store = sqliteStore(join(folder, 'log.db'))
    // Loading and compiling are not part of the measurement.
    for (const warm of [concurrency, 1]) await measure(store, 4 * concurrency, warm)
    for (const children of sizes) {
      const one = await measure(store, children, 1)
      rows.push(rowOf(children, concurrency, await measure(store, children, concurrency), one))
    }
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const [first] = rows
  const ratios = Object.fromEntries(
    rows.map((row) => [
      row.children,
      {
        bytesPerRunning: Number((row.bytesPerRunning / (first?.bytesPerRunning ?? 1)).toFixed(2)),
        bytesPerEnded: Number((row.bytesPerEnded / (first?.bytesPerEnded ?? 1)).toFixed(2)),
        cpuMsPerChild: Number((row.cpuMsPerChild / (first?.cpuMsPerChild ?? 1)).toFixed(2)),
      },
    ]),
  )
  if (values.json)
    return void process.stdout.write(`${JSON.stringify({ bench: 'fan-out', concurrency, rows, ratios })}\n`)
  for (const row of rows) {
    const ratio = ratios[row.children]
    process.stdout.write(
      `${row.children} children, ${row.mostAtATime} at a time: ${row.bytesPerRunning} bytes for each that runs ` +
        `(×${ratio?.bytesPerRunning}), ${row.bytesPerEnded} for each that has ended (×${ratio?.bytesPerEnded}), ` +
        `${row.cpuMsPerChild} ms CPU (×${ratio?.cpuMsPerChild})\n`,
    )
  }
}

await main()
