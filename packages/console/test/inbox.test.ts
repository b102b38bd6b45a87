import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { deskOf, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)

test('an approval is read with its evidence in all looks, and decided with the keys alone', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await openConsole((store) => [deskOf(store)])
  try {
    await server.run('Handle the mail 15-cap.eml: refund order 1056 as it asks.')
    await inBrowser(async (browser) => {
      for (const look of looks) {
        const tab = await openTab(browser, server.consoleUrl, look)
        // The page opens the inbox, because something waits.
        const sink = tab.page.locator('.arg.bad', { hasText: 'payTo' })
        await sink.waitFor()
        await tab.page.locator('mark.bad', { hasText: 'XX42' }).waitFor()
        expect(await tab.page.locator('.through ol').innerText()).toMatch(/triage\s+retention/u)
        expect(await tab.page.locator('.source').first().innerText()).toContain('<img src=x onerror=alert(1)>')
        expect(await tab.page.locator('.inbox img, .inbox script').count()).toBe(0)
        await tab.picture('inbox')
        await tab.expectFine()
        if (look === looks.at(-1)) {
          await tab.page.keyboard.press('r')
          await tab.page.keyboard.type('Not the account of the order.')
          await tab.page.keyboard.press('Tab')
          await tab.page.keyboard.press('d')
          await tab.page.getByRole('status').getByText('Denied refund').waitFor()
          await tab.picture('inbox-undo')
          await tab.page.locator('.ended', { hasText: 'Denied refund by you' }).waitFor()
          await tab.page.keyboard.press('g')
          await tab.page.keyboard.press('s')
          await tab.page.locator('.row .status.idle').waitFor()
        }
        await tab.context.close()
      }
    })
  } finally {
    await server.close()
  }
})

test('edited arguments are judged again, wait again, and run once they are approved', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const server = await openConsole((store) => [deskOf(store)])
  try {
    await server.run('Handle the mail 15-cap.eml: refund order 1056 as it asks.')
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, server.consoleUrl, { theme: 'light', width: 'desk' })
      await tab.page.locator('.arg.bad', { hasText: 'payTo' }).waitFor()
      await tab.page.keyboard.press('e')
      const form = tab.page.getByLabel('Arguments as JSON')
      await form.fill('{ not json')
      await tab.page.getByRole('button', { name: 'Approve with these arguments' }).click()
      await tab.page.getByRole('alert').getByText('This is not JSON').waitFor()
      await form.fill(JSON.stringify({ orderId: 1056, amount: 33.3, payTo: 'the card of the order' }))
      await tab.picture('inbox-edit')
      await tab.expectFine()
      await tab.page.getByRole('button', { name: 'Approve with these arguments' }).click()
      // The server asks about the new arguments.
      await tab.page.locator('.arg .value', { hasText: 'the card of the order' }).waitFor()
      await tab.page.getByRole('button', { name: 'Approve this call' }).click()
      await tab.page.locator('.ended', { hasText: 'Approved refund by you' }).waitFor()
      await tab.page.getByRole('link', { name: 'Sessions' }).click()
      await tab.page.locator('.row .status.idle').waitFor()
      expect(tab.problems).toEqual([])
    })
  } finally {
    await server.close()
  }
})

test('arguments with characters that cannot be seen are edited as escapes, and are the same if nothing is edited', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const to = 'DE12\u202e34\u{e0041}'
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    effect: 'egress',
    needsApproval: true,
    input: z.object({ to: z.string() }),
    execute: (args) => void paid.push(args.to),
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { to } }] }, { text: 'Paid.' }])
  const server = await openConsole((store) => [createAgent({ name: 'desk', model, tools: [pay], store })])
  try {
    await server.run('Pay it.')
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, server.consoleUrl, { theme: 'dark', width: 'phone' })
      await tab.page.getByRole('button', { name: 'Edit' }).click()
      const form = tab.page.getByLabel('Arguments as JSON')
      expect(await form.inputValue()).toBe('{\n  "to": "DE12\\u202e34\\udb40\\udc41"\n}')
      await tab.picture('inbox-edit-hidden')
      await tab.expectFine()
      await tab.page.getByRole('button', { name: 'Approve with these arguments' }).click()
      await expect.poll(() => paid, { timeout: 30_000 }).toEqual([to])
    })
  } finally {
    await server.close()
  }
})
