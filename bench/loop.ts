import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { streamTextLoop, toolLoopAgent } from './loop/ai.ts'
import type { Contender } from './loop/contender.ts'
import { loadPeers } from './loop/peers.ts'
import { provost, provostSqlite, provostSqliteWrites } from './loop/provost.ts'
import { measureScaling } from './loop/scaling.ts'
import type { Scaling } from './loop/scaling.ts'
import { check } from './loop/script.ts'
import { compare } from './measure.ts'
import type { Plan, Summary } from './measure.ts'

const help = `Compares what the agent loop costs with that of its peers, in CPU milliseconds a run.

Usage: node --conditions=@provost/source bench/loop.ts [options]

All contenders follow the same script: each step streams one chunk of text and calls one trivial tool, the last step
only talks. A step is one request to the model. Models and tools cost next to nothing, so what is left is the loop. Of
Provost there are three rows: with the store in memory; with one in a SQLite file, where each step is stored before the
next; and there with a tool that writes instead of one that reads, whose every start is forced to the disk before it runs.

Each contender is warmed up first, as a server is: V8 compiles what runs often. What a fresh process pays is the first
sample of the warm-up, which the progress shows. Before each sample it runs as often again, uncounted, so that it pays
not for the garbage of the one before it; and V8 is told to keep the code of those that wait for their turn.

Options:
  --steps 10,1000   lengths of the compared runs (default 10,1000)
  --warm-up 20000   steps of each contender and length before its first sample, or 10 s of CPU (default 20000)
  --runs 7          samples of each contender and length; the medians are compared (default 7, and 21 of runs that take a
                    fraction of a second: most machines change their speed from one second to the next)
  --json            one JSON object on stdout, nothing else
  --help            this text
`

const ours: readonly Contender[] = [provost, provostSqlite, provostSqliteWrites, toolLoopAgent, streamTextLoop]
const baseline = toolLoopAgent.name
/** Steps in one sample at least. */
const sampleSteps = 500

interface Report {
  readonly bench: 'loop'
  readonly unit: 'CPU ms per run, median'
  readonly baseline: string
  /** By steps, then by contender. */
  readonly medians: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The same, divided by the baseline's. */
  readonly ratios: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly details: Readonly<Record<string, Readonly<Record<string, Summary>>>>
  /** Provost alone. */
  readonly scaling: Scaling
  readonly versions: Readonly<Record<string, string>>
}

function compareAt(contenders: readonly Contender[], steps: number, plan: Plan): Promise<Record<string, Summary>> {
  const subjects = contenders.map((contender) => ({
    name: contender.name,
    repeat: repeatOf(steps),
    prepare() {
      const run = contender.prepare(steps)
      return async () => check(contender.name, steps, await run())
    },
  }))
  return compare(subjects, {
    ...plan,
    before: 'run',
    warmUps: samplesOf(plan.warmUps, steps),
    progress: (text) => plan.progress(`${steps} steps, ${text}`),
  })
}

/** How many samples come to so many steps. */
function samplesOf(total: number, steps: number): number {
  return Math.ceil(total / (steps * repeatOf(steps)))
}

function repeatOf(steps: number): number {
  return Math.max(1, Math.round(sampleSteps / steps))
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}

function versionOf(name: string): string {
  const places = ['.', './peers'].map(
    (folder) => new URL(`${folder}/node_modules/${name}/package.json`, import.meta.url),
  )
  const path = places.find((place) => existsSync(place))
  if (path === undefined) throw new Error(`${name} is not installed.`)
  const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}

