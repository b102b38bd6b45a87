import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const packages = globSync('packages/*/package.json', { cwd: root }).map((file) => basename(join(file, '..')))

describe.each(packages)('the package %s', (folder) => {
  test('has a row in the table of the README', () => {
    expect(read('README.md')).toMatch(new RegExp(`^\\| \\[.*\\]\\(packages/${folder}\\) +\\|`, 'm'))
  })

  test('has a tag whose imports turbo.json limits', () => {
    const [, tag = ''] = /"tags": \["([\w-]+)"\]/.exec(read(`packages/${folder}/turbo.json`)) ?? []
    const [, limits = ''] = read('turbo.json').split('"boundaries"')
    expect(limits).toMatch(new RegExp(`^ {6}"?${tag}"?: \\{`, 'm'))
  })

  test('has a README of its own', () => {
    expect(read(`packages/${folder}/README.md`)).toMatch(/^# /)
  })
})

// Every function of the umbrella comes from another package; create-provost is a program and exports none.
test.each(packages.filter((name) => !['provost', 'create-provost'].includes(name)))(
  'known-options.test.ts checks the functions of %s',
  (folder) => {
    const [, rest = ''] = read('packages/provost/test/known-options.test.ts').split('const modules:')
    const [modules = ''] = rest.split('\n}')
    expect(modules).toMatch(new RegExp(`^ {2}(?:${folder},|'?${folder}'?: \\w+,)$`, 'm'))
  },
)

test('only teams, replay, governance, guard and server are built on the internal subpath of the agent', () => {
  const sources = globSync(['{packages,apps}/*/src/**/*.ts', '{examples,bench}/**/*.ts'], { cwd: root })
  const users = sources.filter((file) => read(file).includes("from '@provost/agent/internal'"))
  const owners = new Set(users.map((file) => file.split('/').slice(0, 2).join('/')))
  const expected = ['teams', 'replay', 'governance', 'guard', 'server'].map((name) => `packages/${name}`)
  expect(owners).toEqual(new Set(expected))
})
