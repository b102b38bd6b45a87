import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { hostile, openConsole } from './scenario.ts'

/** A model that looks an order up, and then says under its name what it was told. */
function tells(name: string) {
  return scriptedModel(
    [
      ({ messages }) => {
        const told = messages.findLast(({ role }) => role === 'tool')
        return told
          ? { text: `${name} heard: ${JSON.stringify(told.content)}` }
          : { toolCalls: [{ name: 'find_order', input: { orderId: 1056 } }] }
      },
    ],
    { after: 'repeat-last' },
  )
}

const lookPair = looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))

test('in a browser, forks continue with another model and with another result, and lie side by side', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  let lookups = 0
  const findOrder = tool({
    name: 'find_order',
    effect: 'read',
    input: z.object({ orderId: z.number() }),
    execute: ({ orderId }) => {
      lookups++
      return `order ${orderId} is paid`
    },
  })
  const desk = createAgent({ name: 'desk', model: tells('first'), tools: [findOrder], store })
  const { sessionId } = await desk.run('Is order 1056 paid?')
  let settled = 0
  for await (const entry of store.read(sessionId)) {
    if (entry.type === 'call' && entry.op === 'settled') settled = entry.offset
  }
  const server = await openConsole(() => [desk], { store, requestOptions: { models: { other: tells('other') } } })
  const { origin, pathname } = new URL(server.consoleUrl)
  const travelAt = `${origin}${pathname}sessions/${sessionId}/travel?entry=${settled}`
  try {
    await inBrowser(async (browser) => {
      for (const look of lookPair) {
        const tab = await openTab(browser, server.consoleUrl, look)
        const { page: shown } = tab
        await shown.locator('.row').first().waitFor()

        // With another model the recorded result stays.
        await shown.goto(travelAt)
        await shown.getByLabel('The turn').selectOption('continue')
        await shown.getByLabel('Model').selectOption('other')
        const withModel = await forked(shown)
        await shown.getByRole('link', { name: 'Open the fork' }).click()
        await shown.locator('.tl-row', { hasText: 'run completed' }).waitFor()
        await shown.goto(`${origin}${pathname}sessions/${withModel}/talk`)
        await shown.getByText('other heard:').waitFor()
        expect(await shown.locator('.talk').innerText()).toContain('order 1056 is paid')

        // With another result the recorded model stays. The result is text of a person, and shown as such.
        await shown.goto(travelAt)
        await shown.getByLabel('The turn').selectOption('continue')
        await shown.getByLabel('Another result of').selectOption('the call that this entry settles')
        await shown.getByLabel('Its result').fill(`not paid ${hostile}`)
        await tab.picture('fork')
        await tab.expectFine()
        const withResult = await forked(shown)
        await shown.getByRole('link', { name: 'Compare both' }).click()
        await shown.locator('.compare-sum', { hasText: 'Then they differ.' }).waitFor()
        await shown
          .getByRole('region', { name: 'Its fork', exact: true })
          .getByText('not paid <img src=x')
          .first()
          .waitFor()

        // Two forks of one session, side by side.
        await shown.goto(`${origin}${pathname}sessions/${withModel}/travel?with=${withResult}`)
        const [left, right] = ['This session', 'The other'].map((name) =>
          shown.getByRole('region', { name, exact: true }),
        )
        await left?.locator('.compare-entries a').first().waitFor()
        await right?.locator('.compare-entries a').first().waitFor()
        expect(await left?.innerText()).toContain('order 1056 is paid')
        expect(await right?.innerText()).toContain('not paid <img src=x onerror=alert(1)> \\u202egnp.exe')
        await tab.picture('forks')
        await tab.expectFine()
        await tab.context.close()
      }
    })
    // No fork looked the order up again.
    expect(lookups).toBe(1)
  } finally {
    await server.close()
  }
})

/** Sends the form, and returns the session that the page then offers to open. */
async function forked(shown: Page): Promise<string> {
  await shown.getByRole('button', { name: 'Fork', exact: true }).click()
  const address = await shown.getByRole('link', { name: 'Open the fork' }).getAttribute('href')
  return decodeURIComponent(/sessions\/([^/]+)\//u.exec(address ?? '')?.[1] ?? '')
}
