import { toolLoopAgent } from '../loop/ai.ts'
import type { Contender } from '../loop/contender.ts'
import { loadPeers } from '../loop/peers.ts'
import type { PeerName } from '../loop/peers.ts'
import { provost, provostSqlite, provostSqliteWrites } from '../loop/provost.ts'
import { check } from '../loop/script.ts'
import { compare } from '../measure.ts'
import type { Summary } from '../measure.ts'
import { of, rowsOf, rowsOfSummaries } from '../report/row.ts'
import type { Bench, BenchPlan, Missing, Row, Side } from '../report/row.ts'

export function sideOf(name: string): Side {
  return name.startsWith('provost') ? 'ours' : 'peer'
}

/** CPU of one run that a length may take; a contender that would need more is left out. */
const longestMs = 4_000

/** Contenders for a plan: without peers where only the bench itself is tried. */
export async function withPeers(
  plan: BenchPlan,
  ours: readonly Contender[],
  peers: readonly PeerName[],
): Promise<readonly Contender[]> {
  return [...ours, ...(plan.effort === 'quick' ? [] : await loadPeers(peers))]
}

interface Length {
  readonly steps: number
  readonly chunks?: number
  /** CPU for warming up each contender, and for its samples. */
  readonly warmUpMs: number
  readonly budgetMs: number
  readonly runs: number
}

/** Runs contenders in turn on the script of the loop. */
export function compareLoops(
  contenders: readonly Contender[],
  { steps, chunks = 1, warmUpMs, budgetMs, runs }: Length,
  plan: BenchPlan,
): Promise<Record<string, Summary>> {
  const repeat = Math.max(1, Math.round(200 / (steps * chunks)))
  const subjects = contenders.map((contender) => ({
    name: contender.name,
    repeat,
    prepare() {
      const run = contender.prepare(steps, chunks)
      return async () => check(contender.name, steps, await run(), chunks)
    },
  }))
  return compare(subjects, {
    runs,
    warmUps: Math.max(1, Math.ceil(20_000 / (steps * repeat * chunks))),
    warmUpMs,
    budgetMs,
    before: 'run',
    progress: (text) => plan.progress(`${steps} steps, ${text}`),
  })
}

/** What a run will take at a length, from what it took at the two before. */
function expectedMs(name: string, steps: number, taken: ReadonlyMap<number, Record<string, Summary>>): number {
  const [before, last] = [...taken].slice(-2).map(([length, by]) => ({ length, ms: by[name]?.cpuMs }))
  if (before === undefined) return 0
  if (before.ms === undefined) return Infinity
  if (last === undefined) return (before.ms * steps) / before.length
  if (last.ms === undefined) return Infinity
  const power = Math.log(last.ms / before.ms) / Math.log(last.length / before.length)
  return last.ms * (steps / last.length) ** Math.max(1, power)
}

export const loop: Bench = {
  name: 'loop',
  title: 'The loop, by length of the run',
  about:
    'Each step is one request to a scripted model: it streams one chunk of text and calls one tool that reads; the last step only talks. Models and tools cost next to nothing, so what remains is the loop. All contenders are warm and take turns in one process. CPU is that of the whole process. A contender whose run would take over 4 s of CPU at a length is left out there.',
  async run(plan) {
    const contenders = await withPeers(
      plan,
      [provost, provostSqlite, toolLoopAgent],
      ['openaiAgents', 'pi', 'langgraph', 'mastra'],
    )
    const rows: Row[] = []
    const taken = new Map<number, Record<string, Summary>>()
    for (const steps of of(plan, { full: [10, 100, 1_000, 3_000], short: [10, 100, 1_000, 3_000], quick: [10, 20] })) {
      const expected = contenders.map((contender) => ({ contender, ms: expectedMs(contender.name, steps, taken) }))
      const able = expected.filter(({ ms }) => ms <= longestMs).map(({ contender }) => contender)
      const length = of<Length>(plan, {
        full: { steps, warmUpMs: 1_200, budgetMs: 1_200, runs: 11 },
        short: { steps, warmUpMs: 500, budgetMs: 400, runs: 5 },
        quick: { steps, warmUpMs: 1, budgetMs: 1, runs: 1 },
      })
      const summaries = await compareLoops(able, length, plan)
      taken.set(steps, summaries)
      const group = `${steps.toLocaleString('en')} steps`
      rows.push(
        ...rowsOfSummaries(summaries, sideOf, { group, unit: 'ms CPU', baseline: toolLoopAgent.name }),
        ...expected
          .filter(({ ms }) => ms > longestMs)
          .map(({ contender, ms }): Missing => {
            const missing = Number.isFinite(ms) ? `left out: about ${Math.round(ms / 1_000)} s a run` : 'left out'
            return { group, name: contender.name, side: 'peer', missing }
          }),
      )
    }
    return rows
  },
}

