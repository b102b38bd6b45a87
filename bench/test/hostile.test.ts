import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { memoryStore } from 'provost'
import { afterAll, describe, expect, test } from 'vitest'

import { corpus } from '../hostile/corpus.ts'
import { closeScripts } from '../hostile/doors/script.ts'
import { holds } from '../hostile/input.ts'
import { openFaults } from '../hostile/open-faults.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'
const megabyte = 2 ** 20

const folder = mkdtempSync(join(tmpdir(), 'provost-hostile-'))
afterAll(async () => {
  await closeScripts()
  rmSync(folder, { recursive: true, force: true })
})

test('the corpus has over 200 inputs, each of its own name, through all doors', () => {
  expect(corpus.length).toBeGreaterThan(500)
  const names = new Set(corpus.map(({ name }) => name))
  expect(names.size).toBe(corpus.length)
  expect([...Object.keys(openFaults), ...sample].filter((name) => !names.has(name))).toEqual([])
  const doors = Object.entries(Object.groupBy(corpus, ({ door }) => door)).map(([door, list = []]) => [
    door,
    list.length,
  ])
  expect(Object.fromEntries(doors)).toMatchObject({
    'createServer().fetch': expect.any(Number),
    'createSandbox().run': expect.any(Number),
    'desk mailbox': expect.any(Number),
    'RunState.fromJSON': expect.any(Number),
    importSession: expect.any(Number),
    mcpTools: expect.any(Number),
    web_fetch: expect.any(Number),
  })
})

test('inputs have up to 1 MB, with what is quoted of them', () => {
  const sample = full ? corpus : corpus.filter((_, n) => n % 40 === 0)
  const large = sample.filter(({ name, prepare }) => !name.includes('more bytes') && prepare().bytes > 1.2 * megabyte)
  expect(large.map(({ name }) => name)).toEqual([])
})

/** Cheap ones of most doors; full runs have all. */
const sample: ReadonlySet<string> = new Set([
  'body/objects nested 100,000 deep',
  'body/more bytes than fit, in pieces',
  'file/base64 of the wrong length',
  'header/a last event below nothing',
  'path/an escape that is none',
  'chat/a system message',
  'history/options of a provider',
  'decision/ids of nothing, 100 of them',
  'schema/a reference to nothing',
  'socket/two lengths',
  'script/a wait for nothing',
  'script/calls of itself',
  'mail/addresses in brackets',
  'page/redirects in a circle',
  'result/keys of a prototype',
  'export/a constructor',
  'export/the same id twice',
  'state/a key of a prototype',
  'state/a call of other arguments',
  'model/a name of a prototype',
  'model/arguments nested 100,000 deep',
  'pattern/grep: looks back',
])
/** Inputs that hang on this release would take the process along. */
const inputs = corpus.filter(({ name }) => (full || sample.has(name)) && !(name in openFaults))

describe('a hostile input has the outcome that it should', () => {
  test.each(inputs.map((input) => [input.name, input] as const))('%s', async (_, input) => {
    const place = join(folder, input.name.replaceAll(/[^a-z0-9]/giu, '-').slice(0, 80))
    mkdirSync(place)
    const outcome = await input.prepare().pass({ folder: place, store: memoryStore() })
    expect({ outcome, holds: holds(outcome, input.expect) }).toEqual({ outcome, holds: true })
  })
})

test.runIf(full)('the driver kills what hangs, has a second process open what it left, and goes on', async () => {
  const driver = join(import.meta.dirname, '../hostile.ts')
  // No time at all: everything hangs.
  const late = ['--timeout', '0.001', '--only', 'script/a loop in a sort', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=@provost/source',
    driver,
    ...late,
  ]).catch((failed: { stdout: string }) => failed)
  expect(JSON.parse(stdout)).toMatchObject({ inputs: 1, holds: 0, visits: [{ outcome: 'hang' }] })
  const only = ['--only', 'body/half of a letter', '--json']
  const read = await promisify(execFile)(process.execPath, ['--conditions=@provost/source', driver, ...only])
  expect(JSON.parse(read.stdout).visits).toMatchObject([
    { outcome: '200 completed', holds: true, second: { outcome: 'read 1' } },
  ])
})
