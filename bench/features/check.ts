import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** What a row is given. */
export interface CheckContext {
  /** Tries one claim of the row. A claim that fails is recorded, and the row continues with the next one. */
  claim(title: string, run: () => unknown): Promise<void>
  /** Returns an empty folder, which is removed after the row. */
  folder(): string
  /** Registers what ends after the row, also after a failure; the last one ends first. */
  after(end: () => unknown): void
}

/** One row of a feature table. `run` asserts, and returns what it saw in one line. */
export interface Check {
  readonly row: string
  readonly title: string
  readonly run: (context: CheckContext) => Promise<string>
}

/** What a row came to: `partly` where some of its claims hold, `missing` where none does. */
export interface Verdict {
  readonly row: string
  readonly title: string
  readonly verdict: 'works' | 'partly' | 'missing'
  /** What the row returned. */
  readonly seen: string
  /** The claims that failed, each with its error. */
  readonly faults: readonly string[]
  readonly ms: number
}

/** Returns a row of a feature table. */
export function check(row: string, title: string, run: Check['run']): Check {
  return { row, title, run }
}

/** Rows that do not wholly work yet, with what is missing. The test leaves them out. */
export const knownMissing: Readonly<Record<string, string>> = {
  N1: 'Bun, which `npm run matrix` installs, may not be there',
  N6: 'provost loads all its parts',
}

/** Claims that do not hold yet, by row: the start of the title. A row fails the test where another one does not hold. */
export const knownFaults: Readonly<Record<string, readonly string[]>> = {
  P16: ['where they are allowed'],
  NE3: ['in code mode'],
  NE5: ['the stream has the state'],
}

/** Returns the faults of a row that are not known. */
export function newFaults({ row, faults }: Pick<Verdict, 'row' | 'faults'>): readonly string[] {
  return faults.filter((fault) => !knownFaults[row]?.some((known) => fault.startsWith(known)))
}

/** Returns the rows of all tables: the export `rows` of each file beside this one. */
export async function allChecks(): Promise<readonly Check[]> {
  const files = globSync('{a,b,c,d,e,f,pitfalls,seeds}.ts', { cwd: import.meta.dirname }).toSorted()
  const tables = files.map(
    async (file): Promise<{ rows: readonly Check[] }> => import(pathToFileURL(join(import.meta.dirname, file)).href),
  )
  return (await Promise.all(tables)).flatMap(({ rows }) => rows)
}

/** Tries a row within a time limit, in ms. A failure of the row is part of its verdict. */
export async function tryCheck({ row, title, run }: Check, limitMs: number): Promise<Verdict> {
  const faults: string[] = []
  const ends: (() => unknown)[] = []
  let held = 0
  const fail = (where: string, error: unknown): void => void faults.push(`${where}: ${textOf(error)}`)
  const onRejection = (error: unknown): void => fail('unhandled rejection', error)
  const context: CheckContext = {
    async claim(claim, tried) {
      try {
        await tried()
        held++
      } catch (error) {
        fail(claim, error)
      }
    },
    folder() {
      const folder = mkdtempSync(join(tmpdir(), `provost-feature-${row}-`))
      ends.push(() => rmSync(folder, { recursive: true, force: true }))
      return folder
    },
    after: (end) => void ends.push(end),
  }
  const start = performance.now()
  const timer = new AbortController()
  process.on('unhandledRejection', onRejection)
  let seen = ''
  try {
    const late = sleep(limitMs, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`no end within ${limitMs / 1_000} s`)
    })
    seen = await Promise.race([run(context), late])
    held++
  } catch (error) {
    fail('row', error)
  }
  timer.abort()
  for (const end of ends.toReversed()) {
    try {
      await end()
    } catch (error) {
      fail('end', error)
    }
  }
  process.off('unhandledRejection', onRejection)
  const verdict = faults.length === 0 ? 'works' : held > 0 ? 'partly' : 'missing'
  return { row, title, verdict, seen, faults, ms: Math.round(performance.now() - start) }
}

function textOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? `[${String(error.code)}] ` : ''
  const message = error instanceof Error ? error.message : String(error)
  return `${code}${message.replaceAll(/\s+/gu, ' ')}`.slice(0, 300)
}
