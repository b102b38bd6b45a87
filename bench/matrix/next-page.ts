import { join } from 'node:path'

import type { Page } from 'playwright-core'

import { inBrowser } from './browser.ts'

const timeout = 60_000

/**
 * Uses the page of the template `next` as a user does: sends, stops, regenerates, edits, reloads in the middle of an
 * answer, approves and denies.
 *
 * @param url address of the application.
 * @param pictures folder for screenshots.
 */
export async function tryNextPage(url: string, pictures?: string): Promise<void> {
  await inBrowser(async (page) => {
    const take = async (name: string): Promise<void> => {
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, `next-${name}.png`) })
    }
    await page.goto(url)
    await page.waitForURL(/\/chat\/[\da-f-]{36}$/u)

    await say(page, 'Hello')
    await shows(page, '.assistant p', /^I am a scripted/u)
    await page.click('text=Stop')
    await idle(page)
    const [stopped = ''] = await page.locator('.assistant p').allTextContents()
    if (stopped.endsWith('set PROVOST_MODEL.')) throw new Error('The answer was not stopped.')

    // The answer is given anew, and a reload in its middle continues it.
    await page.click('text=Regenerate')
    await shows(page, '.assistant p', /^I am a scripted/u)
    await page.reload()
    await take('reloaded')
    await shows(page, '.assistant p', /set PROVOST_MODEL\.$/u)
    await idle(page)

    await page.locator('text=Edit').first().click()
    await say(page, 'Refund order 17, 80 euros')
    await shows(page, '.approval', /80 euros on order 17\?/u)
    await page.reload()
    await shows(page, '.approval', /80 euros on order 17\?/u)
    await take('asked')
    await page.click('text=Approve')
    await shows(page, '.assistant p', /^Done: refunded 80 euros on order 17/u)
    await idle(page)

    await say(page, 'Refund order 23, 90 euros')
    await page.click('text=Deny', { timeout })
    await shows(page, '.assistant p', /^Then I do not refund it/u)
    await idle(page)
    await take('after')
    await page.reload()
    await shows(page, '.assistant p', /^Then I do not refund it/u)
    const texts = await page.locator('article > p').allTextContents()
    const expected = [
      /^Refund order 17/u,
      /^I refund that\.$/u,
      /^refund: refunded 80/u,
      /^Done: refunded 80/u,
      /^Refund order 23/u,
      /^I refund that\.$/u,
      /^refund: denied$/u,
      /^Then I do not/u,
    ]
    if (texts.length !== expected.length || expected.some((pattern, n) => !pattern.test(texts[n] ?? '')))
      throw new Error(`The page shows ${JSON.stringify(texts)}.`)
  })
}

async function say(page: Page, text: string): Promise<void> {
  await page.fill('input', text)
  await page.press('input', 'Enter')
}

async function shows(page: Page, selector: string, pattern: RegExp): Promise<void> {
  await page.locator(selector, { hasText: pattern }).last().waitFor({ timeout })
}

async function idle(page: Page): Promise<void> {
  await page.locator('form button', { hasText: 'Send' }).waitFor({ timeout })
}
