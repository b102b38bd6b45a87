import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import { deskOf } from '../served.ts'

const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
const browser = folders.map((folder) => join(folder, 'chromium')).find(existsSync)

async function bundled(): Promise<string> {
  const { build } = await import('vite')
  const entry = fileURLToPath(new URL('page.ts', import.meta.url))
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: false, rollupOptions: { input: entry, output: { format: 'iife' } } },
  })
  const outputs = Array.isArray(result) ? result : [result]
  for (const output of outputs) if ('output' in output) return output.output[0].code
  throw new Error('nothing was bundled')
}

/** A bundler and a browser take seconds: full runs only. The other chat tests send what `useChat` sends. */
const full = process.env['PROVOST_TEST_FULL'] === '1'

test.runIf(full && browser !== undefined)(
  'useChat in a browser receives text, tool parts and an approval (needs chromium)',
  async () => {
    const script = await bundled()
    const store = memoryStore()
    const steps = [{ text: ['I ', 'refund'], toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }]
    const server = createServer({ agents: [deskOf(steps, store)], store })
    server.app.get('/', (c) => c.html('<div id="root"></div><script src="/page.js"></script>'))
    server.app.get('/page.js', (c) => c.body(script, 200, { 'content-type': 'text/javascript' }))
    const listening = await serve(server, { port: 0 })
    const { chromium } = await import('playwright-core')
    const running = await chromium.launch({
      executablePath: browser ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    })
    try {
      const page = await running.newPage()
      await page.goto(listening.url)
      await page.click('#send')
      await page.waitForSelector('#approve')
      expect(await page.textContent('p.assistant')).toBe('I refund')
      expect(await page.textContent('output')).toContain('refund approval-requested')
      await page.click('#approve')
      await page.waitForFunction("document.querySelectorAll('p.assistant').length === 2")
      expect(await page.textContent('output')).toBe('refund output-available refunded 80')
      expect(await page.locator('p.assistant').last().textContent()).toBe('done')
    } finally {
      await running.close()
      await listening.close()
    }
  },
)
