import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'

import { buildPrograms } from '@provost/testing/test/program'
import { describe, test, vi } from 'vitest'

const folder = fileURLToPath(new URL('..', import.meta.url))
const examples = globSync('*.ts', { cwd: folder }).toSorted()
/** What other designs promised, each as a program that asserts it. */
const seeds = globSync('seeds/*/*.ts', { cwd: folder }).toSorted()

/** What an example says it prints: the rest of each line behind `// → `. */
function promised(source: string): string[] {
  return [...source.matchAll(/\/\/ → (.*)$/gm)].map(([, line = '']) => line)
}

interface Outcome {
  readonly lines: readonly string[]
  readonly stderr: string
  readonly code: number | null | undefined
}

let making: Promise<Readonly<Record<string, string>>> | undefined

/** The examples as programs that start fast, by the names of their sources. */
function programs(): Promise<Readonly<Record<string, string>>> {
  const names = [...examples, ...seeds]
  making ??= buildPrograms(names.map((name) => join(folder, name))).then((paths) =>
    Object.fromEntries(names.map((name, n) => [name, paths[n] ?? ''])),
  )
  return making
}

/** As a newcomer runs it: in a process of its own, offline, and it ends by itself. */
async function runAlone(example: string): Promise<Outcome> {
  // No real model, whatever this environment has.
  const { PROVOST_MODEL: _, NODE_OPTIONS: __, ...env } = process.env
  const program = (await programs())[example] ?? ''
  const child = spawn(process.execPath, ['--conditions=@provost/source', program], { cwd: folder, env, stdio: 'pipe' })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { lines: stdout.trimEnd().split('\n'), stderr, code }
}

/** In this process, after the others: a tenth of the cost. What it leaves running has no effect. */
async function runHere(example: string): Promise<Outcome> {
  vi.stubEnv('PROVOST_MODEL', undefined)
  let stdout = ''
  let stderr = ''
  const restored = [
    vi.spyOn(console, 'log').mockImplementation((...said) => void (stdout += `${format(...said)}\n`)),
    vi.spyOn(console, 'error').mockImplementation((...said) => void (stderr += `${format(...said)}\n`)),
    vi.spyOn(process.stdout, 'write').mockImplementation((piece) => ((stdout += String(piece)), true)),
  ]
  try {
    await import(`../${example.replace(/\.ts$/, '')}.ts`)
  } finally {
    for (const spy of restored) spy.mockRestore()
  }
  return { lines: stdout.trimEnd().split('\n'), stderr, code: 0 }
}

const full = process.env['PROVOST_TEST_FULL'] === '1'
const run = full ? runAlone : runHere
const suite = full ? describe.concurrent : describe

test('the README links every example', ({ expect }) => {
  const links = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/^\| \[[\w-]+\]\(([\w-]+\.ts)\)/gm)]
  expect(links.map(([, file = '']) => file).toSorted()).toEqual(examples)
})

test('the README of the seeds links every one', ({ expect }) => {
  const readme = readFileSync(join(folder, 'seeds/README.md'), 'utf8')
  const links = [...readme.matchAll(/\]\(([\w-]+\/[\w-]+\.ts)\)/g)].map(([, file = '']) => `seeds/${file}`)
  expect([...new Set(links)].toSorted()).toEqual(seeds)
})

test.for(seeds)('%s asserts its outcome', (example, { expect }) => {
  expect(readFileSync(join(folder, example), 'utf8')).toMatch(/^import assert from 'node:assert\/strict'$/m)
})

suite.each([...examples, ...seeds])('%s', (example) => {
  const source = readFileSync(join(folder, example), 'utf8')

  test('prints what it says it prints', async ({ expect }) => {
    const expected = promised(source)
    expect(expected, 'it says what it prints, in comments that begin with →').not.toEqual([])
    const { lines, stderr, code } = await run(example)
    expect({ lines, code }, stderr).toEqual({ lines: expected, code: 0 })
  })

  test('begins with what it shows, fits on a page and imports nothing but provost, its packages, the SDKs of a caller and files beside it', ({
    expect,
  }) => {
    expect(source).toMatch(/^\/\/ [A-Z]/)
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(68)
    const imported = [...source.matchAll(/ from '(.*)'$/gm)].map(([, name = '']) => name)
    const others = imported.filter(
      (name) => !/^(provost(\/[\w-]+)?|@provost\/.*|ai(\/test)?|openai|node:.*|\.\/.*)$/.test(name),
    )
    expect(others).toEqual([])
    expect(imported.join(' ')).toMatch(/\bprovost\b/)
  })
})
