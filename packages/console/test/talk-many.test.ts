import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { conversationOf } from '../src/conversation/conversation.ts'
import { wordsOf } from '../src/conversation/selected-words.ts'
import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { talkativeDesk } from './recorded.ts'
import { openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
const mostDrawn = 60

/** Returns the number of the first message in view, and how far its top is from that of the view. */
const firstInView = `(() => {
  const { top } = document.querySelector('.talk').getBoundingClientRect()
  const turn = [...document.querySelectorAll('.turn')].find((one) => one.getBoundingClientRect().bottom > top)
  return { at: Number(turn.ariaPosInSet), from: turn.getBoundingClientRect().top - top }
})()`

async function drawn(tab: Page): Promise<number> {
  return tab.locator('.turn').count()
}

/** Scrolls by some pixels in each frame. Returns how far the messages moved otherwise, and the times between frames. */
async function scrolled(tab: Page, by: number, frames: number): Promise<{ jump: number; p95: number }> {
  return tab.evaluate(`new Promise((done) => {
    const box = document.querySelector('.talk')
    const gaps = []
    let [last, jump, seen] = [undefined, 0, undefined]
    const look = () => {
      // A message that was in view has moved as far as the reader scrolled.
      if (seen?.element.isConnected) jump = Math.max(jump, Math.abs(seen.element.getBoundingClientRect().top - seen.expected))
      if (gaps.length >= ${frames}) {
        const p95 = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.95)]
        return done({ jump, p95 })
      }
      const { top, height } = box.getBoundingClientRect()
      const element = [...document.querySelectorAll('.turn')].find((one) => one.getBoundingClientRect().top > top + height / 2)
      const before = box.scrollTop
      const at = element?.getBoundingClientRect().top
      box.scrollTop += ${by}
      seen = element && { element, expected: at - (box.scrollTop - before) }
      requestAnimationFrame(frame)
    }
    const frame = (now) => {
      if (last !== undefined) gaps.push(now - last)
      last = now
      // After the frame is drawn.
      setTimeout(look)
    }
    requestAnimationFrame(frame)
  })`)
}

test('a conversation of 10,000 entries has few messages in the page, and keeps the place of the reader', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const agent = talkativeDesk(store, 2_500)
  const { sessionId, messages } = await agent.run('go')
  const turns = conversationOf(messages).turns.length
  expect(turns).toBe(2_502)
  const server = await openConsole(() => [agent], { store })
  const { origin, pathname, hash } = new URL(server.consoleUrl)
  try {
    await inBrowser(async (browser) => {
      for (const look of looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))) {
        const begun = performance.now()
        const tab = await openTab(browser, `${origin}${pathname}sessions/${sessionId}/talk${hash}`, look)
        const { page: shown } = tab
        // It opens at its end.
        await shown.locator('.turn', { hasText: 'Done with step 2501.' }).waitFor()
        const openMs = performance.now() - begun
        await expect
          .poll(() =>
            shown.evaluate(
              '(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector(".talk"))',
            ),
          )
          .toBeLessThan(2)
        expect(await drawn(shown)).toBeLessThan(mostDrawn)
        await tab.picture('talk-many-end')
        const found: Record<string, number> = { open: Math.round(openMs) }
        for (const [name, by] of Object.entries({ 'up 120 px': -120, 'up 700 px': -700, 'down 120 px': 120 })) {
          const { jump, p95 } = await scrolled(shown, by, 120)
          found[name] = Math.round(p95)
          expect([name, jump < 2, jump]).toEqual([name, true, jump])
          expect(await drawn(shown)).toBeLessThan(mostDrawn)
        }
        console.log('ms to the end, and between frames of a scroll, p95 of 120:', JSON.stringify(found))
        await tab.picture('talk-many-middle')
        const before = performance.now()
        await tab.expectFine()
        console.log(`axe: ${Math.round(performance.now() - before)} ms`)

        await shown.keyboard.press('Home')
        await expect.poll(() => shown.evaluate('document.activeElement.ariaPosInSet')).toBe('1')
        await shown.keyboard.press('j')
        await shown.keyboard.press('j')
        await expect.poll(() => shown.evaluate('document.activeElement.ariaPosInSet')).toBe('3')
        expect(await shown.evaluate('document.activeElement.ariaSetSize')).toBe(String(turns))
        await tab.picture('talk-many-start')
        await shown.keyboard.press('End')
        await shown.locator('.turn', { hasText: 'Done with step 2501.' }).waitFor()
        expect(await drawn(shown)).toBeLessThan(mostDrawn)
        expect(tab.problems).toEqual([])
        await tab.context.close()
      }
    })
  } finally {
    await server.close()
  }
})

