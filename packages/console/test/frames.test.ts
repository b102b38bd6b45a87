import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { inBrowser, openTab, whyNoBrowser } from './browser.ts'
import { busyDesk } from './recorded.ts'
import { openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
const frames = 120

/** Milliseconds between frames while the code runs before each, the 95th percentile. */
async function p95(tab: Page, code: string): Promise<number> {
  const gaps: readonly number[] = await tab.evaluate(`new Promise((done) => {
    const box = document.querySelector('.tl-rows')
    const { left, top, width } = box.getBoundingClientRect()
    const wheel = (deltaY) => box.dispatchEvent(new WheelEvent('wheel', {
      deltaY, ctrlKey: true, clientX: left + width / 2, clientY: top + 9, bubbles: true, cancelable: true }))
    const key = (name) => box.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }))
    const gaps = []
    let last
    const frame = (now) => {
      if (last !== undefined) gaps.push(now - last)
      last = now
      if (gaps.length >= ${frames}) return done(gaps)
      const n = gaps.length
      ${code}
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })`)
  return gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.95)] ?? 0
}

test('a session of 10,000 entries has few rows in the page, however it is scrolled and zoomed', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const agent = busyDesk(store, 2_500)
  const { sessionId } = await agent.run('go')
  let entries = 0
  for await (const { offset } of store.read(sessionId)) entries = offset
  expect(entries).toBeGreaterThan(10_000)
  const server = await openConsole(() => [agent], { store })
  const { origin, pathname, hash } = new URL(server.consoleUrl)
  try {
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, `${origin}${pathname}sessions/${sessionId}/timeline${hash}`, {
        theme: 'light',
        width: 'desk',
      })
      await tab.page.locator('.tl-row').first().waitFor()
      const found: Record<string, number> = {}
      // What this browser needs for an element that scrolls as far and shows nothing.
      const empty = await tab.context.newPage()
      await empty.setContent(
        '<div class="tl-rows" style="height: 600px; overflow: auto"><div style="height: 210000px">',
      )
      found['empty, 120 px'] = Math.round(await p95(empty, 'box.scrollTop += 120'))
      found['empty, 700 px'] = Math.round(await p95(empty, 'box.scrollTop += 700'))
      await empty.close()
      for (const [name, code] of Object.entries({
        nothing: '',
        'scroll 120 px': 'box.scrollTop += 120',
        'scroll 700 px': 'box.scrollTop += 700',
        'wheel zoom': 'wheel(n % 60 < 30 ? -40 : 40)',
        keys: "key('ArrowDown')",
      }))
        found[name] = Math.round(await p95(tab.page, code))
      console.log(`ms between frames, p95 of ${frames}:`, JSON.stringify(found))
      expect(await tab.page.locator('.tl-row').count()).toBeLessThan(60)
      await tab.picture('timeline-many')
      await tab.expectFine()
      await tab.page.goto(`${origin}${pathname}sessions/${sessionId}/log`)
      await tab.page.locator('.split-row').first().waitFor()
      expect(await tab.page.locator('.split-row').count()).toBeLessThan(60)
      await tab.picture('log-many')
      await tab.page.goto(`${origin}${pathname}sessions/${sessionId}/talk`)
      await tab.page.locator('.turn', { hasText: 'Done.' }).waitFor()
      expect(await tab.page.locator('.turn').count()).toBeLessThan(60)
      await tab.picture('talk-many')
      expect(tab.problems).toEqual([])
    })
  } finally {
    await server.close()
  }
})
