import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'

const folders = (process.env['PATH'] ?? '').split(delimiter)
const executable = folders.map((folder) => join(folder, 'chromium')).find(existsSync)
const pictures = process.env['PROVOST_TEST_PICTURES']

/** Why a test in a browser cannot run; undefined if it can. Such tests belong to full runs. */
export function whyNoBrowser(assets: readonly string[]): string | undefined {
  if (process.env['PROVOST_TEST_FULL'] !== '1') return 'set PROVOST_TEST_FULL=1 for the tests in a browser'
  if (assets.length === 0) return 'the console is not built'
  return executable === undefined ? 'chromium is not installed' : undefined
}

/** How a reader looks at the page. */
export interface Look {
  readonly theme: 'light' | 'dark'
  readonly width: 'phone' | 'desk'
}

export const looks: readonly Look[] = [
  { theme: 'light', width: 'desk' },
  { theme: 'dark', width: 'desk' },
  { theme: 'light', width: 'phone' },
  { theme: 'dark', width: 'phone' },
]

/** A tab of the browser, with what a reader does not see. */
export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors, and requests to other hosts. */
  readonly problems: readonly string[]
  /** Takes a picture, if the run asks for pictures. */
  picture(name: string): Promise<void>
  /** Fails if axe finds something, if the page scrolls sideways, or if there was a problem. */
  expectFine(): Promise<void>
}

/** Starts Debian's Chromium for a test, and ends it. */
export async function inBrowser(run: (browser: Browser) => Promise<void>): Promise<void> {
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({
    executablePath: executable ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--force-prefers-reduced-motion'],
  })
  try {
    await run(browser)
  } finally {
    await browser.close()
  }
}

/** Opens an address in a tab of its own storage. */
export async function openTab(browser: Browser, url: string, { theme, width }: Look): Promise<Tab> {
  const viewport = width === 'phone' ? { width: 390, height: 844 } : { width: 1280, height: 800 }
  const context = await browser.newContext({ colorScheme: theme, viewport, hasTouch: width === 'phone' })
  // A busy machine is no failure; the limit of a test ends what hangs.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && origin !== new URL(url).origin) problems.push(request.url())
  })
  await page.goto(url)
  return {
    ...{ page, context, problems },
    async picture(name) {
      if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${theme}.png`) })
    },
    async expectFine() {
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
      expect(await page.evaluate(hiddenLinks)).toEqual([])
      expect(problems).toEqual([])
    },
  }
}

/** Links of the top and tabs that are not in view. */
const hiddenLinks = `[...document.querySelectorAll('.top nav a, .tabs a')]
  .filter((link) => {
    const { left, right } = link.getBoundingClientRect()
    const box = link.parentElement.getBoundingClientRect()
    return left < Math.max(0, box.left) || right > Math.min(innerWidth, box.right)
  })
  .map((link) => link.textContent)`

/** Returns what axe finds against WCAG 2.2 A and AA, one line each. */
async function findings(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, so that the policy of the page stays as it is.
  await page.evaluate(axe.source)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
  const found: axe.AxeResults = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)}, resultTypes: ['violations'] })`,
  )
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join(' | ')}`,
  )
}
