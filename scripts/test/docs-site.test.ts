import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { deadLinks } from '../docs/built-links.ts'
import { llmsFullText, llmsText } from '../docs/llms.ts'
import { sections } from '../docs/navigation.ts'
import { writePages } from '../docs/pages.ts'
import type { Page } from '../docs/pages.ts'
import { tidyReference } from '../docs/reference.ts'

const folder = mkdtempSync(join(tmpdir(), 'provost-site-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the site has', () => {
  let pages: readonly Page[] = []
  beforeAll(() => {
    pages = writePages(folder)
  })

  test('each page of its navigation', () => {
    const paths = new Set(pages.map(({ path }) => path.replace(/(?:index)?\.md$/, '')))
    const listed = sections.flatMap((section) => section.pages.map(({ path }) => path))
    expect(listed.filter((path) => !path.startsWith('reference/') && !paths.has(path))).toEqual([])
    expect(new Set(listed).size).toBe(listed.length)
  })

  test('each page of its navigation that is a guide or shows figures, in the list of all pages', () => {
    const list = readFileSync(join(folder, 'contents.md'), 'utf8')
    const listed = sections.flatMap((section) => section.pages.map(({ path }) => path))
    const wanted = listed.filter((path) =>
      /^(?:start|guide)\/|-figures$|^(?:security|benchmarks|features|runtimes)$/.test(path),
    )
    expect(wanted.length).toBeGreaterThan(40)
    expect(wanted.filter((path) => !list.includes(`](./${path}.md)`))).toEqual([])
  })

  test('a first page with the picture of the console', () => {
    expect(readFileSync(join(folder, 'index.md'), 'utf8')).toContain('](./pictures/inbox.png)')
    expect(existsSync(join(folder, 'pictures/inbox.png'))).toBe(true)
  })

  test('a page for each example, with its code and how to run it', () => {
    const page = readFileSync(join(folder, 'source/examples/quickstart.ts.md'), 'utf8')
    expect(page).toContain(readFileSync(join(import.meta.dirname, '../../examples/quickstart.ts'), 'utf8').trimEnd())
    expect(page).toContain('node --conditions=@provost/source examples/quickstart.ts')
  })

  test('links between its pages, where the repository has links between files', () => {
    const page = readFileSync(join(folder, 'guide/problems.md'), 'utf8')
    expect(page).toContain('](../source/examples/stopped-mail.ts.md)')
    expect(page).toContain('](../examples/index.md)')
  })

  test('a page for each file that one of them links to, whose name is neither hidden nor a pattern', () => {
    const missing = globSync('**/*.md', { cwd: folder }).flatMap((path) => {
      const text = readFileSync(join(folder, path), 'utf8').replaceAll(/^(`{3,}).*?^\1/gmsu, '')
      const targets = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+\.md)/gu)].map(([, target = '']) =>
        join(dirname(path), target),
      )
      return targets.filter((target) => /(?:^|\/)\.|[[\]]/.test(target) || !existsSync(join(folder, target)))
    })
    expect(missing).toEqual([])
  })

  test('a list for models, with a sentence for each page', () => {
    const text = llmsText(pages)
    expect(text).toContain('- [A script](/start/script.html): one file, no server, no key.')
    const described = text.split('\n').filter((line) => /^- .*\/(?:start|guide|packages)\/|\/security/.test(line))
    expect(described.length).toBeGreaterThan(35)
    expect(described.filter((line) => !/\.html\): [^|].+\.$/.test(line))).toEqual([])
    const targets = [...text.matchAll(/\]\(\/([^)]+)\.html\)/g)].map(([, path = '']) => path)
    const guides = targets.filter((path) => !path.startsWith('reference/'))
    expect(guides.filter((path) => !pages.some((page) => page.path === `${path}.md`))).toEqual([])
  })

  test('all guides in one text for models', () => {
    const text = llmsFullText(pages)
    const guides = pages.filter(({ path }) => /^(?:start|guide)\//.test(path))
    expect(guides.filter(({ path }) => !text.includes(`<!-- ${path} -->`))).toEqual([])
  })
})

test('a link of the built site that leads to no page or heading is found', () => {
  const site = mkdtempSync(join(folder, 'built-'))
  writeFileSync(join(site, 'index.html'), '<a href="/a.html#here">a</a><a class="x" href="/a.html#gone">a</a>')
  writeFileSync(join(site, 'a.html'), '<h2 id="here"></h2><a href="./b.html">b</a><a href="https://example.com">c</a>')
  expect(deadLinks(site)).toEqual(['a.html → ./b.html', 'index.html → /a.html#gone'])
})

test('the reference lists the functions of each entry, with links, and no types that can be called', () => {
  const reference = mkdtempSync(join(folder, 'reference-'))
  writeFileSync(join(reference, 'modules.md'), '# all')
  writeFileSync(
    join(reference, 'index.md'),
    '# index\n\n## Functions\n\n### tool()\n\nSee [budget](governance.md#budget).\n\n| `sync?` | One of: - `calls`: some. - `never`: none. |\n',
  )
  writeFileSync(
    join(reference, 'governance.md'),
    '# governance\n\n## Functions\n\n### budget()\n\n### auditLog()\n\n## Type Aliases\n\n### DataFlowRule()\n',
  )
  writeFileSync(join(reference, 'supported-node.md'), '# supported-node\n')
  tidyReference(reference)
  const list = readFileSync(join(reference, 'index.md'), 'utf8')
  expect(list).toContain('| [`provost`](./provost.md) | [`tool`](./provost.md#tool) |')
  expect(list).toContain('| [`provost/governance`](./governance.md) | [`budget`](./governance.md#budget), [`auditLog`]')
  expect(list).not.toContain('DataFlowRule')
  expect(existsSync(join(reference, 'supported-node.md'))).toBe(false)
  const page = readFileSync(join(reference, 'provost.md'), 'utf8')
  expect(page).toContain('[budget](./governance.md#budget)')
  expect(page).toContain('One of:<br>• `calls`: some.<br>• `never`: none. |')
})
