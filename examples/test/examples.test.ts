import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { describe, test } from 'vitest'

const folder = fileURLToPath(new URL('..', import.meta.url))
const examples = globSync('*.ts', { cwd: folder }).toSorted()

/** What an example says it prints: the rest of each line behind `// → `. */
function promised(source: string): string[] {
  return [...source.matchAll(/\/\/ → (.*)$/gm)].map(([, line = '']) => line)
}

async function run(example: string) {
  // Offline, as a newcomer runs it: no real model, whatever this environment has.
  const { PROVOST_MODEL: _, NODE_OPTIONS: __, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=@provost/source', example], { cwd: folder, env, stdio: 'pipe' })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { lines: stdout.trimEnd().split('\n'), stderr, code }
}

test('the README links every example', ({ expect }) => {
  const links = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/^\| \[[\w-]+\]\(([\w-]+\.ts)\)/gm)]
  expect(links.map(([, file = '']) => file).toSorted()).toEqual(examples)
})

describe.concurrent.each(examples)('%s', (example) => {
  const source = readFileSync(join(folder, example), 'utf8')

  test('prints what it says it prints', { timeout: 60_000 }, async ({ expect }) => {
    const expected = promised(source)
    expect(expected, 'it says what it prints, in comments that begin with →').not.toEqual([])
    const { lines, stderr, code } = await run(example)
    expect({ lines, code }, stderr).toEqual({ lines: expected, code: 0 })
  })

  test('begins with what it shows, fits on a page and imports nothing but Provost and the AI SDK', ({ expect }) => {
    expect(source).toMatch(/^\/\/ [A-Z]/)
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(65)
    const imported = [...source.matchAll(/ from '(.*)'$/gm)].map(([, name = '']) => name)
    // What only some programs need is not in the umbrella.
    const ours = new Set(['provost', '@provost/server', '@provost/client', 'ai'])
    const others = imported.filter((name) => !ours.has(name) && !name.startsWith('node:'))
    expect(others).toEqual([])
    expect(imported).toContain('provost')
  })
})
