import { compaction } from '@provost/memory'
import { memoryStore } from 'provost'

import { aiSdk } from '../code-mode/ai-sdk.ts'
import { freshWorker } from '../code-mode/fresh-worker.ts'
import { measureScripts } from '../code-mode/measure-scripts.ts'
import { provost as provostScripts } from '../code-mode/provost.ts'
import { provostIn } from '../loop/provost.ts'
import { compare } from '../measure.ts'
import type { Plan } from '../measure.ts'
import { exact, of, rowsOf, rowsOfSummaries } from '../report/row.ts'
import type { Bench, BenchPlan, Row, Side, Values } from '../report/row.ts'
import { measureSide } from '../sse.ts'
import { measureStores } from '../stores.ts'
import { measureResumed } from '../stores/resumed.ts'
import { measureTaint } from '../taint.ts'

function planOf(plan: BenchPlan, runs: Readonly<Record<BenchPlan['effort'], number>>): Plan {
  return {
    runs: of(plan, runs),
    warmUps: of(plan, { full: 2, short: 1, quick: 1 }),
    budgetMs: of(plan, { full: 15_000, short: 5_000, quick: 1 }),
    progress: plan.progress,
  }
}

const scriptTitles: Readonly<Record<string, readonly [group: string, unit: string]>> = {
  coldMs: ['the first script of a process', 'ms'],
  warmMs: ['a script that returns at once, warm', 'ms'],
  sequentialCallUs: ['a tool call, one after the other', 'µs'],
  batchedCallUs: ['a tool call, 1,000 at once', 'µs'],
  megabyteMs: ['a result of 1 MB, filtered', 'ms'],
}

export const sandbox: Bench = {
  name: 'sandbox',
  title: 'Code mode',
  about:
    'Scripts that call tools, by the clock, in turns. All contenders are warm except in the first row. A fresh worker has no sandbox at all: it is a thread of Node for each script.',
  async run(plan) {
    const quick = plan.effort === 'quick'
    const contenders = quick ? [provostScripts(1)] : [provostScripts(1), aiSdk(), freshWorker()]
    const only = quick ? [] : Object.keys(scriptTitles)
    const { samples } = await measureScripts(contenders, of(plan, { full: 9, short: 3, quick: 1 }), only)
    const sideOf = (name: string): Side => (name === 'provost' ? 'ours' : name === 'fresh worker' ? 'bound' : 'peer')
    return Object.entries(scriptTitles).flatMap(([key, [group, unit]]) => {
      const values = Object.entries(samples).flatMap(([name, measured]): Values[] => {
        const its = measured[key]
        return its ? [{ name, side: sideOf(name), values: its }] : []
      })
      return rowsOf(values, { group, unit, baseline: '@ai-sdk/code-mode' })
    })
  },
}

export const taint: Bench = {
  name: 'taint',
  title: 'The taint index',
  about:
    'Text is checked against an index of varied prose: verbatim, encoded and escaped copies are found. No other runtime has such an index, so there is no peer: the ratio is to prose of the same size.',
  async run(plan) {
    const megabytes = of(plan, { full: 16, short: 4, quick: 1 })
    const { details } = await measureTaint(megabytes, planOf(plan, { full: 7, short: 3, quick: 1 }))
    const group = (name: string): string =>
      name.startsWith('add') ? 'adding' : name.includes('10 KB') ? 'checks of 10 KB' : 'checks of 1 MB'
    return ['checks of 10 KB', 'checks of 1 MB', 'adding'].flatMap((one) =>
      rowsOfSummaries(
        Object.fromEntries(Object.entries(details).filter(([name]) => group(name) === one)),
        () => 'ours',
        { group: one, unit: 'ms CPU', baseline: one.startsWith('checks') ? `check ${one.slice(10)} prose` : '' },
      ),
    )
  },
}

export const stores: Bench = {
  name: 'stores',
  title: 'Stores',
  about:
    'Entries of 1 KB appended to a log one at a time, each stored before the next, beside the same rows written by hand with the same care for the disk. Then a long log is read and parsed. PostgreSQL runs where it is installed.',
  async run(plan) {
    const sizes = of(plan, {
      full: { appends: 2_500, entries: 50_000 },
      short: { appends: 500, entries: 5_000 },
      quick: { appends: 250, entries: 500 },
    })
    const only = plan.effort === 'quick' ? ['memory', 'sqlite'] : undefined
    const found = await measureStores({
      ...sizes,
      only,
      resumed: false,
      plan: planOf(plan, { full: 5, short: 2, quick: 1 }),
    })
    return Object.entries(found.stores).flatMap(([name, row]): readonly Row[] => [
      ...rowsOf(
        [
          { name: `provost, ${name}`, side: 'ours', values: row.appendSlicesUs.store },
          { name: `${name}, rows by hand`, side: 'bound', values: row.appendSlicesUs.hand },
        ],
        { group: `an append, ${name}`, unit: 'µs CPU', baseline: `${name}, rows by hand` },
      ),
      ...rowsOf(
        [exact(`provost, ${name}`, 'ours', row.resumeMs), exact(`${name}, rows by hand`, 'bound', row.resumeMsByHand)],
        {
          group: `reading ${sizes.entries.toLocaleString('en')} entries, ${name}`,
          unit: 'ms',
          baseline: `${name}, rows by hand`,
        },
      ),
    ])
  },
}

