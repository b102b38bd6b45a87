import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import type { IndexEntry } from '../src/entries/indexed-log.ts'
import { matches, readFilter } from '../src/raw/entry-filter.ts'
import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { agentsWith, busyDesk, deskWith } from './recorded.ts'
import { account, openConsole } from './scenario.ts'

/** Both themes and both widths, each once: the views are many. */
const lookPair = looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))

test('a filter of the log takes fields, quoted values and words', () => {
  const entry: IndexEntry = {
    ...{ log: 'x', run: 'r', offset: 4, at: 0, type: 'call', op: 'settled', agent: 'the desk', step: 2 },
    ...{ callId: 'c', name: 'refund', ms: 1, tokensIn: undefined, tokensOut: undefined, cost: undefined },
    label: { integrity: 'untrusted', confidentiality: 'internal', sources: ['mail'] },
    detail: { outcome: 'error' },
  }
  const found = (text: string): boolean => matches(readFilter(text), entry)
  for (const text of [
    '',
    'type:call',
    'type:call op:settled',
    'agent:"the desk"',
    'integrity:untrusted error',
    'source:mail',
  ])
    expect([text, found(text)]).toEqual([text, true])
  for (const text of ['type:wait', 'agent:clerk', 'outcome:denied', 'type:call nothing'])
    expect([text, found(text)]).toEqual([text, false])
  expect(readFilter('colour:red').unknown).toEqual(['colour'])
})

test('the views that few readers open are loaded with them', (ctx) => {
  if (page.assets.length === 0) ctx.skip('the console is not built')
  const html = readFileSync(new URL('index.html', page.root), 'utf8')
  const initial = page.assets.filter((name) => name.endsWith('.js') && html.includes(name))
  const size = initial.reduce(
    (sum, name) => sum + gzipSync(readFileSync(new URL(`assets/${name}`, page.root))).length,
    0,
  )
  expect(size).toBeLessThan(160_000)
  for (const view of [
    'timeline',
    'flow',
    'session-policy',
    'travel',
    'context',
    'scripts',
    'memories',
    'raw-log',
    'policy-page',
    'cost-page',
    'system-page',
  ]) {
    const own = page.assets.filter((name) => name.startsWith(`${view}-`) && name.endsWith('.js'))
    expect([view, own.length]).toEqual([view, 1])
    expect(initial).not.toContain(own[0])
  }
})

/** Selects the account number where an entry shows it. */
async function selectAccount(tab: Page): Promise<void> {
  await tab.evaluate(`(() => {
    const words = ${JSON.stringify(account)}
    for (const element of document.querySelectorAll('[data-placed]')) {
      const node = element.firstChild
      const at = node?.textContent?.indexOf(words) ?? -1
      if (at < 0) continue
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + words.length)
      document.getSelection().removeAllRanges()
      document.getSelection().addRange(range)
      return
    }
    throw new Error('the words are not shown')
  })()`)
}

