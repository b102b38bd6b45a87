import { parseArgs } from 'node:util'

import type { Label } from 'provost'
import { createTaintIndex } from 'provost/governance'
import type { TaintIndex } from 'provost/governance'

import { collectGarbage, compare, median } from './measure.ts'
import type { Plan, Summary } from './measure.ts'

const help = `Measures the taint index: CPU milliseconds of adding and of checking, memory, chance hits, and how it scales.

Usage: node --conditions=@provost/source bench/taint.ts [options]

Options:
  --mb 16        megabytes of varied prose that are tracked (default 16)
  --runs 7       samples of each measurement; medians count (default 7)
  --json         one JSON object on stdout, nothing else
  --help         this text
`

const label: Label = { integrity: 'untrusted', confidentiality: 'internal', sources: ['bench'] }
const addBytes = 25_600

/** Random numbers that are the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    // Mulberry32: the streams of two seeds have nothing in common.
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const syllables =
  'ba be bil bor du dan der dim fa fen gil gor ha hel ka ken kir kol la ler lin lo mar men mil mo nar nel ni no pa per pin por ra ren ri ron sa sel sin sor ta tel tin tor un va ver vin'.split(
    ' ',
  )

/** Prose of 20,000 made-up words, some of them far more frequent than others. */
function proseWriter(seed: number): (length: number) => string {
  const random = randomFrom(seed)
  const wordRandom = randomFrom(99)
  const word = () =>
    Array.from(
      { length: 1 + Math.floor(wordRandom() * 4) },
      () => syllables[Math.floor(wordRandom() * syllables.length)],
    ).join('')
  // Frequent words are short, as in any language.
  const words = Array.from({ length: 20_000 }, word).toSorted((a, b) => a.length - b.length)
  return (length) => {
    let text = ''
    while (text.length < length) {
      const rank = random() < 0.3 ? random() * 100 : random() ** 2 * words.length
      text += `${words[Math.floor(rank)]}${random() < 0.1 ? ', ' : ' '}`
    }
    return text.slice(0, length)
  }
}

