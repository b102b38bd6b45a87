import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import { onThrow } from '../../packages/agent/src/index.ts'
import type { ThrowMeaning } from '../../packages/agent/src/index.ts'
import { eventTypes } from '../../packages/core/src/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const guides = globSync(['*.md', 'docs/{*,site/home}.md', 'docs/{guide,start,decisions}/**/*.md'], { cwd: root })
const pages = [...guides, ...globSync(['.changeset/*.md', '{packages,apps}/*/README.md'], { cwd: root })]

/** The names that stand alone in the first column of a page's tables. */
function firstColumn(file: string): string[] {
  return [...read(file).matchAll(/^\| `([\w.]+)` +\|/gm)].map(([, name = '']) => name)
}

test('each test that SECURITY.md names is there', () => {
  const named = [...read('SECURITY.md').matchAll(/`((?:packages|apps|bench|examples|scripts)\/[^`]+\.ts)`/g)].map(
    ([, path = '']) => path,
  )
  expect(named.length).toBeGreaterThan(60)
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('the page on events has a row for each type of event, once', () => {
  const fields = ['type', 'seq', 'id', 'runId', 'agent', 'step', 'at']
  const rows = firstColumn('docs/guide/events.md').filter((name) => !fields.includes(name))
  expect(rows.toSorted()).toEqual(eventTypes.toSorted())
})

describe('the table of the page on hooks', () => {
  const [, table = ''] = read('docs/guide/hooks.md').split('## The table')
  const [rows = ''] = table.split('\n\nA ')
  const cells = [...rows.matchAll(/^\| `([\w.]+)`.*\|([^|]+)\|$/gm)].map(
    ([, name = '', last = '']) => [name, last] as const,
  )

  test('has a row for each hook, in the order of the runtime', () => {
    expect(cells.map(([name]) => name)).toEqual(Object.keys(onThrow))
  })

  test('says of each hook what the runtime does if it throws', () => {
    const phrases: Record<ThrowMeaning, string> = {
      'fail-run': 'the run fails',
      reject: 'the fan-out rejects',
      deny: 'denied',
      withhold: 'withheld',
      collect: 'the others run',
      report: 'reported',
    }
    const said = cells.map(([name, last]) => [
      name,
      ...Object.entries(phrases).flatMap(([meaning, phrase]) => (last.includes(phrase) ? [meaning] : [])),
    ])
    expect(said).toEqual(Object.entries(onThrow))
  })
})

test.each(pages)('the links of %s lead to files that are there', (page) => {
  const links = [...read(page).matchAll(/\]\((?!\w+:|#)([^)#]+)/g)].map(([, target = '']) => target)
  expect(links.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

/** The anchors of a page's headings, as GitHub writes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = read(page).replaceAll(/^```.*?^```$/gms, '')
  const titles = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase())
  return new Set(titles.map((title) => title.replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '').replaceAll(' ', '-')))
}

test.each(pages)('the links of %s lead to headings that are there', (page) => {
  const links = [...read(page).matchAll(/\]\((?!\w+:)([^)#]*)#([^)]+)\)/g)]
  const gone = links.filter(([, target = '', anchor = '']) => {
    const file = target === '' ? page : join(dirname(page), target)
    return file.endsWith('.md') && !anchorsOf(file).has(anchor)
  })
  expect(gone.map(([link]) => link)).toEqual([])
})

test.each(guides)('the code of %s stands in an example, which the tests run', (page) => {
  const examples = globSync('examples/{,recipes/service/}*.ts', { cwd: root }).map(read)
  const blocks = [...read(page).matchAll(/^```ts\n(.*?)\n```$/gms)].map(([, block = '']) => block)
  expect(blocks.filter((block) => !examples.some((example) => example.includes(block)))).toEqual([])
})

test('the code of the page on recipes stands in a recipe, which full runs of the tests start', () => {
  const recipes = globSync('examples/recipes/{*,service/*,service/.*,next/**/*.*js}', {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  })
    .filter((path) => statSync(join(root, path)).isFile())
    .map(read)
  const blocks = [...read('docs/guide/recipes.md').matchAll(/^```\w+\n(.*?)\n```$/gms)].map(([, block = '']) => block)
  expect(blocks.length).toBe(14)
  expect(blocks.filter((block) => !recipes.some((recipe) => recipe.includes(block)))).toEqual([])
})

/** Code without the indentation of its place. */
const flat = (code: string): string => code.replaceAll(/^ +/gm, '')

test('the code of the page on servers that is not TypeScript stands in pages and tests that are run', () => {
  const run = [
    'packages/create-provost/templates/next/app/chat/[id]/chat.tsx',
    'packages/server/test/ag-ui/ag-ui.test.ts',
    'bench/copilotkit/runtime.mjs',
    'bench/copilotkit/page.jsx',
  ].map((file) => flat(read(file)))
  const blocks = [...read('docs/guide/server.md').matchAll(/^```(?:js|jsx|tsx)\n(.*?)\n```$/gms)]
  expect(blocks.length).toBe(4)
  expect(
    blocks.map(([, block = '']) => block).filter((block) => !run.some((code) => code.includes(flat(block)))),
  ).toEqual([])
})