async function measure(
  lengths: readonly number[],
  runs: number | undefined,
  given: Omit<Plan, 'runs'>,
): Promise<Report> {
  const contenders = [...ours, ...(await loadPeers())]
  const planOf = (steps: number): Plan => ({ ...given, runs: runs ?? (steps < sampleSteps ? 21 : 7) })
  const details: Record<string, Record<string, Summary>> = {}
  for (const steps of lengths) details[steps] = await compareAt(contenders, steps, planOf(steps))
  const medians = mapValues(details, (byName) => mapValues(byName, ({ cpuMs }) => cpuMs))
  const scaling = await measureScaling(20, 2_000, {
    ...planOf(2_000),
    before: 'run',
    warmUps: 4,
    progress: (text) => given.progress(`scaling, ${text}`),
  })
  return {
    bench: 'loop',
    unit: 'CPU ms per run, median',
    baseline,
    medians,
    ratios: mapValues(medians, (byName) => mapValues(byName, (cpuMs) => cpuMs / (byName[baseline] ?? Number.NaN))),
    details,
    scaling,
    versions: {
      node: process.version,
      ...Object.fromEntries(contenders.map((contender) => [contender.package, versionOf(contender.package)])),
    },
  }
}

function table(report: Report): string {
  const lines: string[] = []
  for (const [steps, byName] of Object.entries(report.details)) {
    lines.push(`${steps} steps`.padEnd(24) + ['CPU ms', 'lowest', 'highest', 'samples', 'ratio'].map(cell).join(''))
    for (const [name, { cpuMs, lowest, highest, runs }] of Object.entries(byName)) {
      const ratio = report.ratios[steps]?.[name] ?? Number.NaN
      const cells = [cpuMs.toFixed(2), lowest.toFixed(2), highest.toFixed(2), `${runs}`, ratio.toFixed(3)]
      lines.push(`  ${name}`.padEnd(24) + cells.map(cell).join(''))
    }
    lines.push('')
  }
  const { steps, cpuMsPerStep, cpuRatio, heapBytesPerStep, heapRatio } = report.scaling
  lines.push(`${provost.name}, per step`.padEnd(24) + ['CPU µs', 'heap bytes'].map(cell).join(''))
  for (const length of steps) {
    const cells = [
      ((cpuMsPerStep[length] ?? Number.NaN) * 1_000).toFixed(1),
      (heapBytesPerStep[length] ?? 0).toFixed(0),
    ]
    lines.push(`  of ${length} steps`.padEnd(24) + cells.map(cell).join(''))
  }
  lines.push(`  ratio`.padEnd(24) + [cpuRatio.toFixed(2), heapRatio.toFixed(2)].map(cell).join(''))
  return lines.join('\n')
}

function cell(text: string): string {
  return text.padStart(12)
}

/** A list of whole numbers above the least, or an error that names the flag. */
function wholeNumbers(flag: string, text: string, least: number): number[] {
  const numbers = text.split(',').map(Number)
  if (numbers.every((number) => Number.isInteger(number) && number >= least)) return numbers
  throw new TypeError(`--${flag} takes whole numbers from ${least} on, not '${text}'.`)
}

function readArguments(): {
  lengths: number[]
  runs: number | undefined
  warmUp: number
  json: boolean
  help: boolean
} {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '10,1000' },
      runs: { type: 'string' },
      'warm-up': { type: 'string', default: '20000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const [runs] = values.runs === undefined ? [] : wholeNumbers('runs', values.runs, 1)
  const [warmUp = 0] = wholeNumbers('warm-up', values['warm-up'], 0)
  return { lengths: wholeNumbers('steps', values.steps, 2), runs, warmUp, json: values.json, help: values.help }
}

async function main(): Promise<void> {
  let options: ReturnType<typeof readArguments>
  try {
    options = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nTry --help.\n`)
    process.exitCode = 2
    return
  }
  if (options.help) {
    process.stdout.write(help)
    return
  }
  const report = await measure(options.lengths, options.runs, {
    warmUps: options.warmUp,
    warmUpMs: 10_000,
    budgetMs: 30_000,
    progress: (text) => process.stderr.write(`${text}\n`),
  })
  process.stdout.write(`${options.json ? JSON.stringify(report) : table(report)}\n`)
}

await main()