export const deltas: Bench = {
  name: 'deltas',
  title: 'A text delta',
  about:
    'One answer of 5,000 pieces of text, read to its end from the stream of each runtime. CPU of the process divided by the pieces.',
  async run(plan) {
    const contenders = await withPeers(plan, [provost, toolLoopAgent], ['openaiAgents', 'pi', 'langgraph', 'mastra'])
    const chunks = of(plan, { full: 5_000, short: 5_000, quick: 50 })
    const length = of<Length>(plan, {
      full: { steps: 1, chunks, warmUpMs: 1_000, budgetMs: 2_000, runs: 15 },
      short: { steps: 1, chunks, warmUpMs: 500, budgetMs: 500, runs: 5 },
      quick: { steps: 1, chunks, warmUpMs: 1, budgetMs: 1, runs: 1 },
    })
    return rowsOfSummaries(await compareLoops(contenders, length, plan), sideOf, {
      group: 'one delta',
      unit: 'µs CPU',
      baseline: toolLoopAgent.name,
      scale: 1_000 / chunks,
      aims: { [provost.name]: { of: 'ratio', atMost: 0.1 } },
    })
  },
}

export const durable: Bench = {
  name: 'durable',
  title: 'Each step on the disk',
  about:
    'The same script, ten steps, with stores on the disk. Provost writes each step before the next begins; in the row with writes it also forces the start of each call to the disk. LangGraph.js checkpoints with SqliteSaver, on the SQLite of Node. Mastra runs its durable agent on LibSQL with the setting under which a run that is under way can be recovered.',
  async run(plan) {
    const contenders = await withPeers(plan, [provostSqlite, provostSqliteWrites], ['langgraphSqlite', 'mastraLibsql'])
    const length = of<Length>(plan, {
      full: { steps: 10, warmUpMs: 2_500, budgetMs: 2_500, runs: 15 },
      short: { steps: 10, warmUpMs: 500, budgetMs: 500, runs: 3 },
      quick: { steps: 10, warmUpMs: 1, budgetMs: 1, runs: 1 },
    })
    const summaries = await compareLoops(contenders, length, plan)
    const group = 'ten steps'
    const rows = rowsOfSummaries(summaries, sideOf, {
      group,
      unit: 'ms CPU',
      baseline: 'LangGraph.js, SqliteSaver',
      aims: { [provostSqlite.name]: { of: 'ratio', atMost: 0.2 } },
    })
    const others = ['Mastra, LibSQL', provostSqlite.name].flatMap((name) =>
      Object.entries(summaries).filter(([key]) => key === name),
    )
    const toMastra = rowsOfSummaries(Object.fromEntries(others), sideOf, {
      group: 'ten steps, to Mastra',
      unit: 'ms CPU',
      baseline: 'Mastra, LibSQL',
      aims: { [provostSqlite.name]: { of: 'ratio', atMost: 0.2 } },
    })
    return plan.effort === 'quick' ? rows : [...rows, ...toMastra]
  },
}

export const firstEvent: Bench = {
  name: 'first-event',
  title: 'Time to the first event',
  about: 'From the call to the first piece of text of an answer that is there at once, warm. By the clock, in turns.',
  async run(plan) {
    const contenders = await withPeers(
      plan,
      [provost, provostSqlite, toolLoopAgent],
      ['openaiAgents', 'pi', 'langgraph', 'mastra'],
    )
    const { warmUps, rounds } = of(plan, {
      full: { warmUps: 1_500, rounds: 200 },
      short: { warmUps: 200, rounds: 30 },
      quick: { warmUps: 2, rounds: 2 },
    })
    const subjects = contenders.map((contender) => ({
      name: contender.name,
      run: contender.prepare(1),
      values: [] as number[],
    }))
    const first = async (run: () => Promise<{ readonly firstAt: number }>): Promise<number> => {
      const start = performance.now()
      return (await run()).firstAt - start
    }
    for (const { name, run } of subjects) {
      plan.progress(`warm-up ${name}`)
      const start = performance.now()
      for (let n = 0; n < warmUps && performance.now() - start < 3_000; n++) await first(run)
    }
    for (let round = 0; round < rounds; round++) {
      for (const { run, values } of subjects) {
        // The first one pays for the garbage of the others.
        await first(run)
        values.push(await first(run))
      }
    }
    const median = subjects.map(({ name, values }) => ({ name, side: sideOf(name), values }))
    return rowsOfTrimmed(median)
  },
}

/** The slowest tenth is other work on the machine. */
function rowsOfTrimmed(subjects: readonly { name: string; side: Side; values: readonly number[] }[]): readonly Row[] {
  const kept = subjects.map(({ name, side, values }) => ({
    name,
    side,
    values: values.toSorted((a, b) => a - b).slice(0, Math.max(1, Math.floor(values.length * 0.9))),
  }))
  return rowsOf(kept, { group: 'first text', unit: 'µs', baseline: toolLoopAgent.name, scale: 1_000 })
}