test('a reader of a long conversation stays where they are while it streams, or at its end; also after a reload', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const agent = talkativeDesk(store, 400, released)
  const server = await openConsole(() => [agent], { store })
  try {
    const running = server.run('go')
    await inBrowser(async (browser) => {
      const tab = await openTab(browser, server.consoleUrl, { theme: 'light', width: 'desk' })
      const { page: shown } = tab
      await shown.locator('.row').click()
      await shown.locator('.turn .state-word.running').waitFor()
      await shown.reload()
      await shown.locator('.turn .state-word.running').waitFor()
      expect(await drawn(shown)).toBeLessThan(mostDrawn)
      const toEnd = shown.getByRole('button', { name: 'To the end' })
      expect(await toEnd.count()).toBe(0)
      await shown.locator('.talk').hover()
      await shown.mouse.wheel(0, -3_000)
      await toEnd.waitFor()
      const place = await shown.evaluate(firstInView)
      release()
      await shown.getByRole('button', { name: 'New messages' }).waitFor()
      await tab.picture('talk-many-new')
      expect(await shown.evaluate(firstInView)).toEqual(place)
      await shown.getByRole('button', { name: 'New messages' }).click()
      await shown.locator('.turn[aria-busy="true"]', { hasText: 'Done with step 401.' }).waitFor()
      // Reloaded in mid-stream, it goes on, and its end stays in view while the message grows.
      await shown.reload()
      await shown.locator('.turn', { hasText: 'Done with step 401.' }).waitFor()
      const hiddenBelow = await shown.evaluate(`new Promise((done) => {
        const box = document.querySelector('.talk')
        let most = 0
        const look = () => {
          most = Math.max(most, box.scrollHeight - box.scrollTop - box.clientHeight)
          if (document.querySelector('.facts .status.idle')) done(most)
          else requestAnimationFrame(() => setTimeout(look))
        }
        requestAnimationFrame(() => setTimeout(look))
      })`)
      expect(hiddenBelow).toBeLessThan(3)
      await running
      await expect.poll(() => shown.locator('.turn[aria-busy="true"]').count()).toBe(0)
      await shown.getByRole('status').filter({ hasText: 'talker: Done with step 401.' }).waitFor({ state: 'attached' })
      expect(await toEnd.count()).toBe(0)
      await tab.expectFine()
    })
  } finally {
    release()
    await server.close()
  }
})

