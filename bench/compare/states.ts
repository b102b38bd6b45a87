import { installPeers } from '../loop/peers.ts'
import { of, rowsOf } from '../report/row.ts'
import type { About, Bench, BenchPlan, Row, Values } from '../report/row.ts'
import type { Told } from '../states/child.ts'
import { imports } from '../states/imports.ts'
import type { Subject } from '../states/imports.ts'
import { startFresh } from '../states/process.ts'
import type { Fresh } from '../states/process.ts'

/** Of a run in a fresh process. */
const steps = 10
/** Runs before 100 steps, up to 2,000, and up to 20,000. */
const [toHundred, toTwoThousand, toTwentyThousand] = [9, 190, 1_800]

function subjectsOf(plan: BenchPlan, ours: readonly Subject[], peers: readonly Subject[]): readonly Subject[] {
  const all: readonly Subject[] = [...ours, 'ai']
  return plan.effort === 'quick' || !installPeers() ? all : [...all, ...peers]
}

/** Values by subject, in the order in which they come. */
class Taken {
  private readonly bySubject = new Map<Subject, number[]>()

  add(subject: Subject, value: number): void {
    const values = this.bySubject.get(subject)
    if (values) values.push(value)
    else this.bySubject.set(subject, [value])
  }

  rows(about: About): readonly Row[] {
    const values = [...this.bySubject].map(([subject, all]): Values => {
      const { title, side } = imports[subject]
      return { name: title, side, values: all }
    })
    return rowsOf(values, about)
  }
}

/** Each round has one process of each subject, and starts with another one. */
async function inTurns(
  subjects: readonly Subject[],
  rounds: number,
  visit: (subject: Subject, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const first = round % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) await visit(subject, round)
  }
}

export const states: Bench = {
  name: 'states',
  title: 'Cold, lukewarm and warm',
  about:
    'The script of the loop in runs of ten steps. Cold: a fresh process imports the built package and makes its first run. Lukewarm: steps 100 to 2,000 of a process, while V8 still compiles. Warm: after 20,000 steps, in turns. Main-thread CPU leaves out what V8 compiles on other threads.',
  async run(plan) {
    const subjects = subjectsOf(plan, ['provost'], ['openai', 'pi', 'langgraph', 'mastra'])
    // The others take minutes for 20,000 steps.
    const longer: readonly Subject[] = ['provost', 'ai', 'pi']
    const { cold, lukewarm, warm } = of(plan, {
      full: { cold: 9, lukewarm: 5, warm: 9 },
      short: { cold: 3, lukewarm: 1, warm: 3 },
      quick: { cold: 1, lukewarm: 0, warm: 0 },
    })
    const taken = { cold: new Taken(), clock: new Taken(), main: new Taken(), all: new Taken(), warm: new Taken() }
    const kept = new Map<Subject, Fresh>()
    await inTurns(subjects, cold, async (subject, round) => {
      plan.progress(`cold ${round + 1}/${cold} ${subject}`)
      const fresh = await startFresh(plan, subject, steps)
      const first = await fresh.run(1)
      if (!first) throw new Error(`The process of ${subject} ended in its first run.`)
      const both = (what: keyof Told): number => fresh.imported[what] + first[what]
      taken.cold.add(subject, both('cpuMs'))
      taken.clock.add(subject, both('wallMs'))
      if (round >= lukewarm || !longer.includes(subject)) return fresh.end()
      await fresh.run(toHundred)
      const later = await fresh.run(toTwoThousand)
      if (later) {
        taken.main.add(subject, (later.mainMs * 1_000) / (toTwoThousand * steps))
        taken.all.add(subject, (later.cpuMs * 1_000) / (toTwoThousand * steps))
      }
      if (round === 0) kept.set(subject, fresh)
      else fresh.end()
    })
    for (const [subject, fresh] of kept) {
      plan.progress(`warming up ${subject}`)
      await fresh.run(toTwentyThousand)
    }
    await inTurns([...kept.keys()], warm, async (subject, round) => {
      plan.progress(`warm ${round + 1}/${warm} ${subject}`)
      const runs = 50
      const sample = await kept.get(subject)?.run(runs)
      if (sample) taken.warm.add(subject, (sample.cpuMs * 1_000) / (runs * steps))
    })
    for (const fresh of kept.values()) fresh.end()
    const about = (group: string, unit: string, atMost?: number): About => ({
      group,
      unit,
      baseline: imports.ai.title,
      ...(atMost !== undefined && { aims: { [imports.provost.title]: { of: 'ratio', atMost } } }),
    })
    return [
      ...taken.cold.rows(about('cold: import and first run', 'ms CPU', 0.8)),
      ...taken.clock.rows(about('cold, by the clock', 'ms')),
      ...taken.main.rows(about('lukewarm: a step, main thread', 'µs CPU', 0.25)),
      ...taken.all.rows(about('lukewarm: a step, process', 'µs CPU')),
      ...taken.warm.rows(about('warm: a step, process', 'µs CPU', 0.12)),
    ]
  },
}