/** A mix of escapes in every third word. */
function escaped(text: string): string {
  const ways = [encodeURIComponent, (word: string) => `${word}\\n`, (word: string) => `&quot;${word}`]
  return text
    .split(' ')
    .map((word, n) => (n % 3 === 0 ? (ways[(n % 9) / 3] ?? String)(`${word}"`) : word))
    .join(' ')
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const hostile: Readonly<Record<string, (length: number) => string>> = {
  'one letter': (length) => 'a'.repeat(length),
  'percent signs': (length) => '%25'.repeat(length / 3),
  'base64 of nothing': (length) => 'A'.repeat(length),
  'a letter and its rot13': (length) => {
    const random = randomFrom(5)
    return Array.from({ length: length / 8 }, () => (random() < 0.5 ? 'a' : 'n')).join('')
  },
}

export interface Report {
  readonly bench: 'taint'
  readonly unit: 'CPU ms, median'
  readonly trackedBytes: number
  readonly medians: Readonly<Record<string, number>>
  /** Each divided by the check of prose of its size; `check 1 MB prose, index of 1/8` by the whole index. */
  readonly ratios: Readonly<Record<string, number>>
  /** What eight times the input costs in multiples of the input; 8 is linear. */
  readonly scaling: Readonly<Record<string, number>>
  /** Bytes for each byte of tracked text. */
  readonly memory: { readonly index: number; readonly withText: number }
  /** Share of unrelated texts of 1 KB with a hit, and with one of 32 characters or more. */
  readonly chance: { readonly any: number; readonly long: number }
  readonly longestAddMs: number
  readonly details: Readonly<Record<string, Summary>>
}

function cpuMs(run: () => void): number {
  const start = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

function fill(texts: readonly string[]): TaintIndex {
  const index = createTaintIndex()
  for (const [n, text] of texts.entries()) index.add(text, { source: `text ${n}`, label })
  return index
}

export async function measureTaint(megabytes: number, plan: Plan): Promise<Report> {
  const prose = proseWriter(1)
  const texts = Array.from({ length: Math.ceil((megabytes * 2 ** 20) / addBytes) }, () => prose(addBytes))
  const index = fill(texts)
  const small = fill(texts.slice(0, texts.length / 8))
  const [kb10, mb1] = [10 * 1_024, 2 ** 20]
  const checks: [string, string, TaintIndex, number][] = [
    ['check 10 KB prose', prose(kb10), index, 20],
    ['check 10 KB base64', base64(prose(kb10 * 0.75)), index, 20],
    ['check 10 KB escapes', escaped(prose(kb10 * 0.8)), index, 20],
    ['check 1 MB prose', prose(mb1), index, 1],
    ['check 1 MB base64', base64(prose(mb1 * 0.75)), index, 1],
    ['check 1 MB escapes', escaped(prose(mb1 * 0.8)), index, 1],
  ]
  const oneMegabyte = checks[3]?.[1] ?? ''
  checks.push(['check 1 MB prose, index of 1/8', oneMegabyte, small, 1])
  const subjects = checks.map(([name, text, by, repeat]) => ({
    name,
    repeat,
    prepare: () => async () => by.check({ text }),
  }))
  subjects.push({ name: `add ${megabytes} MB`, repeat: 1, prepare: () => async () => (fill(texts), []) })
  const details = await compare(subjects, { ...plan, before: 'run' })
  const medians = Object.fromEntries(Object.entries(details).map(([name, summary]) => [name, summary.cpuMs]))
  const ratioTo = (name: string) => {
    const base = medians[name.includes('10 KB') ? 'check 10 KB prose' : 'check 1 MB prose'] ?? Number.NaN
    return (medians[name] ?? Number.NaN) / base
  }
  const unrelated = proseWriter(77)
  const hits = Array.from({ length: 1_000 }, () => index.check({ text: unrelated(1_024) }))
  const { indexBytes, textBytes } = index.stats
  const bytes = texts.length * addBytes
  return {
    bench: 'taint',
    unit: 'CPU ms, median',
    trackedBytes: bytes,
    medians,
    ratios: Object.fromEntries(checks.map(([name]) => [name, ratioTo(name)])),
    scaling: Object.fromEntries(Object.entries(hostile).map(([name, write]) => [name, scalingOf(write, plan.runs)])),
    memory: { index: indexBytes / bytes, withText: (indexBytes + textBytes) / bytes },
    chance: {
      any: hits.filter((found) => found.length > 0).length / hits.length,
      long: hits.filter((found) => found.some(({ length }) => length >= 32)).length / hits.length,
    },
    longestAddMs: median(Array.from({ length: 3 }, () => longestAdd(texts))),
    details,
  }
}

function scalingOf(write: (length: number) => string, runs: number): number {
  const cost = (length: number) => {
    const text = write(length)
    return cpuMs(() => {
      const index = createTaintIndex()
      index.add(text, { source: 'hostile', label })
      index.check({ text })
    })
  }
  const [low, high] = [2 ** 15, 2 ** 18].map((length) => median(Array.from({ length: runs }, () => cost(length))))
  return (high ?? Number.NaN) / (low ?? Number.NaN)
}

/**
 * CPU of the most expensive of all additions, behind as many that do not count: the garbage before them is of the others,
 * and with it goes some of what V8 has learnt.
 */
function longestAdd(texts: readonly string[]): number {
  collectGarbage()
  fill(texts)
  const index = createTaintIndex()
  return Math.max(...texts.map((text, n) => cpuMs(() => index.add(text, { source: `text ${n}`, label }))))
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      mb: { type: 'string', default: '16' },
      runs: { type: 'string', default: '7' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  const [megabytes, runs] = [Number(values.mb), Number(values.runs)]
  if (!(megabytes >= 1 && megabytes <= 16) || !Number.isInteger(runs) || runs < 1) {
    process.stderr.write('--mb takes 1 to 16, --runs a whole number from 1 on.\nTry --help.\n')
    process.exitCode = 2
    return
  }
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const report = await measureTaint(megabytes, { runs, warmUps: 2, budgetMs: 60_000, progress })
  process.stdout.write(`${JSON.stringify(report, undefined, values.json ? undefined : 2)}\n`)
}

if (import.meta.main) await main()
