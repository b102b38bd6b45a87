import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

import { chromium } from 'playwright-core'
import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const folder = join(import.meta.dirname, '../assistant-ui')
const runner = join(import.meta.dirname, '../../scripts/run.mjs')
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
const browser = folders.map((one) => join(one, 'chromium')).find((file) => existsSync(file))

const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})

// The page and its bundler are installed by this test, into a folder of their own.
test.runIf(process.env['PROVOST_TEST_FULL'] === '1' && browser !== undefined)(
  'a page of assistant-ui sends, stops, regenerates, reloads in mid-answer, approves, denies and edits (needs chromium)',
  async () => {
    await run(process.execPath, [runner, '--', 'pnpm', 'install', '--dir', folder, '--frozen-lockfile'])
    await run(process.execPath, [join(folder, 'bundle.mjs')])
    const script = readFileSync(join(folder, 'generated/page.js'), 'utf8')

    const store = memoryStore()
    const open = Promise.withResolvers<string>()
    const slow = tool({
      name: 'slow',
      effect: 'read',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<string>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')))
          void open.promise.then(resolve)
        }),
    })
    const model = scriptedModel([
      { text: ['Hello', ' there'] },
      { text: 'One moment', toolCalls: [{ name: 'slow', input: {} }] },
      { text: 'regenerated' },
      { text: 'One moment', toolCalls: [{ name: 'slow', input: {} }] },
      { text: 'done after the reload' },
      { text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
      { text: 'done' },
      { toolCalls: [{ name: 'refund', input: { amount: 90 } }] },
      { text: 'as you wish' },
      { text: 'edited' },
    ])
    const agent = createAgent({ name: 'desk', model, tools: [slow, refund], store })
    const server = createServer({ agents: [agent], store })
    server.app.get('/', (c) => c.html('<div id="root"></div><script type="module" src="/page.js"></script>'))
    server.app.get('/page.js', (c) => c.body(script, 200, { 'content-type': 'text/javascript' }))
    const listening = await serve(server, { port: 0 })
    onTestFinished(() => listening.close({ graceMs: 0 }))
    const running = await chromium.launch({
      executablePath: browser ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    })
    onTestFinished(() => running.close())

    const page = await running.newPage()
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(error.message))
    const texts = (of: 'user' | 'assistant'): Promise<string[]> =>
      page
        .locator(`.${of}`)
        .evaluateAll((all) =>
          all.map((one) => [...one.querySelectorAll('span')].map(({ textContent }) => textContent).join('|')),
        )
    const say = async (text: string): Promise<void> => {
      await page.fill('.text', text)
      await page.click('.send')
    }
    const picture = async (name: string): Promise<void> => {
      const pictures = process.env['PROVOST_TEST_PICTURES']
      if (pictures) await page.screenshot({ path: join(pictures, `assistant-ui-${name}.png`) })
    }

    await page.goto(listening.url)
    await say('hi')
    await expect.poll(() => texts('assistant')).toEqual(['Hello there'])

    await page.waitForSelector('.send')
    await say('wait for me')
    await page.waitForFunction("document.body.textContent.includes('slow open')")
    await picture('answering')
    await page.click('.stop')
    await page.waitForSelector('.send')
    await page.locator('.regenerate').last().click()
    await expect.poll(() => texts('assistant')).toEqual(['Hello there', 'regenerated'])

    await page.waitForSelector('.send')
    await say('wait again')
    await page.waitForFunction("document.body.textContent.includes('slow open')")
    await page.reload()
    await page.waitForFunction("document.body.textContent.includes('slow open')")
    expect(await texts('user')).toEqual(['hi', 'wait for me', 'wait again'])
    open.resolve('slow result')
    await expect
      .poll(() => texts('assistant'))
      .toEqual(['Hello there', 'regenerated', 'One moment|done after the reload'])

    await page.waitForSelector('.send')
    await say('refund 80')
    await page.waitForSelector('.approve')
    await page.reload()
    await page.waitForSelector('.approve')
    await picture('approval')
    await page.click('.approve')
    await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('I refund|done')
    await page.waitForSelector('.send')
    await say('refund 90')
    await page.click('.deny')
    await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('as you wish')

    await picture('denied')

    await page.waitForSelector('.send')
    await page.locator('.edit').first().click()
    await page.fill('.edited', 'good day')
    await page.click('.save')
    await expect.poll(() => texts('assistant')).toEqual(['edited'])
    expect(await texts('user')).toEqual(['good day'])
    expect(failures).toEqual([])
  },
  300_000,
)