test('a message and a call lead to their steps in the timeline and back, and selected words to their provenance', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  const agent = talkativeDesk(store, 300)
  const { sessionId } = await agent.run('go')
  const server = await openConsole(() => [agent], { store })
  const { origin, pathname, hash } = new URL(server.consoleUrl)
  try {
    await inBrowser(async (browser) => {
      for (const look of looks.filter(({ theme, width }) => (theme === 'dark') === (width === 'desk'))) {
        const tab = await openTab(browser, `${origin}${pathname}sessions/${sessionId}/talk${hash}`, look)
        const { page: shown } = tab
        await shown.locator('.turn', { hasText: 'Done with step 301.' }).waitFor()
        await shown.locator('.turn[aria-posinset="298"]').getByRole('link', { name: 'Timeline' }).click()
        await shown.locator('.tl-row[aria-selected="true"]', { hasText: 'step 297' }).waitFor()
        await shown.locator('.pane').getByText('Line 0 of step 297').waitFor()
        await tab.picture('talk-to-timeline')
        await tab.expectFine()
        await shown.locator('.pane').getByRole('link', { name: 'In the conversation' }).first().click()
        const named = shown.locator('.turn[aria-current="true"]')
        await named.getByText('Line 0 of step 297').waitFor()
        await shown.goBack()
        await shown.locator('.tl-row').first().waitFor()

        await shown.goto(`${origin}${pathname}sessions/${sessionId}/timeline?entry=706`)
        await shown.locator('.tl-row[aria-selected="true"]').waitFor()
        const link = shown.locator('.pane').getByRole('link', { name: 'In the conversation' }).first()
        await link.click()
        await named.waitFor()
        const fromTop = `document.querySelector('.turn[aria-current="true"]').getBoundingClientRect().top
          - document.querySelector('.talk').getBoundingClientRect().top`
        await expect.poll(() => shown.evaluate(fromTop)).toBeLessThan(40)
        expect(await shown.evaluate(fromTop)).toBeGreaterThanOrEqual(0)
        expect(await shown.evaluate('document.activeElement.ariaCurrent')).toBe('true')
        expect(await shown.getByRole('button', { name: 'To the end' }).count()).toBe(1)
        await tab.picture('talk-linked')
        await tab.expectFine()

        if ((await named.locator('.call[open]').count()) === 0) await named.locator('.call summary').click()
        await named.getByRole('link', { name: 'Call in the timeline' }).click()
        await shown.locator('.tl-row.of-call[aria-selected="true"]').waitFor()
        await shown.goBack()
        await named.waitFor()

        await named.locator('[data-words]').waitFor()
        await shown.evaluate(`{
          const element = document.querySelector('.turn[aria-current="true"] [data-words]')
          const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode()
          document.getSelection().setBaseAndExtent(node, 0, node, 4)
        }`)
        await shown.getByRole('button', { name: 'Trace selection' }).waitFor()
        await tab.picture('talk-selected')
        await shown.keyboard.press('p')
        await shown.getByRole('region', { name: 'Selected words' }).getByText('Line', { exact: true }).waitFor()
        await tab.expectFine()
        await shown.goto(`${origin}${pathname}sessions/${sessionId}/talk?message=none`)
        await shown.getByText('The message of this link is not in the conversation.').waitFor()
        expect(tab.problems).toEqual([])
        await tab.context.close()
      }
    })
  } finally {
    await server.close()
  }
})

test('selected words are found in the text of their message, with its marks', () => {
  const text = 'Pay **33.30** to XX42. The account XX42 is new.'
  const turns = [
    { id: 'm', role: 'assistant', at: 0, pieces: [{ type: 'text', id: 'm/1', text }] } as const,
    { id: 'n', role: 'assistant', at: 0, pieces: [{ type: 'text', id: 'n/0', text }], isOpen: true } as const,
  ]
  const place = { message: 'm', pointer: '/message/content/1/text' }
  expect(wordsOf(turns, { piece: 'm/1', before: 'Pay 33.30 to ', text: 'XX42' })).toEqual({
    ...place,
    from: 17,
    to: 21,
  })
  const second = { piece: 'm/1', before: 'Pay 33.30 to XX42. The account ', text: 'XX42' }
  expect(wordsOf(turns, second)).toEqual({ ...place, from: 35, to: 39 })
  // Across a mark they stand for the whole text.
  expect(wordsOf(turns, { piece: 'm/1', before: '', text: 'Pay 33.30' })).toEqual({
    ...place,
    from: 0,
    to: text.length,
  })
  // What is being written is not in the log.
  expect(wordsOf(turns, { piece: 'n/0', before: '', text: 'Pay' })).toBeUndefined()
})
