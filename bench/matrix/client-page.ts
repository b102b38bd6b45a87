import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { inBrowser } from './browser.ts'

const timeout = 20_000

/**
 * Has the application bundle its page with Vite, and uses the page in Chromium: a chat of `useChat` whose call is
 * approved, and a session of `createClient` whose call is denied.
 */
export async function tryClientPage(app: string): Promise<void> {
  const child = spawn(process.execPath, ['client.mjs'], { cwd: app, stdio: ['ignore', 'pipe', 'pipe'] })
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const closed = once(child, 'close')
  try {
    const [address] = await Promise.race([once(child.stdout, 'data'), closed])
    if (child.exitCode !== null) throw new Error(`The server ended: ${err}`)
    await inBrowser(async (page) => {
      await page.goto(String(address).trim())
      await page.click('#chat')
      await page.click('#approve', { timeout })
      await page.locator('p', { hasText: /^Done, 80 euros\.$/u }).waitFor({ timeout })
      await page.click('#session')
      await page.locator('#plain', { hasText: /^completed: Not refunded\.$/u }).waitFor({ timeout })
    })
  } finally {
    child.kill('SIGTERM')
    await closed
  }
}