test('in a browser each view shows a session, in both themes and widths, with the keyboard alone', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const [desk, billing] = agentsWith(store)
  const busy = busyDesk(store, 300)
  const { sessionId } = await desk.run('Handle mail 15.')
  const many = await busy.run('go')
  const listening = await openConsole(() => [desk, billing, busy], { store })
  const { origin, pathname, hash } = new URL(listening.consoleUrl)
  const listAt = `${origin}${pathname}sessions${hash}`
  const at = (path: string): string => `${origin}${pathname}${path}`
  try {
    await inBrowser(async (browser) => {
      for (const look of lookPair) {
        const tab = await openTab(browser, listAt, look)
        const { page: shown } = tab
        const waitFor = (selector: string): Promise<void> => shown.locator(selector).first().waitFor()
        await waitFor('.row')

        await shown.goto(at(`sessions/${sessionId}/timeline`))
        await waitFor('.tl-row')
        await shown.locator('.tl-rows').focus()
        for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await shown.keyboard.press(key)
        await waitFor('.pane .entry-part')
        await tab.picture('timeline')
        await tab.expectFine()

        await shown.goto(at(`sessions/${many.sessionId}/timeline`))
        await waitFor('.tl-row')
        await shown.locator('.tl-rows').focus()
        await shown.keyboard.press('End')
        await shown.locator('.tl-row[aria-selected=true]', { hasText: 'run completed' }).waitFor()
        expect(await shown.locator('.tl-row').count()).toBeLessThan(100)

        await shown.goto(at(`sessions/${sessionId}/log`))
        await waitFor('.raw-row')
        await shown.keyboard.press('/')
        await shown.keyboard.type('op:settled mail')
        await shown.locator('#raw-count', { hasText: '1 of' }).waitFor()
        await shown.locator('.raw-rows').focus()
        await shown.keyboard.press('Home')
        await waitFor('.pane .entry-part')
        expect(await shown.locator('.pane').innerText()).toContain('<img src=x onerror=alert(1)> \\u202egnp.exe')
        await tab.picture('log')
        await tab.expectFine()

        await selectAccount(shown)
        await shown.getByRole('button', { name: 'Trace selection' }).click()
        await shown.locator('.prov-selected', { hasText: account }).waitFor()
        await waitFor('.prov-card.sink.text')
        await tab.picture('provenance')
        await tab.expectFine()
        await shown.keyboard.press('x')
        await waitFor('.table-box td')
        await tab.expectFine()

        await shown.goto(at(`sessions/${sessionId}/policy`))
        await shown.locator('.decisions summary', { hasText: 'allowed read_mail by default' }).waitFor()
        await shown.getByLabel('Always deny these tools').fill('pay')
        await shown.getByRole('button', { name: 'Judge this session' }).click()
        await shown.locator('.what-if td', { hasText: 'deniedTool' }).waitFor()
        await tab.picture('policy')
        await tab.expectFine()

        await shown.goto(at(`sessions/${sessionId}/travel?entry=5`))
        await waitFor('.travel-view li')
        await shown.keyboard.press(']')
        await shown.locator('.travel-at', { hasText: 'entry 6 of' }).waitFor()
        await tab.picture('travel')
        await tab.expectFine()
        await shown.getByLabel('The turn').selectOption('end')
        await shown.getByRole('button', { name: 'Fork', exact: true }).click()
        await shown.getByRole('link', { name: 'Compare both' }).click()
        await waitFor('.compare-entries')
        await tab.picture('compare')
        await tab.expectFine()

        for (const [name, ready] of [
          ['policy', '.table-box td'],
          ['cost', '.table-box td'],
          ['system', '.facts-list'],
        ] as const) {
          await shown.goto(at(name))
          await waitFor(ready)
          await tab.picture(`page-${name}`)
          await tab.expectFine()
        }
        await tab.context.close()
      }
    })
  } finally {
    await listening.close()
  }
})

test('views say what is missing where there is nothing, and that the server is gone', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const desk = deskWith(store)
  const { sessionId } = await desk.run('Handle mail 15.')
  const listening = await openConsole(() => [desk], { store })
  const { origin, pathname, hash } = new URL(listening.consoleUrl)
  const listAt = `${origin}${pathname}sessions${hash}`
  await inBrowser(async (browser) => {
    const tab = await openTab(browser, listAt, { theme: 'light', width: 'desk' })
    const { page: shown } = tab
    await shown.locator('.row').first().waitFor()
    await shown.goto(`${origin}${pathname}sessions/${sessionId}/flow`)
    await shown.getByText('Select words to see where they come from.').waitFor()
    await shown.goto(`${origin}${pathname}sessions/${sessionId}/log?filter=type:nothing`)
    await shown.getByText('No entry matches this filter.').waitFor()
    await tab.expectFine()
    await shown.route('**/api/console/**', (route) => route.abort())
    await shown.getByRole('link', { name: 'Cost' }).click()
    await shown.getByText('The server cannot be reached.').first().waitFor()
    expect(await shown.getByRole('button', { name: 'Retry' }).count()).toBeGreaterThan(0)
  })
  await listening.close()
})
