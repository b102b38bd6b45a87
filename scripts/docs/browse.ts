import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const folders = (process.env['PATH'] ?? '').split(delimiter)

/** Where Chromium is; undefined if it is not installed. */
export const browserPath = folders.map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))

/** How a reader looks at a page. */
export interface Look {
  readonly theme: 'light' | 'dark'
  readonly width: 390 | 1280
}

/** What readers type into the search, and a page that one of the first five results has to lead to. */
export interface Search {
  readonly words: string
  readonly page: string
}

/** What to look at, and how. */
export interface Browsing {
  /** The address of the site. */
  readonly url: string
  /** Paths of pages, such as `/guide/hooks.html`. */
  readonly pages: readonly string[]
  readonly looks: readonly Look[]
  readonly searches: readonly Search[]
  /** A folder for a picture of each page in each look. Default: none. */
  readonly pictures?: string | undefined
}

interface Seen {
  readonly title: string
  readonly headings: number
  readonly dark: boolean
  readonly wide: readonly string[]
  readonly brokenImages: readonly string[]
  readonly unnamedImages: readonly string[]
  readonly plainCode: readonly string[]
}

/** Reads a page as it is shown. It runs in the page. */
const look = `(async () => {
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})))
  const root = document.documentElement
  const scrolls = (element) => {
    for (let at = element; at && at !== root; at = at.parentElement)
      if (at !== element && getComputedStyle(at).overflowX !== 'visible') return true
    return false
  }
  const wide = root.scrollWidth > innerWidth
    ? [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one))
    : []
  return {
    title: document.title,
    headings: document.querySelectorAll('h1').length,
    dark: root.classList.contains('dark'),
    wide: root.scrollWidth > innerWidth ? ['', ...wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 80))] : [],
    brokenImages: [...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.getAttribute('src')),
    unnamedImages: [...document.images].filter((image) => !image.alt).map((image) => image.getAttribute('src')),
    plainCode: [...document.querySelectorAll('.vp-doc div[class*="language-"]')]
      .filter((block) => !/language-(text|txt|plain)?( |$)/.test(block.className) && !block.querySelector('pre span[style]'))
      .map((block) => block.className + ' ' + block.textContent.slice(0, 40)),
  }
})()`

/** The pages of the first five results of the search. It runs in the page. */
const firstResults = `[...document.querySelectorAll('#localsearch-list a.result')].slice(0, 5).map((link) => new URL(link.href).pathname)`

function faultsOf(seen: Seen, { theme, width }: Look): readonly string[] {
  return [
    ...(seen.title.trim() === '' ? ['it has no title'] : []),
    ...(seen.headings === 1 ? [] : [`it has ${seen.headings} headings of the first level`]),
    ...(seen.dark === (theme === 'dark') ? [] : [`it is not ${theme}`]),
    ...(seen.wide.length > 0 ? [`it scrolls sideways at ${width} pixels ${seen.wide.join(' ')}`] : []),
    ...seen.brokenImages.map((source) => `the picture ${source} does not load`),
    ...seen.unnamedImages.map((source) => `the picture ${source} has no text`),
    ...seen.plainCode.map((code) => `code without colours: ${code}`),
  ]
}

/** Collects errors and requests to other places, until it is read. */
function watch(page: Page, origin: string): () => readonly string[] {
  let problems: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const { origin: asked, protocol } = new URL(request.url())
    if (protocol !== 'data:' && asked !== origin) problems.push(`it asks another host: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`)
  })
  return () => {
    const found = problems
    problems = []
    return found
  }
}

async function newPage(browser: Browser, { theme, width }: Look): Promise<{ context: BrowserContext; page: Page }> {
  const viewport = { width, height: width === 390 ? 844 : 800 }
  const context = await browser.newContext({ colorScheme: theme, viewport, hasTouch: width === 390 })
  return { context, page: await context.newPage() }
}

async function pageFaults(browser: Browser, browsing: Browsing, at: Look): Promise<readonly string[]> {
  const { context, page } = await newPage(browser, at)
  const problems = watch(page, browsing.url)
  const faults: string[] = []
  for (const path of browsing.pages) {
    await page.goto(browsing.url + path, { waitUntil: 'load' })
    const seen: Seen = await page.evaluate(look)
    const name = `${path.slice(1).replaceAll('/', '_').replace('.html', '')}-${at.theme}-${at.width}.png`
    if (browsing.pictures) await page.screenshot({ path: join(browsing.pictures, name), fullPage: true })
    faults.push(...[...faultsOf(seen, at), ...problems()].map((fault) => `${path}, ${at.theme} ${at.width}: ${fault}`))
  }
  await context.close()
  return faults
}

async function searchFaults(browser: Browser, { url, searches }: Browsing): Promise<readonly string[]> {
  if (searches.length === 0) return []
  const { context, page } = await newPage(browser, { theme: 'light', width: 1280 })
  const problems = watch(page, url)
  const faults: string[] = []
  await page.goto(`${url}/`)
  // The keys have an effect once the script of the page has run.
  const field = page.locator('#localsearch-input')
  for (const until = Date.now() + 60_000; !(await field.isVisible()) && Date.now() < until;) {
    await page.keyboard.press('Control+k')
    await page.waitForTimeout(200)
  }
  for (const { words, page: wanted } of searches) {
    await field.fill(words)
    // The index is loaded by the first search, and the list follows the words after a moment.
    let pages: readonly string[] = []
    const until = Date.now() + 10_000
    while (!pages.includes(wanted) && Date.now() < until) {
      await page.waitForTimeout(200)
      pages = await page.evaluate(firstResults)
    }
    if (!pages.includes(wanted))
      faults.push(`search for “${words}”: ${wanted} is not in ${pages.join(' ') || 'nothing'}`)
  }
  faults.push(...problems())
  await context.close()
  return faults
}

/** Opens pages of a built site in Chromium, and returns what is wrong with them, a line each. */
export async function browse(browsing: Browsing): Promise<readonly string[]> {
  if (browserPath === undefined) throw new Error('Chromium is not installed. Install the package chromium.')
  if (browsing.pictures) mkdirSync(browsing.pictures, { recursive: true })
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: ['--no-sandbox', '--disable-gpu', '--force-prefers-reduced-motion'],
  })
  try {
    const faults = await searchFaults(browser, browsing)
    const rows: (readonly string[])[] = []
    for (const at of browsing.looks) rows.push(await pageFaults(browser, browsing, at))
    return [...faults, ...rows.flat()]
  } finally {
    await browser.close()
  }
}
