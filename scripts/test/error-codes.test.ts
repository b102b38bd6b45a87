import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

// Those of telemetry name the ends of spans; the suite for stores expects codes of others.
const files = globSync('packages/*/src/**/*.ts', { cwd: root, exclude: ['packages/{telemetry,testing/src/store}/**'] })
const sources = files.map((file) => read(file).replaceAll(/\/\*[^]*?\*\//g, ''))
const all = sources.join('\n')
const constants = new Map(
  [...all.matchAll(/\bconst (\w+) = '([a-z_-]+)'/g)].map(([, name = '', value = '']) => [name, value]),
)

/** Where the code of an error stands: what makes one, error data, what else is thrown, and the limits of scripts. */
const places = [
  /(?:new (?:ProvostError|HttpError|Misuse)|\bsuper|\bstop|\btimedOut|\berrorOf)\(\s*(?:\d+,\s*)?([^,()<]+),/g,
  /\b(?:toErrorInfo|failed)\(\w+, ('[a-z-]+')/g,
  /\bcode: ((?:[\w.]+ [^,;\n]*\? )?'[^']+'(?: : '[^']+')?|\w+)\s*[,;}]/g,
  /('[a-z]+-(?:limit|size)')/g,
  /export type ErrorClass =([^]*?)\n\n/g,
]

/** What stands there as a text, or under the name of a constant. */
function codesIn(expression: string): readonly string[] {
  const chosen = expression.split('?').at(-1) ?? ''
  const texts = [...chosen.matchAll(/'([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)'/g)].map(([, code = '']) => code)
  const constant = constants.get(expression.trim())
  return constant === undefined ? texts : [...texts, constant]
}

const given = new Set(places.flatMap((place) => [...all.matchAll(place)].flatMap(([, found = '']) => codesIn(found))))
const listed = [...read('docs/guide/errors.md').matchAll(/^\| (`[a-z].*?`) +\|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([\w-]+)`/g)].map(([, code = '']) => code),
)

test('the page on errors lists every code that the sources give, with what to do', () => {
  // What a thread says to the one that has ended its script.
  const internal = new Set(['stopped'])
  expect(given.size).toBeGreaterThan(200)
  expect([...given].filter((code) => !listed.includes(code) && !internal.has(code)).toSorted()).toEqual([])
})

test('the page on errors lists no code that is gone, and none twice', () => {
  const texts = new Set([...all.matchAll(/'([\w-]+)'/g)].map(([, text = '']) => text))
  const prefixes = ['run-', 'child-'].filter((prefix) => all.includes(`\`${prefix}\${`))
  const known = (code: string) => texts.has(code) || prefixes.some((prefix) => code.startsWith(prefix))
  expect(listed.filter((code) => !known(code))).toEqual([])
  expect(listed.filter((code, n) => listed.indexOf(code) !== n)).toEqual([])
})
