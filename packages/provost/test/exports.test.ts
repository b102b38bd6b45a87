import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import * as provost from 'provost'
import { expect, test } from 'vitest'

const file = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const [, listed = ''] = readFileSync(file('README.md'), 'utf8').split('## What it exports')

/** Names between backticks that stand alone. */
const names = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)

test('the README lists every value that is exported, once', () => {
  const rows = [...listed.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name = '']) => name)
  expect(rows.toSorted()).toEqual(Object.keys(provost).toSorted())
})

test('the README lists every type that is exported, once', () => {
  const source = readFileSync(file('src/index.ts'), 'utf8')
  const types = [...source.matchAll(/^export type \{([^}]*)\}/gm)].flatMap(([, list = '']) => list.match(/\w+/g) ?? [])
  const paragraphs = [...listed.matchAll(/^Types: (?:.+\n)+/gm)].map(([text]) => text)
  // Exported with its value of the same name.
  expect(names(paragraphs.join('')).toSorted()).toEqual([...types, 'RunState'].toSorted())
})

test('nothing is exported by a star, so that the list is decided here', () => {
  expect(readFileSync(file('src/index.ts'), 'utf8')).not.toContain('*')
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
