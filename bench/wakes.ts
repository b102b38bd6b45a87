import { parseArgs } from 'node:util'

import { median } from './measure.ts'
import { measureAbandoned } from './wakes/abandoned.ts'
import { due, postgresPlace, running, sqlitePlace } from './wakes/places.ts'
import type { Place } from './wakes/places.ts'

const help = `Measures the wake index of stores: what a claim and a list cost beside many other sessions, in one run.

Usage: node --conditions=@provost/source bench/wakes.ts [options]

Each size has ${running} running sessions and ${due} that are due; the others are idle, or wait for months. A claim takes the due
ones, a poll finds none, a list reads the running ones. The figures are medians in milliseconds, and ratios to the first size.

Options:
  --sizes 1000,100000  sessions in the store (default 1000,100000)
  --runs 50            samples (default 50)
  --only sqlite        stores, separated by commas (default: sqlite,postgres)
  --abandoned 1000     abandoned runs that one worker takes over (default 1000; 0 for none)
  --json               one JSON object on stdout, nothing else
  --help               this text
`

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,100000' },
    runs: { type: 'string', default: '50' },
    only: { type: 'string', default: 'sqlite,postgres' },
    abandoned: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

interface Figures {
  readonly claim: number
  readonly poll: number
  readonly list: number
}

async function timed(
  runs: number,
  work: () => Promise<number>,
  expected: number,
  before?: () => Promise<void>,
): Promise<number> {
  const took: number[] = []
  for (let n = 0; n < runs; n++) {
    await before?.()
    const began = performance.now()
    const found = await work()
    took.push(performance.now() - began)
    if (found !== expected) throw new Error(`${found} sessions were found, not ${expected}.`)
  }
  return Math.round(median(took) * 1_000) / 1_000
}

async function measure({ store, rearm }: Place, runs: number): Promise<Figures> {
  const claim = async (): Promise<number> =>
    (await store.claimDue?.({ agents: ['desk'], limit: 64, hiddenMs: 3_600_000 }))?.length ?? 0
  const list = async (): Promise<number> => {
    let count = 0
    for await (const { status } of store.list({ status: 'running' })) if (status === 'running') count++
    return count
  }
  return {
    claim: await timed(runs, claim, due, rearm),
    poll: await timed(runs, claim, 0),
    list: await timed(runs, list, running),
  }
}

if (values.help) process.stdout.write(help)
else {
  const sizes = values.sizes.split(',').map(Number)
  const stores: Record<string, Record<string, Figures>> = {}
  const ratios: Record<string, Figures> = {}
  for (const name of values.only.split(',')) {
    const found: Record<string, Figures> = {}
    for (const size of sizes) {
      const place = await (name === 'sqlite' ? sqlitePlace(size) : postgresPlace(size))
      found[size] = await measure(place, Number(values.runs))
      await place.close()
    }
    const [first, last] = [found[sizes[0] ?? 0], found[sizes.at(-1) ?? 0]]
    stores[name] = found
    const ratio = (key: keyof Figures): number => Math.round(((last?.[key] ?? 0) / (first?.[key] ?? 1)) * 100) / 100
    ratios[name] = { claim: ratio('claim'), poll: ratio('poll'), list: ratio('list') }
  }
  const abandoned = Number(values.abandoned) > 0 ? await measureAbandoned(Number(values.abandoned)) : undefined
  const report = { bench: 'wakes', unit: 'ms, medians', sizes, stores, ratios, ...(abandoned && { abandoned }) }
  process.stdout.write(`${JSON.stringify(report, undefined, values.json ? 0 : 2)}\n`)
}
