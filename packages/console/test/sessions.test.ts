import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import type { Entry, SessionStore } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { expect, test } from 'vitest'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { deskOf, hostile, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
const many = 10_000

/** Copies the log of one session under many ids. */
async function copies(store: SessionStore, of: string, count: number): Promise<void> {
  const entries: Entry[] = []
  for await (const entry of store.read(of)) entries.push(entry)
  for (let n = 1; n < count; n++) {
    const log = `copy-${n}`
    const lease = await store.lease(log, 'test', 60_000)
    if (lease === 'busy') throw new Error('busy')
    await store.append(log, entries, { after: 0, fence: lease.fence })
    await store.release(log, lease.fence)
  }
}

test('a list of 10,000 sessions has few rows in the page, and is read to its end with the keys', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'Done.' }]), store })
  const { sessionId } = await agent.run('A question')
  await copies(store, sessionId, many)
  const server = await openConsole(() => [agent], { store })
  try {
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, server.consoleUrl, { theme: 'light', width: 'desk' })
      await tab.page.locator('.row').first().waitFor()
      await tab.page.keyboard.press('j')
      await tab.page.locator('.row:focus').waitFor()
      const box = tab.page.locator('.rows-box')
      // Each page of the list is read when its end comes near. The size is -1 until a page says that it is the last: with a
      // last page that is full, an empty one does.
      await expect
        .poll(
          async () => {
            await box.evaluate((element) => element.scrollTo({ top: element.scrollHeight }))
            const last = tab.page.locator('.rows > li').last()
            return [await last.getAttribute('aria-posinset'), await last.getAttribute('aria-setsize')]
          },
          { timeout: 240_000, interval: 5 },
        )
        .toEqual([String(many), String(many)])
      expect(await tab.page.locator('.row').count()).toBeLessThan(60)
      await tab.picture('sessions-many')
      await tab.expectFine()
    })
  } finally {
    await server.close()
  }
})

test('a new session appears by itself; a search and a status narrow the list; the states of a page without data', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await openConsole((store) => [deskOf(store)])
  try {
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, server.consoleUrl, { theme: 'dark', width: 'desk' })
      await tab.page.getByText('This server has no sessions yet.').waitFor()
      await tab.picture('sessions-empty')
      await tab.expectFine()
      await tab.page.getByRole('link', { name: 'Inbox' }).click()
      await tab.page.getByText('Nothing waits for a decision.').waitFor()
      await tab.picture('inbox-empty')
      await tab.expectFine()
      await tab.page.getByRole('link', { name: 'Sessions' }).click()
      await server.run(`Handle the mail 15-cap.eml: refund order 1056 as it asks. ${hostile}`)
      await tab.page.locator('.row', { hasText: '1 waiting' }).waitFor()
      await tab.page.keyboard.press('/')
      await tab.page.keyboard.type('nothing of that')
      await tab.page.getByText('No session matches this search.').waitFor()
      await tab.page.getByLabel('Search titles and ids').fill('order 1056')
      await tab.page.locator('.row').waitFor()
      await tab.page.getByLabel('Status').selectOption('waits')
      await tab.page.locator('.row').waitFor()
      await tab.page.getByLabel('Status').selectOption('failed')
      await tab.page.getByText('No session matches this search.').waitFor()
      expect(await tab.page.locator('.row').count()).toBe(0)
      expect(tab.problems).toEqual([])
    })
  } finally {
    await server.close()
  }
})

test('a page without rights, without a server, or without a session says so', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await openConsole((store) => [deskOf(store)])
  let isClosed = false
  try {
    await inBrowser(async (browser) => {
      for (const look of looks.slice(2)) {
        const refused = await openTab(browser, `${server.url}/console/`, look)
        await refused.page.getByRole('heading', { name: 'Which token?' }).waitFor()
        await refused.picture('token')
        // Chromium itself reports the answer 401.
        expect(refused.problems.every((problem) => problem.includes('401'))).toBe(true)
        await refused.context.close()
      }
      const tab = await openTab(browser, server.consoleUrl, { theme: 'light', width: 'desk' })
      await tab.page.getByText('This server has no sessions yet.').waitFor()
      await tab.page.locator('.live', { hasText: 'live' }).waitFor()
      await tab.page.goto(`${server.url}/console/sessions/none`)
      await tab.page.getByText('The server has no session of this id that you may read.').waitFor()
      await tab.expectFine()
      await server.close()
      isClosed = true
      await tab.page.locator('.live', { hasText: 'offline' }).waitFor()
      // What was read stays readable; what is not read yet says why.
      expect(await tab.page.getByText('The server has no session of this id').isVisible()).toBe(true)
      await tab.page.getByRole('link', { name: 'Sessions' }).click()
      await tab.page.getByLabel('Search titles and ids').fill('refund')
      await tab.page.getByText('The server cannot be reached.').waitFor()
      await tab.picture('offline')
    })
  } finally {
    if (!isClosed) await server.close()
  }
})
