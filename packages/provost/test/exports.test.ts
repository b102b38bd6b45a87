import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

const file = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const manifest: { readonly exports: Readonly<Record<string, { readonly '@provost/source': string }>> } = JSON.parse(
  readFileSync(file('package.json'), 'utf8'),
)
const entries = Object.entries(manifest.exports).map(([entry, target]) => {
  const path = target['@provost/source']
  return { name: `provost${entry.slice(1)}`, path, source: readFileSync(file(path), 'utf8') }
})
const [, listed = ''] = readFileSync(file('README.md'), 'utf8').split('## What it exports')

/** The part of the README about one entry. */
function sectionOf(name: string): string {
  return (
    listed
      .split(/^### /m)
      .find((section) => section.startsWith(`${name}\n`))
      ?.replaceAll(/^### .*$/gm, '') ?? ''
  )
}

/** Names between backticks that stand alone. */
const names = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
const rowsOf = (section: string) => [...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name = '']) => name)

describe.each(entries.filter(({ source }) => !source.includes('export *')))('the entry $name', ({ name, source }) => {
  const section = sectionOf(name)

  test('has each of its values in the README, once', async () => {
    expect(rowsOf(section).toSorted()).toEqual(Object.keys(await import(name)).toSorted())
  })

  test('has each of its types in the README, once', () => {
    const types = [...source.matchAll(/^export type \{([^}]*)\}/gm)].flatMap(
      ([, list = '']) => list.match(/\w+/g) ?? [],
    )
    const paragraphs = [...section.matchAll(/^Types: (?:.+\n)+/gm)].map(([text]) => text)
    // Exported with its value of the same name.
    const both = name === 'provost' ? ['RunState'] : []
    expect(names(paragraphs.join('')).toSorted()).toEqual([...types, ...both].toSorted())
  })
})

describe.each(entries.filter(({ source }) => source.includes('export *')))('the entry $name', ({ name, source }) => {
  test('is one whole package, whose README lists its names', async () => {
    expect(source).toMatch(/^\/\/ .*\nexport \* from '@provost\/[\w/-]+'\n$/)
    expect(Object.keys(await import(name))).toEqual(expect.arrayContaining(rowsOf(sectionOf(name))))
  })
})

test('each entry is in the table of the README', () => {
  const [table = ''] = listed.split(/^### /m)
  const rows = [...table.matchAll(/`(provost\/[\w/-]+)`/g)].map(([, name = '']) => name)
  expect(['provost', ...rows].toSorted()).toEqual(entries.map(({ name }) => name).toSorted())
})

test('no two entries export the same name, so that each has one place', async () => {
  const places = new Map<string, string[]>()
  for (const { name } of entries)
    for (const value of Object.keys(await import(name))) places.set(value, [...(places.get(value) ?? []), name])
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([])
})

test('the import loads the libraries that every run needs, and no provider, server or test library', () => {
  const script = `
    import { registerHooks } from 'node:module'
    const seen = new Set()
    registerHooks({
      load(url, context, next) {
        const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
        if (name) seen.add(name)
        return next(url, context)
      },
    })
    await import('provost')
    console.log(JSON.stringify([...seen].toSorted()))`
  const flags = ['--conditions=@provost/source', '--input-type=module', '--eval', script]
  const output = execFileSync(process.execPath, flags, { cwd: file('../../examples'), encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual([
    '@cfworker/json-schema',
    '@valibot/to-json-schema',
    'entities',
    'picomatch',
    'tokenx',
    'zod',
  ])
})
