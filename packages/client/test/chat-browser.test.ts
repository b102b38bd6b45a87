import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createAgent } from '@provost/agent'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'

const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
const browser = folders.map((folder) => join(folder, 'chromium')).find(existsSync)

async function bundled(): Promise<string> {
  const { build } = await import('vite')
  const entry = fileURLToPath(new URL('chat-page.ts', import.meta.url))
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    resolve: { conditions: ['@provost/source'] },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: false, target: 'esnext', rollupOptions: { input: entry, output: { format: 'es' } } },
  })
  const outputs = Array.isArray(result) ? result : [result]
  for (const output of outputs) if ('output' in output) return output.output[0].code
  throw new Error('nothing was bundled')
}

/** A bundler and a browser take seconds: full runs only. The other chat tests send what `useChat` sends. */
const full = process.env['PROVOST_TEST_FULL'] === '1'

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: ({ amount }) => amount > 50,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})

/** A tool that waits until the test opens the gate, or its run is stopped. */
function gate() {
  let opened = Promise.withResolvers<void>()
  const slow = tool({
    name: 'slow',
    effect: 'read',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise<string>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
        void opened.promise.then(() => resolve('slow result'))
      }),
  })
  return {
    slow,
    open(): void {
      opened.resolve()
      opened = Promise.withResolvers()
    },
  }
}

const waits = { text: ['one ', 'moment'], toolCalls: [{ name: 'slow', input: {} }] }

test.runIf(full && browser !== undefined)(
  'in a browser a person sends, stops, regenerates, edits, reloads in mid-answer, approves, denies and attaches (needs chromium)',
  async () => {
    const script = await bundled()
    const store = memoryStore()
    const { slow, open } = gate()
    const model = scriptedModel([
      { text: ['Hello', ' there'] },
      waits,
      { text: 'regenerated' },
      { text: 'edited' },
      waits,
      { text: 'done after the reload' },
      { text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
      { text: 'refunded' },
      { toolCalls: [{ name: 'refund', input: { amount: 90 } }] },
      { text: 'as you wish' },
      { text: 'a nice photo' },
    ])
    const agent = createAgent({ name: 'desk', model, tools: [slow, refund], store })
    const server = createServer({ agents: [agent], store })
    server.app.get('/', (c) => c.html('<div id="root"></div><script type="module" src="/page.js"></script>'))
    server.app.get('/page.js', (c) => c.body(script, 200, { 'content-type': 'text/javascript' }))
    const listening = await serve(server, { port: 0 })
    const { chromium } = await import('playwright-core')
    const running = await chromium.launch({
      executablePath: browser ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    })
    const folder = process.env['PROVOST_TEST_PICTURES']
    try {
      const page = await running.newPage()
      const say = async (text: string): Promise<void> => {
        await page.fill('#text', text)
        await page.click('#send')
      }
      const texts = (of: 'user' | 'assistant'): Promise<string[]> =>
        page
          .locator(`article.${of}`)
          .evaluateAll((all) =>
            all.map((one) => [...one.querySelectorAll('span')].map(({ textContent }) => textContent).join('|')),
          )
      const ready = (): Promise<unknown> =>
        page.waitForFunction("document.querySelector('#status')?.textContent === 'ready'")
      const picture = async (name: string): Promise<void> => {
        if (folder) await page.screenshot({ path: join(folder, `${name}.png`) })
      }
      await page.goto(listening.url)
      await say('hi')
      await ready()
      expect(await texts('assistant')).toEqual(['Hello there'])

      await say('wait for me')
      await page.waitForFunction("document.body.textContent.includes('slow input-available')")
      await picture('answering')
      await page.click('#stop')
      await ready()
      await picture('stopped')
      await page.click('#regenerate')
      await expect.poll(() => texts('assistant')).toEqual(['Hello there', 'regenerated'])
      await ready()

      await page.locator('article.user .edit').first().click()
      await say('good day')
      await expect.poll(() => texts('assistant')).toEqual(['edited'])
      await ready()
      expect(await texts('user')).toEqual(['good day'])

      await say('wait again')
      await page.waitForFunction("document.body.textContent.includes('slow input-available')")
      await page.reload()
      await page.waitForFunction("document.body.textContent.includes('slow input-available')")
      await picture('reloaded')
      expect(await texts('user')).toEqual(['good day', 'wait again'])
      open()
      await expect.poll(() => texts('assistant')).toEqual(['edited', 'one moment|done after the reload'])
      await ready()

      await say('refund 80')
      await page.waitForSelector('.approve')
      await page.reload()
      await page.waitForSelector('.approve')
      await picture('approval')
      await page.click('.approve')
      await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('I refund|refunded')
      await ready()
      await say('refund 90')
      await page.click('.deny')
      await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('as you wish')
      await ready()
      expect(await page.locator('output').last().textContent()).toContain('refund output-denied')

      await attach(page)
      await say('look')
      await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('a nice photo')
      await ready()
      await page.reload()
      await page.waitForFunction(
        "[...document.images].some((one) => one.src.includes('/file?hash=') && one.naturalWidth === 200)",
      )
      await picture('attached')
      expect(await page.locator('#error').count()).toBe(0)
    } finally {
      await running.close()
      await listening.close()
    }
  },
)

/** Chooses a picture that the page has drawn: large enough to be stored as a blob. */
async function attach(page: Page): Promise<void> {
  const base64: string = await page.evaluate(`(() => {
    const canvas = document.createElement('canvas')
    canvas.width = canvas.height = 200
    const context = canvas.getContext('2d')
    const image = context.createImageData(200, 200)
    let noise = 1
    for (let n = 0; n < image.data.length; n++) {
      noise = Math.imul(noise, 1664525) + 1013904223
      image.data[n] = n % 4 === 3 ? 255 : noise >>> 24
    }
    context.putImageData(image, 0, 0)
    return canvas.toDataURL('image/png').split(',')[1]
  })()`)
  await page.setInputFiles('#files', {
    name: 'photo.png',
    mimeType: 'image/png',
    buffer: Buffer.from(base64, 'base64'),
  })
}
