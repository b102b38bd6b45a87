import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

import type { Page } from 'playwright-core'
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
  'a page of assistant-ui sends, stops, regenerates, reloads in mid-answer, approves, denies, edits and attaches (needs chromium)',
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
    const files: string[] = []
    /** Tells which files the model received. */
    const attached = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }) => {
      const content = messages.at(-1)?.content
      const parts: readonly { type: string; mediaType?: string; data?: { data?: unknown } }[] = Array.isArray(content)
        ? content
        : []
      files.push(
        ...parts.flatMap(({ type, mediaType, data }) =>
          type === 'file' ? [`${mediaType} ${JSON.stringify(data).length > 10_000}`] : [],
        ),
      )
      return { text: `${files.length} files` }
    }
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
      { text: 'edited again' },
      attached,
      attached,
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
    await page.waitForSelector('.send')
    await page.reload()
    await expect.poll(() => texts('assistant')).toEqual(['edited'])
    expect(await texts('user')).toEqual(['good day'])
    await say('one more')
    await expect.poll(() => texts('assistant')).toEqual(['edited', 'edited again'])
    await page.waitForSelector('.send')

    const chosen = page.waitForEvent('filechooser')
    await page.click('.attach')
    await (
      await chosen
    ).setFiles([
      { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from(await drawn(page), 'base64') },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('A line of notes.\n'.repeat(2_000)) },
    ])
    await expect.poll(() => page.locator('.composer .attachment').count()).toBe(2)
    await say('look')
    await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('2 files')
    expect(files).toEqual(['image/png true', 'text/plain true'])
    await page.waitForSelector('.send')
    await page.reload()
    const showsFiles = "[...document.images].some((one) => one.src.includes('/file?hash=') && one.naturalWidth === 200)"
    await page.waitForFunction(showsFiles)
    expect(await page.locator('.user .attachment').allTextContents()).toEqual(['photo.png', 'notes.txtopen'])
    const notes = page.locator('.user .attachment a')
    expect(await notes.evaluate(async (link: HTMLAnchorElement) => (await fetch(link.href)).text())).toHaveLength(
      34_000,
    )
    await picture('attached')

    await page.locator('.edit').last().click()
    await page.fill('.edited', 'look again')
    await page.click('.save')
    await expect.poll(async () => (await texts('assistant')).at(-1)).toBe('4 files')
    expect(files.slice(2)).toEqual(files.slice(0, 2))
    await page.waitForSelector('.send')
    await page.reload()
    await page.waitForFunction(showsFiles)
    expect(await texts('user')).toEqual(['good day', 'one more', 'look again'])
    await picture('attached-edited')
    const sessions = []
    for await (const { id } of store.list({})) sessions.push(id)
    const hashes = new Set<string>()
    for (const id of sessions) {
      for await (const entry of store.read(id)) {
        expect(JSON.stringify(entry).length).toBeLessThan(10_000)
        for (const [, hash = ''] of JSON.stringify(entry).matchAll(/"type":"blob","hash":"([0-9a-f]{64})"/gu))
          hashes.add(hash)
      }
    }
    expect(hashes.size).toBe(2)
    expect(failures).toEqual([])
  },
  300_000,
)

/** Returns a picture that the page draws, in base64: large enough to be stored as a blob. */
function drawn(page: Page): Promise<string> {
  return page.evaluate(`(() => {
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
}
