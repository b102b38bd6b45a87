import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { benches } from './benches.ts'
import { describeConditions, describeMachine } from './report/machine.ts'
import { pageOf } from './report/page.ts'
import { digits, plotOf } from './report/plot.ts'
import { groupsOf } from './report/results.ts'
import type { Results, Section } from './report/results.ts'
import { isMeasured } from './report/row.ts'
import type { Bench, BenchPlan, Effort, Row } from './report/row.ts'
import { withSummary } from './report/summary.ts'

const help = `Compares Provost with other runtimes, and writes docs/benchmarks.md with its plots.

Usage: npm run bench -- [options]

Each bench runs in a process of its own. Without --only all of them run, and the page is written.

Options:
  --only NAME,…   only these; a table on stdout, no page
  --short         fewer samples
  --quick         just enough to see that each bench runs, in under a minute; installs and writes nothing
  --write         with --only: replaces these sections of the page, and keeps the others
  --json          one JSON object on stdout, nothing else; no page
  --render        writes the page again from docs/benchmarks.json
  --help          this text

Benches:
${benches.map(({ name, title }) => `  ${name.padEnd(16)}${title}`).join('\n')}
`

const docs = fileURLToPath(new URL('../docs', import.meta.url))
const resultsFile = `${docs}/benchmarks.json`

interface Options {
  readonly effort: Effort
  readonly chosen: readonly Bench[]
  readonly all: boolean
  readonly write: boolean
  readonly json: boolean
  readonly render: boolean
  readonly help: boolean
}

/** @throws TypeError that names the flag. */
function readArguments(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { only, short, quick, write, json, render } = values
  const names = only?.split(',')
  const unknown = names?.find((name) => !benches.some((bench) => bench.name === name))
  if (unknown !== undefined) throw new TypeError(`--only knows no bench '${unknown}'.`)
  const effort = quick ? 'quick' : short ? 'short' : 'full'
  const chosen = names ? benches.filter(({ name }) => names.includes(name)) : benches
  if (quick && write) throw new TypeError('--quick measures too little for --write.')
  return { effort, chosen, all: names === undefined, write, json, render, help: values.help }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}

async function runHere({ name, title, about, run }: Bench, effort: Effort): Promise<Section> {
  const plan: BenchPlan = { effort, progress: (text) => progress(`${name}: ${text}`) }
  const [start, conditions] = [performance.now(), describeConditions(new Date())]
  const rows = await run(plan)
  const seconds = Math.round((performance.now() - start) / 1_000)
  return { name, title, about, ...conditions, effort, seconds, rows }
}

/** In a process of its own, so that no bench pays for the garbage and the compiled code of another. */
async function runApart({ name }: Bench, effort: Effort): Promise<Section> {
  const args = ['--only', name, ...(effort === 'short' ? ['--short'] : [])]
  const child = fork(fileURLToPath(import.meta.url), args, { stdio: ['ignore', 2, 'inherit', 'ipc'] })
  const [told]: readonly (Section | number | null | undefined)[] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit'),
  ])
  if (typeof told !== 'object' || told === null) throw new Error(`The bench ${name} ended without a result.`)
  return told
}

function tableOf(rows: readonly Row[]): string {
  const cell = (text: string): string => text.padStart(12)
  return groupsOf(rows)
    .map(([group, all]) => {
      const head = group.padEnd(36) + ['median', 'lowest', 'highest', 'samples', 'ratio'].map(cell).join('')
      const lines = all.map((row) => {
        if (!isMeasured(row)) return `  ${row.name.padEnd(34)}  ${row.missing}`
        const { name, unit, median, min, max, samples, ratio } = row
        const cells = [digits(median), digits(min), digits(max), `${samples}`, ratio === undefined ? '' : digits(ratio)]
        return `  ${name}`.padEnd(36) + cells.map(cell).join('') + `  ${unit}`
      })
      return [head, ...lines, ''].join('\n')
    })
    .join('\n')
}

function writePage(results: Results): void {
  const pictures = `${docs}/pictures/benchmarks`
  rmSync(pictures, { recursive: true, force: true })
  mkdirSync(pictures, { recursive: true })
  for (const section of results.sections) {
    const svg = plotOf(section)
    if (svg !== undefined) writeFileSync(`${pictures}/${section.name}.svg`, svg)
  }
  writeFileSync(`${docs}/benchmarks.md`, pageOf(results))
  const readme = `${docs}/../README.md`
  writeFileSync(readme, withSummary(readFileSync(readme, 'utf8'), results))
  progress('Written: docs/benchmarks.md, docs/pictures/benchmarks and the table of README.md.')
}

async function measure({ effort, chosen }: Options): Promise<Results> {
  const sections: Section[] = []
  for (const [n, bench] of chosen.entries()) {
    progress(`\n${n + 1}/${chosen.length} ${bench.name}`)
    const apart = effort !== 'quick' && chosen.length > 1
    sections.push(await (apart ? runApart(bench, effort) : runHere(bench, effort)))
  }
  return { bench: 'all', machine: describeMachine(), sections }
}

function readResults(): Results | undefined {
  return existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : undefined
}

/** Earlier results with the sections of later ones, in the order of the benches. */
function mergedInto(earlier: Results | undefined, later: Results): Results {
  const all = new Map([...(earlier?.sections ?? []), ...later.sections].map((section) => [section.name, section]))
  return { ...later, sections: benches.flatMap(({ name }) => all.get(name) ?? []) }
}

async function main(options: Options): Promise<void> {
  if (options.help) return void process.stdout.write(help)
  if (options.render) {
    const known = readResults()
    if (!known) throw new Error('There is no docs/benchmarks.json.')
    return writePage(known)
  }
  const results = await measure(options)
  const [only] = results.sections
  // The process that started this one writes the page.
  if (process.send && only) return void process.send(only)
  if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`)
  else process.stdout.write(`${results.sections.map(({ rows }) => tableOf(rows)).join('\n')}\n`)
  if (options.json || options.effort === 'quick' || (!options.all && !options.write)) return
  const whole = options.all ? results : mergedInto(readResults(), results)
  // Five digits are more than any of them has.
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value
  const written = JSON.stringify(whole, short, 2)
  writeFileSync(resultsFile, `${written}\n`)
  // From what can be read again, so that --render writes the same.
  writePage(JSON.parse(written))
}

let options: Options | undefined
try {
  options = readArguments()
} catch (error) {
  progress(`${error instanceof Error ? error.message : String(error)}\nTry --help.`)
  process.exitCode = 2
}
if (options) {
  await main(options)
  // Some peers keep timers and connections.
  process.exit()
}
