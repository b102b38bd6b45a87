import { parseArgs } from 'node:util'

import type { Entry } from 'provost'

import { collectGarbage, compare, median } from './measure.ts'
import type { Plan, Subject, Summary } from './measure.ts'
import { contenders } from './stores/contenders.ts'
import { measureResumed } from './stores/resumed.ts'
import type { Resumed } from './stores/resumed.ts'
import type { Side } from './stores/side.ts'

/** Appends in a row of one side before the other one has its turn. */
const slice = 250

const help = `Compares what stores cost with writing and reading the same rows by hand, in the same run.

Usage: node --conditions=@provost/source bench/stores.ts [options]

Appends: entries of about 1 KB to a new log, one at a time, each stored before the next. By hand: the same JSON as rows
with a number and nothing else, in as many transactions, with the same care for the disk. Store and hand take turns at
slices of ${slice} appends, and the ratio is the median of what each pair of slices gives: what else the machine does in
the meantime meets both. Resume: a long log of small entries is read from its
beginning and parsed; with SQLite a session as long is opened, and an agent goes on with it up to its answer. PostgreSQL runs where it is installed, on a server of its own that forces nothing to the disk.

Options:
  --appends 5000    entries of one sample (default 5000; a tenth of them for postgres)
  --entries 100000  length of the log that is read (default 100000)
  --runs 7          samples of each; the medians are compared (default 7)
  --only sqlite     stores to run, separated by commas (default: all)
  --json            one JSON object on stdout, nothing else
  --help            this text
`

export interface Row {
  /** Per second, by the clock. */
  readonly appends: number
  readonly appendsByHand: number
  /** Of the speed of doing it by hand. */
  readonly appendRatio: number
  /** Microseconds of CPU for one append. */
  readonly appendCpuUs: number
  readonly appendCpuUsByHand: number
  /** Of the CPU that it takes the store, what it takes by hand. */
  readonly appendCpuRatio: number
  /** Microseconds of CPU for one append, in each slice. */
  readonly appendSlicesUs: { readonly store: readonly number[]; readonly hand: readonly number[] }
  /** Milliseconds. */
  readonly resumeMs: number
  readonly resumeMsByHand: number
  /** Of the time that it takes by hand. */
  readonly resumeRatio: number
}

export interface Report {
  readonly bench: 'stores'
  readonly unit: 'appends per second and ms of a resume, medians'
  readonly entries: number
  readonly runs: number
  readonly stores: Readonly<Record<string, Row>>
  /** An agent that goes on with a long session. Where SQLite is among the stores. */
  readonly resumed?: Resumed
  readonly versions: { readonly node: string }
}

export interface Options {
  readonly appends: number
  readonly entries: number
  readonly plan: Plan
  readonly only: readonly string[] | undefined
  /** Whether a long session is resumed, too. */
  readonly resumed: boolean
}

/** As the agent hands them over: placed, and frozen. */
function entriesOf(count: number, text: string): readonly Entry[] {
  return Array.from({ length: count }, (_, n) => {
    const id = `019a2f3c-7b1e-7a44-9c55-2f6f0e6b1a77/${n}/message/model`
    const message = {
      id,
      role: 'assistant' as const,
      content: Object.freeze([{ type: 'text' as const, text }]),
      createdAt: 1_750_000_000_000 + n,
    }
    const place = {
      id,
      offset: n + 1,
      at: 1_750_000_000_000 + n,
      runId: '019a2f3c-7b1e-7a44-9c55-2f6f0e6b1a77',
      step: n,
    }
    return Object.freeze({
      ...place,
      agent: 'desk',
      v: 1,
      type: 'message',
      via: 'model',
      message: Object.freeze(message),
    })
  })
}

function both(name: string, sides: { store: Side; hand: Side }, run: (side: Side) => Promise<unknown>): Subject[] {
  return [
    { name: `${name} store`, repeat: 1, prepare: () => () => run(sides.store) },
    { name: `${name} hand`, repeat: 1, prepare: () => () => run(sides.hand) },
  ]
}

export async function measureStores({ appends, entries, plan, only, resumed: long }: Options): Promise<Report> {
  const stores: Record<string, Row> = {}
  const short = entriesOf(entries, 'Looked at it.')
  for (const { name, open } of contenders) {
    if (only && !only.includes(name)) continue
    const count = name === 'postgres' ? Math.ceil(appends / 10) : appends
    const opened = await open()
    const bodies = entriesOf(count, 'It was delivered on Monday, and signed for at the door. '.repeat(12))
    const written = await compareAppends(name, opened, bodies, plan)
    await opened.store.fill(short)
    await opened.hand.fill(short)
    const read = async (side: Side): Promise<void> => {
      const found = await side.read()
      if (found !== entries) throw new Error(`${name} gave ${found} of ${entries} entries`)
    }
    const resumed = await compare(both(`${name} resume`, opened, read), plan)
    await opened.close()
    stores[name] = row(written, resumed, name)
  }
  const resumed = long ? await measureResumed(entries, plan) : undefined
  return {
    bench: 'stores',
    unit: 'appends per second and ms of a resume, medians',
    entries,
    runs: plan.runs,
    stores,
    ...(resumed && { resumed }),
    versions: { node: process.version },
  }
}

/** Of one side: milliseconds by the clock and microseconds of CPU for each of its slices. */
interface Slices {
  readonly wallMs: number[]
  readonly cpuUs: number[]
}

