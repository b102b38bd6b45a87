import * as page from '@provost/console'
import { expect, test } from 'vitest'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { deskOf, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)

test('the tour draws a stopped call, names the command for what is not there yet, and forks', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await openConsole((store) => [deskOf(store)])
  try {
    // The number of the order is from the mail alone.
    await server.run('Handle the mail 15-cap.eml.')
    await inBrowser(async (browser) => {
      for (const look of looks) {
        const tab = await openTab(browser, server.consoleUrl.replace('#', 'tour#'), look)
        const stopped = tab.page.locator('.tour li.seen', { hasText: 'The call is stopped.' })
        await stopped.locator('.arg.bad', { hasText: 'orderId' }).waitFor()
        await stopped.locator('mark.bad', { hasText: '1056' }).waitFor()
        await tab.page.getByText('npm start -- --code-mode').waitFor()
        await tab.picture('tour')
        await tab.expectFine()
        await tab.context.close()
      }
      const tab = await openTab(browser, server.consoleUrl.replace('#', 'tour#'), { theme: 'light', width: 'desk' })
      await tab.page.getByRole('button', { name: 'Fork the last session' }).click()
      await tab.page.getByRole('link', { name: /^fork of/u }).waitFor()
      expect(tab.problems).toEqual([])
    })
  } finally {
    await server.close()
  }
})
