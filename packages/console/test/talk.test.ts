import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import type { JsonSchema, SessionStore } from '@provost/core'
import type { ServerOptions } from '@provost/server'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import type { Look, Tab } from './browser.ts'
import { inBrowser, openTab, whyNoBrowser } from './browser.ts'
import { hostile, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)

/** An agent whose tool runs until it is released, and one that asks a question. */
function agentsWith(released: Promise<void>): (store: SessionStore) => ServerOptions['agents'] {
  const wait = tool({
    name: 'look_up',
    effect: 'read',
    input: z.object({}),
    execute: async () => {
      await released
      return hostile
    },
  })
  const colour = tool({
    name: 'colour',
    effect: 'read',
    input: z.object({}),
    execute: async (_, { ask }) => {
      const properties = { colour: { type: 'string' as const } }
      const schema: JsonSchema = { type: 'object', properties, required: ['colour'] }
      return { taken: await ask({ message: `Which colour? ${hostile}`, schema }) }
    },
  })
  return (store) => [
    createAgent({
      name: 'desk',
      model: scriptedModel([
        { reasoning: 'I look it up first.', text: 'One **moment**.', toolCalls: [{ name: 'look_up', input: {} }] },
        { text: 'Here it is.' },
        { toolCalls: [{ name: 'colour', input: {} }] },
        { text: 'It is ordered.' },
      ]),
      tools: [wait, colour],
      store,
    }),
  ]
}

/** Opens a tab while the tool of a run waits for `release`. */
async function whileItRuns(
  look: Look,
  use: (tab: Tab, release: () => void, running: Promise<string>) => Promise<void>,
): Promise<void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const server = await openConsole(agentsWith(released))
  try {
    const running = server.run('Look it up.')
    await inBrowser(async (browser) => use(await openTab(browser, server.consoleUrl, look), release, running))
  } finally {
    release()
    await server.close()
  }
}

test('a conversation streams; input steers and queues; a question is answered; all with the keys', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  await whileItRuns({ theme: 'light', width: 'desk' }, async (tab, release, running) => {
    const { keyboard } = tab.page
    await tab.page.locator('.row').waitFor()
    await keyboard.press('j')
    await keyboard.press('Enter')
    // The call runs, and the conversation follows it.
    await tab.page.locator('.state-word.running').waitFor()
    await tab.page.locator('.reasoning').waitFor()
    await keyboard.press('m')
    await keyboard.type('In blue, please.')
    await keyboard.press('Enter')
    await tab.page.getByPlaceholder('Enter reaches the run').fill('And then order it.')
    await keyboard.press('Alt+Enter')
    await tab.page.locator('.queued', { hasText: 'And then order it.' }).waitFor()
    await tab.picture('talk-running')
    await tab.expectFine()
    release()
    await tab.page.locator('.turn.user', { hasText: 'In blue, please.' }).waitFor()
    await tab.page.locator('.turn.assistant', { hasText: 'Here it is.' }).waitFor()
    await tab.page.locator('.question', { hasText: 'Which colour?' }).waitFor()
    expect(await tab.page.locator('.question').innerText()).toContain('<script>alert(2)</script>')
    await tab.picture('talk-question')
    await tab.expectFine()
    await tab.page.getByRole('textbox', { name: 'colour' }).fill('blue')
    await keyboard.press('Enter')
    await tab.page.locator('.turn.assistant', { hasText: 'It is ordered.' }).waitFor()
    await running
    await tab.page.locator('.call summary').first().click()
    await tab.page.getByRole('region', { name: 'Result of look_up' }).waitFor()
    expect(await tab.page.locator('.turn img, .turn script').count()).toBe(0)
    await tab.picture('talk-done')
    await tab.expectFine()
  })
})

test('an aborted run ends, and the keys are listed and can be switched off', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  await whileItRuns({ theme: 'dark', width: 'phone' }, async (tab, release, running) => {
    await tab.page.locator('.row').click()
    await tab.page.locator('.state-word.running').waitFor()
    await tab.page.getByRole('button', { name: 'Abort the run' }).click()
    release()
    await running
    await tab.page.locator('.facts .status.idle').waitFor()
    await tab.page.keyboard.press('?')
    await tab.page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await tab.picture('keys')
    await tab.expectFine()
    await tab.page.getByLabel('Keys without Ctrl or ⌘ are on').uncheck()
    await tab.page.keyboard.press('Escape')
    await tab.page.keyboard.press('g')
    await tab.page.keyboard.press('s')
    expect(await tab.page.getByRole('region', { name: 'Conversation' }).isVisible()).toBe(true)
    expect(tab.problems).toEqual([])
  })
})
