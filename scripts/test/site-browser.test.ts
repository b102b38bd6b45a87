import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { browse, browserPath } from '../docs/browse.ts'
import { unlinkedPages } from '../docs/built-links.ts'
import { serveBuilt } from '../docs/serve-built.ts'

const site = mkdtempSync(join(tmpdir(), 'provost-browsed-'))
afterAll(() => rmSync(site, { recursive: true, force: true }))

function page(name: string, body: string, title = 'A page'): void {
  const icon = '<link rel="icon" href="data:,">'
  writeFileSync(
    join(site, name),
    `<!doctype html><html><head><title>${title}</title>${icon}</head><body>${body}</body></html>`,
  )
}

page('index.html', '<h1>Home</h1><a href="/sound.html">sound</a>')
page(
  'sound.html',
  '<h1>Sound</h1><div class="vp-doc"><div class="language-ts"><pre><span style="color: red">1</span></pre></div></div>',
)
page('alone.html', '<h1>Alone</h1>')

test('a page that no other page links to is found, and the first page needs no link', () => {
  expect(unlinkedPages(site)).toEqual(['alone.html'])
})

test('files of a built site are served as they are, and what is not there is 404', async () => {
  const { url, close } = await serveBuilt(site)
  const home = await fetch(`${url}/`)
  expect([home.status, home.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect((await fetch(`${url}/gone.html`)).status).toBe(404)
  expect((await fetch(`${url}/..%2f..%2fetc/passwd`)).status).toBe(404)
  close()
})

const look = { theme: 'light', width: 390 } as const

test.runIf(process.env['PROVOST_TEST_FULL'] === '1' && browserPath !== undefined).each([
  ['/sound.html', '', []],
  ['/title.html', '<h1>a</h1>', ['it has no title']],
  ['/headings.html', '<h1>a</h1><h1>b</h1>', ['it has 2 headings of the first level']],
  ['/wide.html', '<h1>a</h1><p style="width: 900px">wide</p>', [/^it scrolls sideways at 390 pixels .*<p style/]],
  ['/image.html', '<h1>a</h1><img alt="a" src="/gone.png">', [/gone\.png does not load/, /404/, /404/]],
  [
    '/unnamed.html',
    '<h1>a</h1><img src="data:image/svg+xml,<svg xmlns=%27http://www.w3.org/2000/svg%27/>">',
    [/has no text/],
  ],
  ['/error.html', '<h1>a</h1><script>throw new Error("broken")</script>', [/broken/]],
  [
    '/foreign.html',
    '<h1>a</h1><script>fetch("http://127.0.0.1:9/").catch(() => {})</script>',
    [/another host/, /console/],
  ],
  [
    '/code.html',
    '<h1>a</h1><div class="vp-doc"><div class="language-ts"><pre>1</pre></div></div>',
    [/^code without colours/],
  ],
])('the faults of %s are found (needs chromium)', async (path, body, expected: readonly (string | RegExp)[]) => {
  if (body !== '') page(path.slice(1), body, path === '/title.html' ? ' ' : 'A page')
  const { url, close } = await serveBuilt(site)
  const faults = await browse({ url, pages: [path], looks: [look], searches: [] })
  close()
  const found = faults.map((fault) => fault.replace(`${path}, light 390: `, ''))
  expect(found).toEqual(expected.map((one) => expect.stringMatching(one)))
})
