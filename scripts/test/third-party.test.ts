import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeEach, expect, test } from 'vitest'

import { thirdParty, writeNotices } from '../bundle/third-party.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-notices-'))
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => rmSync(join(folder, thirdParty), { force: true }))

/** Installs a library. @returns a file of it. */
function library(name: string, licence?: string): string {
  const home = join(folder, 'node_modules', name)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name, version: '1.2.3', license: 'MIT' }))
  if (licence !== undefined) writeFileSync(join(home, 'LICENSE.md'), licence)
  return join(home, 'lib/index.js')
}

test('a build passes on the licence of each library whose code it has', () => {
  writeNotices(folder, [
    join(folder, 'src/main.ts'),
    library('one', 'Text of one.'),
    library('@two/part', 'Text of two.'),
  ])
  const written = readFileSync(join(folder, thirdParty), 'utf8')
  expect(written).toMatch(/^This package contains code of 2 libraries\./)
  expect(written).toContain('one 1.2.3 (MIT)\n\nText of one.')
  expect(written).toContain('@two/part 1.2.3 (MIT)\n\nText of two.')
})

test('a build without code of libraries has no such file', () => {
  writeNotices(folder, [join(folder, 'src/main.ts')])
  expect(existsSync(join(folder, thirdParty))).toBe(false)
})

test('a library without a licence text fails the build', () => {
  expect(() => writeNotices(folder, [library('bare')])).toThrow('bare 1.2.3 becomes part of a build')
})