export const startUp: Bench = {
  name: 'start-up',
  title: 'Start-up',
  about:
    'A fresh process imports the built package and ends. No compiled code is kept from one process to the next. Memory is the most that the process has had.',
  async run(plan) {
    const subjects = subjectsOf(
      plan,
      ['provost', 'sqlite', 'governance', 'server'],
      ['openai', 'pi', 'langgraph', 'mastra'],
    )
    const cpu = new Taken()
    const clock = new Taken()
    const memory = new Taken()
    const rounds = of(plan, { full: 7, short: 3, quick: 1 })
    await inTurns(plan.effort === 'quick' ? subjects.slice(-1) : subjects, rounds, async (subject, round) => {
      plan.progress(`import ${round + 1}/${rounds} ${subject}`)
      const { imported } = await startFresh(plan, subject)
      cpu.add(subject, imported.cpuMs)
      clock.add(subject, imported.wallMs)
      memory.add(subject, imported.peakMB)
    })
    const baseline = imports.ai.title
    return [
      ...cpu.rows({ group: 'import', unit: 'ms CPU', baseline }),
      ...clock.rows({ group: 'import, by the clock', unit: 'ms', baseline }),
      ...memory.rows({ group: 'memory after the import', unit: 'MB', baseline }),
    ]
  },
}

/** A process that takes longer than this for its run is left out. */
const limitMs = 10_000

export const loopMemory: Bench = {
  name: 'loop-memory',
  title: 'Memory of a run',
  about:
    'The most memory that a fresh process has had after one run of the script, with everything that was imported. A process that takes over 10 s is stopped.',
  async run(plan) {
    const subjects = subjectsOf(plan, ['provost'], ['openai', 'pi', 'langgraph', 'mastra'])
    const rows: Row[] = []
    const slow = new Set<Subject>()
    for (const length of of(plan, { full: [10, 100, 1_000, 3_000], short: [10, 100, 1_000], quick: [10] })) {
      const taken = new Taken()
      const group = `${length.toLocaleString('en')} steps`
      await inTurns(subjects, length < 1_000 ? of(plan, { full: 3, short: 1, quick: 1 }) : 1, async (subject) => {
        if (slow.has(subject)) return
        plan.progress(`memory ${group} ${subject}`)
        const fresh = await startFresh(plan, subject, length)
        const told = await fresh.run(1, limitMs)
        if (told) taken.add(subject, told.peakMB)
        else slow.add(subject)
        fresh.end()
      })
      rows.push(
        ...taken.rows({ group, unit: 'MB', baseline: imports.ai.title }),
        ...[...slow].map((subject): Row => {
          const { title, side } = imports[subject]
          return { group, name: title, side, missing: 'stopped after 10 s' }
        }),
      )
    }
    return rows
  },
}
