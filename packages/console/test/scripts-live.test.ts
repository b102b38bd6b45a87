import { createAgent } from '@provost/agent'
import { codeMode } from '@provost/code-mode'
import * as page from '@provost/console'
import type { SessionStore } from '@provost/core'
import type { ServerOptions } from '@provost/server'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { hostile, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)

const source = [
  'const first = await tools.look({ at: 1 })',
  'const second = await tools.look({ at: 2 })',
  `console.log(${JSON.stringify(hostile)})`,
  'const third = await tools.look({ at: 3 })',
  'return [first, second, third].join(", ")',
].join('\n')

/** An agent with real code mode. Call n of its script waits for gate n. */
function coderWith(gates: readonly Promise<void>[]): (store: SessionStore) => ServerOptions['agents'] {
  const look = tool({
    name: 'look',
    effect: 'read',
    input: z.object({ at: z.number() }),
    execute: async ({ at }) => {
      await gates[at - 1]
      return `place ${at}`
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'code_execute', input: { source } }] }, { text: 'Done.' }])
  return (store) => [createAgent({ name: 'coder', model, tools: [look], extensions: [codeMode()], store })]
}

test('a script of code mode that runs shows its calls as they come, and its end, without a reload', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  for (const look of looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))) {
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const server = await openConsole(coderWith(gates.map(({ promise }) => promise)))
    try {
      const running = server.run('Look at three places.')
      await inBrowser(async (browser) => {
        const tab = await openTab(browser, server.consoleUrl, look)
        const { page: shown } = tab
        await shown.locator('.row').click()
        // From the conversation, which has the call of the script.
        await shown.locator('.call summary', { hasText: 'code_execute' }).click()
        await shown.getByRole('link', { name: 'Script', exact: true }).click()
        await shown.getByRole('region', { name: 'Source of the script' }).waitFor()
        await shown.evaluate('window.isSamePage = true')
        const calls = shown.locator('.listed-calls summary', { hasText: 'look' })
        await shown.getByRole('button', { name: 'running, 1 call' }).waitFor()
        await shown.getByText('It is running.').waitFor()
        await tab.picture('scripts-running')
        await tab.expectFine()
        gates[0]?.resolve()
        await shown.getByRole('button', { name: 'running, 2 calls' }).waitFor()
        await calls.nth(0).filter({ hasText: 'ok' }).waitFor()
        await calls.nth(1).filter({ hasText: 'no result yet' }).waitFor()
        // What a reader has unfolded stays so.
        await calls.nth(0).click()
        await shown.locator('.listed-calls .entry-part').first().waitFor()
        gates[1]?.resolve()
        await calls.nth(2).waitFor()
        expect(await shown.locator('.listed-calls .entry-part').count()).toBeGreaterThan(0)
        gates[2]?.resolve()
        await shown.getByRole('button', { name: 'ok, 3 calls' }).waitFor()
        await shown.getByText('place 1, place 2, place 3').waitFor()
        await shown.getByRole('region', { name: 'Output of console.log' }).waitFor()
        expect(await shown.getByText('It is running.').count()).toBe(0)
        expect(await shown.evaluate('window.isSamePage')).toBe(true)
        await tab.picture('scripts-ended')
        await tab.expectFine()
        expect(await running).toContain('Done.')
      })
    } finally {
      for (const { resolve } of gates) resolve()
      await server.close()
    }
  }
})