interface Appends {
  readonly store: Slices
  readonly hand: Slices
}

async function compareAppends(
  name: string,
  sides: { readonly store: Side; readonly hand: Side },
  bodies: readonly Entry[],
  { runs, warmUps, progress }: Plan,
): Promise<Appends> {
  const taken: Appends = { store: { wallMs: [], cpuUs: [] }, hand: { wallMs: [], cpuUs: [] } }
  for (let run = 0; run < warmUps + runs; run++) {
    const logs = { store: await sides.store.begin(), hand: await sides.hand.begin() }
    collectGarbage()
    for (let from = 0, turn = run; from < bodies.length; from += slice, turn++) {
      const entries = bodies.slice(from, from + slice)
      for (const side of turn % 2 === 0 ? (['store', 'hand'] as const) : (['hand', 'store'] as const)) {
        const [cpu, wall] = [process.cpuUsage(), performance.now()]
        await logs[side].append(entries)
        const { user, system } = process.cpuUsage(cpu)
        if (run < warmUps) continue
        // The last slice may be a shorter one.
        taken[side].wallMs.push(((performance.now() - wall) * slice) / entries.length)
        taken[side].cpuUs.push(((user + system) * slice) / entries.length)
      }
    }
    await logs.store.end()
    await logs.hand.end()
    progress(`${run < warmUps ? 'warm-up' : `${run - warmUps + 1}/${runs}`} ${name} append`)
  }
  return taken
}

function row({ store, hand }: Appends, resumed: Readonly<Record<string, Summary>>, name: string): Row {
  const of = (what: string): Summary => {
    const found = resumed[`${name} ${what}`]
    if (!found) throw new Error(`nothing was measured of ${name} ${what}`)
    return found
  }
  const [resume, resumeHand] = [of('resume store'), of('resume hand')]
  const perSecond = ({ wallMs }: Slices): number => (slice * 1_000) / median(wallMs)
  const ratio = (what: keyof Slices): number => median(hand[what].map((by, n) => by / (store[what][n] ?? Number.NaN)))
  return {
    appends: perSecond(store),
    appendsByHand: perSecond(hand),
    appendRatio: ratio('wallMs'),
    appendCpuUs: median(store.cpuUs) / slice,
    appendCpuUsByHand: median(hand.cpuUs) / slice,
    appendCpuRatio: ratio('cpuUs'),
    appendSlicesUs: { store: store.cpuUs.map((us) => us / slice), hand: hand.cpuUs.map((us) => us / slice) },
    resumeMs: resume.wallMs,
    resumeMsByHand: resumeHand.wallMs,
    resumeRatio: resume.wallMs / resumeHand.wallMs,
  }
}

const columns = ['appends/s', 'by hand', 'ratio', 'CPU µs', 'by hand', 'ratio', 'resume ms', 'by hand', 'ratio']

function table({ stores, entries, resumed }: Report): string {
  const cell = (text: string): string => text.padStart(11)
  const lines = [`resume of ${entries} entries`.padEnd(26) + columns.map(cell).join('')]
  for (const [name, found] of Object.entries(stores)) {
    const cells = [
      found.appends.toFixed(0),
      found.appendsByHand.toFixed(0),
      found.appendRatio.toFixed(2),
      found.appendCpuUs.toFixed(1),
      found.appendCpuUsByHand.toFixed(1),
      found.appendCpuRatio.toFixed(2),
      found.resumeMs.toFixed(0),
      found.resumeMsByHand.toFixed(0),
      found.resumeRatio.toFixed(2),
    ]
    lines.push(`  ${name}`.padEnd(26) + cells.map(cell).join(''))
  }
  if (resumed) {
    const { opened, answered, read, chain, links, reads } = resumed
    lines.push(
      '',
      `a session of ${resumed.entries} entries in sqlite, ms (of CPU): opened ${cost(opened)}, of which to read and parse ${cost(read)}; ` +
        `with the model's answer ${cost(answered)}; its audit chain of ${links} links verifies in ${cost(chain)}; ` +
        `reads of the log in ten steps: ${reads}`,
    )
  }
  return lines.join('\n')
}

function cost({ wallMs, cpuMs }: Resumed['opened']): string {
  return `${wallMs.toFixed(0)} (${cpuMs.toFixed(0)})`
}

function whole(flag: string, text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number > 0) return number
  throw new TypeError(`--${flag} takes a whole number from 1 on, not '${text}'.`)
}

async function main(): Promise<void> {
  let options: Options
  let json: boolean
  try {
    const { values } = parseArgs({
      options: {
        appends: { type: 'string', default: '5000' },
        entries: { type: 'string', default: '100000' },
        runs: { type: 'string', default: '7' },
        only: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(help)
      return
    }
    json = values.json
    const only = values.only?.split(',')
    options = {
      appends: whole('appends', values.appends),
      entries: whole('entries', values.entries),
      only,
      resumed: !only || only.includes('sqlite'),
      plan: {
        runs: whole('runs', values.runs),
        warmUps: 2,
        budgetMs: 30_000,
        progress: (text) => process.stderr.write(`${text}\n`),
      },
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nTry --help.\n`)
    process.exitCode = 2
    return
  }
  const report = await measureStores(options)
  process.stdout.write(`${json ? JSON.stringify(report) : table(report)}\n`)
}

if (import.meta.main) await main()
