import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

import type { Page } from 'playwright-core'
import { chromium } from 'playwright-core'

const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
const program = folders.map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))

/**
 * Uses a page in Chromium.
 *
 * @throws Error if Chromium is not installed, or the page has an error besides what `use` throws.
 */
export async function inBrowser(use: (page: Page) => Promise<void>): Promise<void> {
  if (program === undefined) throw new Error('The page was not tried: chromium is not installed.')
  const running = await chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  try {
    const page = await running.newPage({ viewport: { width: 800, height: 700 } })
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await use(page)
    if (faults.length > 0) throw new Error(`The page has errors: ${faults.join('; ')}`)
  } finally {
    await running.close()
  }
}
