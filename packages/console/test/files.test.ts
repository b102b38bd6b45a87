import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { attach, attachLimits, limitsLine } from '../src/talk/attachments.ts'
import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { openConsole } from './scenario.ts'

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

test('a message takes files that models read, up to the limits, and says why it takes no others', () => {
  const limits = attachLimits(1_048_576)
  expect(limits).toEqual({ files: 10, each: 730_000, together: 730_000 })
  expect(limitsLine(limits)).toBe('At most 10 files, 730 kB together: images, PDF, audio and text.')
  expect(attachLimits(16_777_216)).toMatchObject({ each: 5_000_000, together: 12_000_000 })
  const file = (name: string, type: string, size = 1): File => new File([new Uint8Array(size)], name, { type })
  const first = attach([], [file('a.png', 'image/png'), file('a.md', ''), file('b.ts', 'video/mp2t')], limits)
  expect(first.attached.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'text/markdown', 'text/plain'])
  const second = attach(
    first.attached,
    [
      ...[file('x.zip', 'application/zip'), file('x', ''), file('x.svg', 'image/svg+xml'), file('folder', '', 0)],
      ...[file('big.pdf', 'application/pdf', 730_001), file('much.pdf', 'application/pdf', 729_998)],
      ...Array.from({ length: 8 }, (_, n) => file(`${n}.txt`, 'text/plain;charset=utf-8')),
    ],
    limits,
  )
  expect(second.attached).toHaveLength(10)
  expect(second.problems).toEqual([
    'x.zip has the type application/zip: models read images, PDF, audio and text.',
    'x has the type unknown: models read images, PDF, audio and text.',
    'x.svg has the type image/svg+xml: models read images, PDF, audio and text.',
    'folder is empty, or a folder.',
    'big.pdf has 730 kB, more than 730 kB.',
    'much.pdf would make the files 730 kB together, more than 730 kB.',
    '7.txt would be more than 10 files.',
  ])
})

/** Gives files to an element, as a drop or the clipboard does. */
async function give(
  shown: Page,
  selector: string,
  kind: 'drop' | 'paste',
  files: readonly { name: string; type: string; text: string }[],
): Promise<void> {
  const event =
    kind === 'drop'
      ? "new DragEvent('drop', { ...init, dataTransfer: data })"
      : "new ClipboardEvent('paste', { ...init, clipboardData: data })"
  await shown.evaluate(`(() => {
    const data = new DataTransfer()
    for (const { name, type, text } of ${JSON.stringify(files)}) data.items.add(new File([text], name, { type }))
    const init = { bubbles: true, cancelable: true }
    document.querySelector(${JSON.stringify(selector)}).dispatchEvent(${event})
  })()`)
}

test('in a browser, files are chosen, dropped and pasted, reach the model, and are shown by name, type and size', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  for (const look of looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))) {
    const store = memoryStore()
    const gate = Promise.withResolvers<string>()
    const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => gate.promise })
    const seen: unknown[] = []
    const model = scriptedModel([
      { text: 'Hello.' },
      ({ messages }) => (seen.push(messages.at(-1)?.content), { toolCalls: [{ name: 'wait', input: {} }] }),
      ({ messages }) => (seen.push(messages.at(-1)?.content), { text: 'I have read all of them.' }),
    ])
    const desk = createAgent({ name: 'desk', model, tools: [wait], store })
    const { sessionId } = await desk.run('Hello', { principal: { id: 'local' } })
    const server = await openConsole(() => [desk], { store })
    try {
      await inBrowser(async (browser) => {
        const tab = await openTab(browser, server.consoleUrl, look)
        const { page: shown } = tab
        await shown.locator('.row').first().waitFor()
        await shown.goto(`${server.url}/console/sessions/${sessionId}/talk`)
        const message = shown.getByLabel('Message', { exact: true })
        await message.waitFor()
        const limits = shown.getByText('At most 10 files, 730 kB together')
        // A phone has room for them once there is a file.
        await expect.poll(() => limits.isVisible(), { timeout: 30_000 }).toBe(look.width === 'desk')
        const picker = shown.getByLabel('Files for the message')
        await picker.setInputFiles([
          { name: 'cap.png', mimeType: 'image/png', buffer: picture },
          { name: 'big.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(800_000, 1) },
          { name: 'no\u202Egpj.zip', mimeType: 'application/zip', buffer: picture },
        ])
        await limits.waitFor()
        const problems = shown.getByRole('alert')
        await problems.getByText('big.pdf has 800 kB, more than 730 kB.').waitFor()
        await problems.getByText('no\\u202egpj.zip has the type application/zip').waitFor()
        const list = shown.getByRole('list', { name: 'Files of the message' })
        expect(await list.getByRole('listitem').allInnerTexts()).toEqual([expect.stringContaining('image/png, 70 B')])
        await give(shown, '.composer', 'drop', [{ name: 'order.txt', type: 'text/plain', text: 'order 1056' }])
        await give(shown, '#say', 'paste', [{ name: 'image.png', type: 'image/png', text: 'pasted' }])
        expect(await list.getByRole('listitem').count()).toBe(3)
        expect(await problems.count()).toBe(0)
        await tab.picture('files')
        await tab.expectFine()
        await shown.getByRole('button', { name: 'Remove image.png' }).click()
        await message.fill('What is this?')
        await message.press('Enter')
        // The run waits in a call: its input is shown, and more files reach it.
        await shown.locator('.state-word.running').waitFor()
        const said = shown.locator('.turn.user', { hasText: 'What is this?' })
        expect(await said.locator('.chip', { hasText: 'cap.png' }).innerText()).toContain('image/png, 70 B')
        expect(await said.locator('.chip', { hasText: 'order.txt' }).innerText()).toContain('text/plain, 10 B')
        expect(await list.count()).toBe(0)
        await picker.setInputFiles({ name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') })
        // A message may have files alone.
        await shown.getByRole('button', { name: 'Steer' }).click()
        await shown.locator('.queued .chip', { hasText: 'late.txt' }).waitFor()
        gate.resolve('waited')
        await shown.locator('.turn.user .chip', { hasText: 'late.txt' }).waitFor()
        await shown.locator('.turn.assistant', { hasText: 'I have read all of them.' }).waitFor()
        await tab.picture('files-sent')
        await tab.expectFine()
        // What the store has is shown in the same way.
        await shown.reload()
        await shown.locator('.turn.user .chip', { hasText: 'late.txt' }).waitFor()
        expect(await shown.locator('.turn img').count()).toBe(0)
      })
      const [first, steered] = seen.map((content) => JSON.stringify(content))
      expect(first).toContain('image/png')
      expect(first).toContain('order.txt')
      expect(first).not.toContain('image.png')
      expect(steered).toContain('late.txt')
    } finally {
      gate.resolve('')
      await server.close()
    }
  }
})
