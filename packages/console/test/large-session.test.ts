import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { talkativeDesk } from './recorded.ts'
import { openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
/** Elements of a page, however long the log is. */
const mostElements = 5_000

/** What each view of a session, and each page, shows when it has read what it needs. */
const views: Readonly<Record<string, string>> = {
  talk: '.turn',
  timeline: '.tl-row',
  flow: '.state',
  policy: '.decisions',
  travel: '.travel-view li',
  context: '.sent li',
  scripts: '.state',
  memory: '.state',
  log: '.raw-row',
}
const pages: Readonly<Record<string, string>> = {
  policy: '.table-box td',
  cost: '.table-box td',
  system: '.facts-list',
}

test('each view of a session of 10,000 entries has few elements, in both themes and widths', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const agent = talkativeDesk(store, 2_500)
  const { sessionId } = await agent.run('go')
  const server = await openConsole(() => [agent], { store })
  const { origin, pathname, hash } = new URL(server.consoleUrl)
  const took: Record<string, number[]> = {}
  try {
    await inBrowser(async (browser) => {
      for (const look of looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))) {
        const tab = await openTab(browser, `${origin}${pathname}sessions${hash}`, look)
        await tab.page.locator('.row').click()
        await tab.page.locator('.turn').first().waitFor()
        const tabs = await tab.page
          .locator('.tabs a')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
        expect(tabs.map((path) => path?.split('/').at(-1))).toEqual(Object.keys(views))
        const shown = [
          ...Object.entries(views).map(([id, ready]) => [id, `sessions/${sessionId}/${id}`, ready] as const),
          ...Object.entries(pages).map(([id, ready]) => [`page-${id}`, id, ready] as const),
        ]
        for (const [name, path, ready] of shown) {
          const begun = performance.now()
          await tab.page.goto(`${origin}${pathname}${path}`)
          await tab.page.locator(ready).first().waitFor()
          ;(took[name] ??= []).push(Math.round(performance.now() - begun))
          await tab.picture(`many-${name}`)
          expect([name, (await tab.page.locator('#root *').count()) < mostElements]).toEqual([name, true])
          await tab.expectFine()
        }
        await tab.context.close()
      }
    })
    console.log('ms until a view is there, in each look:', JSON.stringify(took))
  } finally {
    await server.close()
  }
})