export const resume: Bench = {
  name: 'resume',
  title: 'Resuming a long session',
  about:
    'A session in a SQLite file is opened by a process that does not know it, and an agent answers in it. The bound is to read and parse the same rows. Its audit chain is verified apart.',
  async run(plan) {
    const entries = of(plan, { full: 50_000, short: 5_000, quick: 500 })
    const found = await measureResumed(entries, planOf(plan, { full: 5, short: 2, quick: 1 }))
    const { opened, answered, read, chain } = found
    const unit = 'ms CPU'
    return rowsOf(
      [
        exact('rows read and parsed', 'bound', read.cpuMs),
        exact('provost, session opened', 'ours', opened.cpuMs),
        exact('provost, until the answer', 'ours', answered.cpuMs),
        exact(`provost, chain of ${found.links} links verified`, 'ours', chain.cpuMs),
      ],
      { group: `${found.entries.toLocaleString('en')} entries`, unit, baseline: 'rows read and parsed' },
    )
  },
}

export const sse: Bench = {
  name: 'sse',
  title: 'Event streams',
  about:
    'Many streams are open at once, each with a piece of text every 100 ms, of a Provost server and of a bare Hono loop that writes as many frames. CPU is that of the server for each frame; delays are by the clock, from the event to its reader.',
  async run(plan) {
    const sizes = of(plan, {
      full: { streams: 300, chunks: 50 },
      short: { streams: 100, chunks: 20 },
      quick: { streams: 5, chunks: 2 },
    })
    const found: Record<string, Awaited<ReturnType<typeof measureSide>>> = {}
    for (const name of ['hono', 'provost']) {
      plan.progress(`${sizes.streams} streams of ${name}`)
      const figures = await measureSide(name, { ...sizes, store: 'memory', form: 'small' })
      if (figures.lost > 0) throw new Error(`${name} lost ${figures.lost} events.`)
      found[name] = figures
    }
    const values = (pick: (figures: (typeof found)[string]) => number): readonly Values[] =>
      Object.entries(found).map(([name, figures]) =>
        exact(name === 'hono' ? 'a bare Hono loop' : name, name === 'hono' ? 'bound' : 'ours', pick(figures)),
      )
    const baseline = 'a bare Hono loop'
    return [
      ...rowsOf(
        values(({ cpuMs, frames }) => (cpuMs * 1_000) / frames),
        { group: 'a frame', unit: 'µs CPU', baseline },
      ),
      ...rowsOf(
        values(({ p50Ms }) => Math.max(1, p50Ms)),
        { group: 'delay, median', unit: 'ms', baseline },
      ),
      ...rowsOf(
        values(({ p99Ms }) => Math.max(1, p99Ms)),
        { group: 'delay, 99 of 100', unit: 'ms', baseline },
      ),
      ...rowsOf(
        values(({ rssMB }) => rssMB),
        { group: 'memory of the server', unit: 'MB', baseline },
      ),
    ]
  },
}

export const compacting: Bench = {
  name: 'compaction',
  title: 'Compaction',
  about:
    'A long run whose view is shortened each time it outgrows a window of 8,000 tokens, beside the same run with all messages in the view. The summary is a fixed text, so no model is paid for it.',
  async run(plan) {
    const steps = of(plan, { full: 1_000, short: 300, quick: 50 })
    let longest = 0
    const shortened = (): ReturnType<typeof compaction> =>
      compaction({ window: 8_000, summarize: async () => 'All items until here are in order.' })
    const subjects = [
      { name: 'provost, no compaction', extensions: () => [] },
      { name: 'provost, compaction', extensions: () => [shortened()] },
    ].map(({ name, extensions }) => ({
      name,
      repeat: 1,
      prepare() {
        const run = provostIn(steps, memoryStore(), extensions())
        return async () => {
          const { tally } = await run()
          if (tally.executed !== steps - 1) throw new Error(`${name} made ${tally.executed} calls.`)
          if (name === 'provost, compaction') longest = tally.prompt
        }
      },
    }))
    const summaries = await compare(subjects, { ...planOf(plan, { full: 9, short: 3, quick: 1 }), before: 'run' })
    if (plan.effort !== 'quick' && longest > steps) throw new Error(`The view still has ${longest} messages.`)
    return rowsOfSummaries(summaries, () => 'ours', {
      group: `${steps.toLocaleString('en')} steps`,
      unit: 'ms CPU',
      baseline: 'provost, no compaction',
    })
  },
}
