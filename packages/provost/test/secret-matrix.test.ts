import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { findPostgres, startPostgres } from '@provost/testing'
import { afterAll, expect, test } from 'vitest'

import { cells, leaksIn, places } from './secret-matrix/cells.ts'

// A process of its own tells its secrets everywhere: each in a place and in a writing that no other has. What it left behind is
// searched. The same without secrets declared shows that each of them would have been found.

const run = promisify(execFile)
const full = process.env['PROVOST_TEST_FULL'] === '1'
const program = fileURLToPath(new URL('secret-matrix/program.ts', import.meta.url))
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The cells that are found, by the file that they stand in. */
async function found(kind: string, scrubs: 'scrubs' | 'tells', more?: (folder: string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'provost-secrets-'))
  folders.push(folder)
  const { stderr } = await run(process.execPath, ['--conditions=@provost/source', program, folder, kind, scrubs], {
    maxBuffer: 64 * 1024 * 1024,
  })
  writeFileSync(join(folder, 'stderr.txt'), stderr)
  await more?.(folder)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  // Of a folder of many files, all of them.
  const sinks = new Map<string, Found>()
  for (const name of files) {
    const path = join(folder, name)
    if (!statSync(path).isFile()) continue
    const [sink = name] = name.split(sep)
    const before = sinks.get(sink)
    const bytes = readFileSync(path)
    sinks.set(sink, {
      bytes: (before?.bytes ?? 0) + bytes.length,
      leaks: [...(before?.leaks ?? []), ...leaksIn(bytes)],
    })
  }
  return sinks
}

interface Found {
  readonly bytes: number
  readonly leaks: readonly string[]
}

const sinks = ['events.txt', 'export.txt', 'lines.txt', 'log.txt', 'memory.db', 'spans.txt', 'stderr.txt', 'stream.txt']

test.for([
  ['SQLite', 'sqlite', 'sessions.db'],
  ['JSONL', 'jsonl', 'sessions'],
] as const)(
  'of more than a thousand planted secrets none stands in any sink, with %s',
  async ([, kind, stored], ctx) => {
    if (kind !== 'sqlite' && !full) return ctx.skip('in full runs')
    // That each secret would be found is shown by a second process, in full runs.
    const [told, kept] = await Promise.all([full ? found(kind, 'tells') : undefined, found(kind, 'scrubs')])
    for (const sink of [...sinks, stored]) {
      const isTold = !told || (told.get(sink)?.leaks.length ?? 0) > 0
      expect({ sink, isTold, kept: (kept.get(sink)?.bytes ?? 0) > 500 }).toEqual({ sink, isTold: true, kept: true })
    }
    const seen = told && new Set([...told.values()].flatMap(({ leaks }) => leaks))
    expect(cells.filter(({ id }) => seen?.has(id) === false).map(({ id }) => id)).toEqual([])
    expect([cells.length, places.length]).toEqual([1_108, 45])
    expect([...kept].filter(([, { leaks }]) => leaks.length > 0)).toEqual([])
  },
)

test('nor in what PostgreSQL has', async (ctx) => {
  if (!full) return ctx.skip('in full runs')
  const programs = findPostgres()
  if (programs === undefined) return ctx.skip('PostgreSQL is not installed')
  const server = await startPostgres()
  try {
    const dump = async (folder: string): Promise<void> => {
      const { stdout } = await run(join(dirname(realpathSync(join(programs, 'initdb'))), 'pg_dump'), [server.url], {
        maxBuffer: 64 * 1024 * 1024,
      })
      writeFileSync(join(folder, 'dump.sql'), stdout)
    }
    const kept = await found(server.url, 'scrubs', dump)
    expect(kept.get('dump.sql')?.bytes).toBeGreaterThan(50_000)
    expect([...kept].filter(([, { leaks }]) => leaks.length > 0)).toEqual([])
  } finally {
    await server.stop()
  }
})
