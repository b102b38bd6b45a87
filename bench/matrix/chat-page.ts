import { join } from 'node:path'

import type { Page } from 'playwright-core'

import { inBrowser } from './browser.ts'

/**
 * Uses the chat page of the template `server` as a user does: sends, stops, reloads, approves, denies.
 *
 * @param url address of the page.
 * @param pictures folder for screenshots.
 */
export async function tryChatPage(url: string, pictures?: string): Promise<void> {
  await inBrowser(async (page) => {
    const take = async (name: string): Promise<void> => {
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`) })
    }
    await page.goto(url)

    await say(page, 'Hello')
    await shows(page, '.assistant', /^I am a scripted/u)
    await page.click('#stop')
    await shows(page, '.assistant', /\(stopped\)$/u)
    await idle(page)

    await say(page, 'Refund order 17, 80 euros')
    await shows(page, '.approval', /"amount":80/u)
    await take('asked')
    await page.reload()
    await shows(page, '.approval', /"amount":80/u)
    await shows(page, '.user', /^Refund order 17/u)
    await page.click('text=Approve')
    await shows(page, '.assistant', /^Done: refunded 80 euros on order 17/u)
    await idle(page)

    await say(page, 'Refund order 23, 90 euros')
    await page.click('text=Deny')
    await shows(page, '.assistant', /^Then I do not refund it/u)
    await idle(page)

    // A reload in the middle of an answer: the page goes on with it.
    await say(page, 'Hello again')
    await page.locator('.assistant').nth(5).waitFor({ timeout: 20_000 })
    await page.reload()
    await shows(page, '.assistant', /set PROVOST_MODEL\.$/u)
    await idle(page)
    await take('after')
    await page.reload()
    await shows(page, '.assistant', /set PROVOST_MODEL\.$/u)
    const texts = await page.locator('#messages > *').allTextContents()
    const expected = [
      /^Hello$/u,
      /^I am a scripted.*\(stopped\)$/u,
      /^Refund order 17/u,
      /^I refund that\.$/u,
      /^refund: refunded 80/u,
      /^Done: refunded 80/u,
      /^Refund order 23/u,
      /^I refund that\.$/u,
      /^refund: /u,
      /^Then I do not/u,
      /^Hello again$/u,
      /PROVOST_MODEL\.$/u,
    ]
    if (texts.length !== expected.length || expected.some((pattern, n) => !pattern.test(texts[n] ?? '')))
      throw new Error(`The page shows ${JSON.stringify(texts)}.`)
  })
}

async function say(page: Page, text: string): Promise<void> {
  await page.fill('#input', text)
  await page.press('#input', 'Enter')
}

async function shows(page: Page, selector: string, pattern: RegExp): Promise<void> {
  await page.locator(selector, { hasText: pattern }).last().waitFor({ timeout: 20_000 })
}

async function idle(page: Page): Promise<void> {
  await page.locator('#send').waitFor({ timeout: 20_000 })
}
