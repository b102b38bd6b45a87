import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'

import { datedChangelog, prepareRelease, repositoryFields } from '../release.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const release = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(root, 'scripts/release.ts'), ...args], { encoding: 'utf8' })

test.each([
  'https://git.example/team/runtime',
  'https://git.example/team/runtime.git',
  'https://git.example/team/runtime/',
])('the address %s becomes the repository, the home page and the place for bugs of a package', (address) => {
  expect(repositoryFields(address, 'packages/core')).toEqual({
    homepage: 'https://git.example/team/runtime#readme',
    bugs: { url: 'https://git.example/team/runtime/issues' },
    repository: { type: 'git', url: 'git+https://git.example/team/runtime.git', directory: 'packages/core' },
  })
})

test.each([
  'git@git.example:team/runtime.git',
  'http://git.example/team/runtime',
  'https://user@git.example/team/runtime',
  'https://git.example/runtime',
  'https://git.example/team/runtime?tab=readme',
  'runtime',
])('the address %s is refused', (address) => {
  const { status, stderr } = release('--repository', address)
  expect(status).toBe(2)
  expect(stderr).toBe(`The address ${address} is not https://HOST/OWNER/NAME. Give the address that a browser shows.\n`)
})

test('without an address the release is refused before anything is written, with what to give', () => {
  const folder = mkdtempSync(join(tmpdir(), 'provost-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'packages/core'), { recursive: true })
  const file = join(folder, 'packages/core/package.json')
  writeFileSync(file, '{"name":"@provost/core","version":"0.0.0"}')
  expect(() => prepareRelease(folder, undefined)).toThrow(
    /^1 manifests have no repository, .*: npm run release -- --repository https:/u,
  )
  expect(readFileSync(file, 'utf8')).toBe('{"name":"@provost/core","version":"0.0.0"}')
})

test('--help says what is prepared, and prepares nothing', () => {
  const { status, stdout } = release('--help')
  expect([status, stdout]).toEqual([0, expect.stringContaining('Usage: npm run release')])
})

test('the newest part of the changelog gets its date, and no other part', () => {
  const text = '# Changelog\n\n## 0.2.0 (unreleased)\n\nNew.\n\n## 0.1.0 (2026-11-28)\n'
  const dated = '# Changelog\n\n## 0.2.0 (2027-01-02)\n\nNew.\n\n## 0.1.0 (2026-11-28)\n'
  expect(datedChangelog(text, '0.2.0', '2027-01-02')).toBe(dated)
  expect(() => datedChangelog(text, '0.3.0', '2027-01-02')).toThrow('Write its part "## 0.3.0 (unreleased)" first.')
  expect(() => datedChangelog(dated, '0.2.0', '2027-01-02')).toThrow('begins with "0.2.0 (2027-01-02)"')
})
