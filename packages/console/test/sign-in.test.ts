import * as page from '@provost/console'
import type { OperatorRole } from '@provost/server'
import type { Browser, Page } from 'playwright-core'
import { expect, test } from 'vitest'

import type { Tab } from './browser.ts'
import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import type { Opened } from './scenario.ts'
import { deskOf, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
const lookPair = looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))
const roles: Readonly<Record<string, OperatorRole>> = { vera: 'view', olga: 'operate' }

/** A server as a deployment has it: a token in a header or in a cookie names the principal, and an operator has a role. */
async function deployed(): Promise<Opened & { readonly tokens: Map<string, string> }> {
  const tokens = new Map(['olga', 'vera', 'ann'].map((id) => [`token-of-${id}`, id]))
  const opened = await openConsole((store) => [deskOf(store)], {
    authenticate({ headers }) {
      const bearer = headers.get('authorization')?.replace('Bearer ', '')
      const id = tokens.get(bearer ?? /desk=([\w-]+)/u.exec(headers.get('cookie') ?? '')?.[1] ?? '')
      return id === undefined ? undefined : { id }
    },
    console: { page },
    operator: ({ id }) => roles[id],
    approvals: { by: 'operator' },
  })
  // The first one waits for an approval, the second one ends.
  for (const input of ['Handle it: order 1056 may be refunded.', 'Handle the mail 15-cap.eml.']) {
    await fetch(`${opened.url}/api/agent/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer token-of-ann' },
      body: JSON.stringify({ input }),
    }).then(async (response) => response.text())
  }
  return { ...opened, tokens }
}

async function enter(shown: Page, token: string): Promise<void> {
  await shown.getByLabel('Token').fill(token)
  await shown.getByRole('button', { name: 'Continue' }).click()
}

async function roleOf(shown: Page): Promise<string> {
  await shown.getByRole('button', { name: 'Who you are' }).click()
  const dialog = shown.getByRole('dialog', { name: 'Who you are' })
  const text = await dialog.innerText()
  await shown.keyboard.press('Escape')
  return text
}

/** Chromium reports refused requests itself. */
function expectOnlyRefusals({ problems }: Tab): void {
  expect(problems.filter((problem) => !/status of 40[13]/u.test(problem))).toEqual([])
}

test('an operator signs in with a token, which a tab keeps until it expires or the operator signs out', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await deployed()
  const row = (shown: Page) => shown.locator('.row', { hasText: 'order 1056' })

  async function signIn(browser: Browser, look: (typeof looks)[number]): Promise<void> {
    const tab = await openTab(browser, `${server.url}/console/sessions`, look)
    const { page: shown } = tab
    await shown.getByText('The server does not know who you are.').waitFor()
    await enter(shown, 'wrong')
    await shown.getByText('it is wrong, or has expired').waitFor()
    await tab.picture('token-wrong')
    await enter(shown, 'token-of-olga')
    await row(shown).waitFor()
    await shown.locator('.live', { hasText: 'live' }).waitFor()
    await shown.getByRole('button', { name: 'Who you are' }).click()
    await shown.getByText('The server knows you as olga, with the role operate.').waitFor()
    await tab.picture('account')
    const cut = await shown
      .locator('dialog[open]')
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
    expect(cut).toBe(0)
    await shown.keyboard.press('Escape')
    await shown.reload()
    await row(shown).waitFor()
    // A token belongs to its tab.
    const second = await tab.context.newPage()
    await second.goto(`${server.url}/console/sessions`)
    await second.getByRole('heading', { name: 'Which token?' }).waitFor()
    await second.close()

    server.tokens.delete('token-of-olga')
    await shown.getByRole('link', { name: 'Cost' }).click()
    await shown.getByText('it is wrong, or has expired').waitFor()
    expect(await shown.locator('.table-box').count()).toBe(0)
    server.tokens.set('token-of-olga', 'olga')
    await enter(shown, 'token-of-olga')
    // Where the page was.
    await shown.getByRole('heading', { name: 'Cost' }).waitFor()

    await shown.getByRole('button', { name: 'Who you are' }).click()
    await shown.getByRole('button', { name: 'Sign out' }).click()
    await shown.getByText('The server does not know who you are.').waitFor()
    expect(await shown.evaluate('sessionStorage.length')).toBe(0)
    await shown.reload()
    await shown.getByRole('heading', { name: 'Which token?' }).waitFor()

    await enter(shown, 'token-of-ann')
    await shown.getByText('You have no right to use this console.').waitFor()
    await tab.picture('no-role')
    expect(await shown.locator('.row').count()).toBe(0)
    await shown.getByRole('button', { name: 'Sign out' }).click()
    await enter(shown, 'token-of-vera')
    await shown.getByRole('link', { name: 'Sessions' }).click()
    await row(shown).waitFor()
    expect(await roleOf(shown)).toContain('vera, with the role view. Secret values are withheld')
    expect(await shown.getByRole('button', { name: 'Import…' }).count()).toBe(0)
    await shown.getByRole('link', { name: 'System' }).click()
    await shown.getByText('The system is for the role operate.').waitFor()
    await shown.getByRole('link', { name: 'Inbox' }).click()
    await shown.getByText('Principals with the role decide answer this.').waitFor()
    expect(await shown.getByRole('button', { name: /^Approve/u }).count()).toBe(0)
    await tab.picture('inbox-view')
    expectOnlyRefusals(tab)
    await tab.context.close()
  }

  try {
    await inBrowser(async (browser) => {
      for (const look of lookPair) await signIn(browser, look)
    })
  } finally {
    await server.close()
  }
})

test('the cookie of an application signs in each tab, also for what is written, until it is gone', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await deployed()
  try {
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, `${server.url}/console/sessions`, { theme: 'light', width: 'desk' })
      const { page: shown } = tab
      await shown.getByRole('heading', { name: 'Which token?' }).waitFor()
      await tab.context.addCookies([{ name: 'desk', value: 'token-of-olga', url: server.url }])
      await shown.reload()
      await shown.locator('.row', { hasText: 'Handle the mail' }).click()
      expect(await roleOf(shown)).toContain('By the cookies of this browser: sign out where you signed in.')
      const second = await tab.context.newPage()
      await second.goto(`${server.url}/console/tour`)
      await second.getByRole('button', { name: 'Fork the last session' }).click()
      await second.locator('.turn').first().waitFor()
      expect(new URL(second.url()).pathname).toMatch(/^\/console\/sessions\/[^/]+\/talk$/u)
      await tab.context.clearCookies()
      await second.getByRole('link', { name: 'Cost' }).click()
      await second.getByText('The server does not know who you are.').waitFor()
      expectOnlyRefusals(tab)
    })
  } finally {
    await server.close()
  }
})
