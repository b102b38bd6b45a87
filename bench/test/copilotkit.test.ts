import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

import { chromium } from 'playwright-core'
import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const folder = join(import.meta.dirname, '../copilotkit')
const runner = join(import.meta.dirname, '../../scripts/run.mjs')
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin']
const browser = folders.map((one) => join(one, 'chromium')).find((file) => existsSync(file))

const lookup = tool({
  name: 'lookup',
  effect: 'read',
  input: z.object({ order: z.string() }),
  execute: ({ order }) => `order ${order} is paid`,
})
const refund = tool({
  name: 'refund',
  effect: 'write',
  needsApproval: true,
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
})

/** Starts the runtime of CopilotKit in a process of its own, and returns where it listens. */
async function startRuntime(provost: string): Promise<string> {
  const child = spawn(process.execPath, [join(folder, 'runtime.mjs'), provost], {
    env: { ...process.env, COPILOTKIT_TELEMETRY_DISABLED: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  const [address] = await once(createInterface(child.stdout), 'line')
  return String(address)
}

// The page, its runtime and their bundler are installed by this test, into a folder of their own.
test.runIf(process.env['PROVOST_TEST_FULL'] === '1' && browser !== undefined)(
  'a page of CopilotKit sends, draws calls, approves after a reload, denies, runs a tool of the page and stops (needs chromium)',
  async () => {
    const install = ['pnpm', 'install', '--dir', folder, '--frozen-lockfile', '--ignore-scripts']
    await run(process.execPath, [runner, '--', ...install])
    await run(process.execPath, [join(folder, 'bundle.mjs')])

    const store = memoryStore()
    const model = scriptedModel([
      { text: ['Hello', ' there'] },
      { text: 'I look', toolCalls: [{ name: 'lookup', input: { order: 'A7' } }] },
      { text: 'it is paid' },
      { text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
      { text: 'the money is back' },
      { toolCalls: [{ name: 'refund', input: { amount: 90 } }] },
      { text: 'as you wish' },
      { toolCalls: [{ name: 'locate' }] },
      { text: 'You are in Kyiv.' },
      { text: 'one moment', stall: true },
      { text: 'still here' },
    ])
    const agent = createAgent({ name: 'desk', model, tools: [lookup, refund], store })
    const server = createServer({
      agents: [agent],
      store,
      approvals: { by: 'requester' },
      // The runtime passes on what the page says of its user.
      authenticate: ({ headers }) => (headers.get('authorization') === 'Bearer ann' ? { id: 'ann' } : undefined),
    })
    const listening = await serve(server, { port: 0 })
    onTestFinished(() => listening.close({ graceMs: 0 }))
    const address = await startRuntime(listening.url)
    const running = await chromium.launch({
      executablePath: browser ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    })
    onTestFinished(() => running.close())

    const page = await running.newPage()
    page.setDefaultTimeout(120_000)
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(error.message))
    const say = async (text: string): Promise<void> => {
      // While a run goes on, the button stops it.
      await page.locator('[data-copilot-running="false"]').first().waitFor()
      await page.getByTestId('copilot-chat-textarea').fill(text)
      await page.getByTestId('copilot-send-button').click()
    }
    const shows = (text: string): Promise<void> => page.getByText(text, { exact: true }).last().waitFor()
    const picture = async (name: string): Promise<void> => {
      const pictures = process.env['PROVOST_TEST_PICTURES']
      if (pictures) await page.screenshot({ path: join(pictures, `copilotkit-${name}.png`) })
    }

    const sessions = async (): Promise<readonly unknown[]> => {
      const all = []
      for await (const { principal, status } of store.list({})) all.push({ principal, status })
      return all
    }

    await page.goto(address)
    await say('hi')
    await shows('Hello there')
    await say('is A7 paid?')
    await shows('it is paid')
    await shows('lookup complete order A7 is paid')

    await say('refund 80')
    await page.locator('.question').waitFor()
    await picture('approval')
    await page.reload()
    await page.locator('.question').waitFor()
    await page.locator('.approve').click()
    await shows('the money is back')
    await shows('refund complete refunded 80')
    await say('refund 90')
    await page.locator('.deny').click()
    await shows('as you wish')
    await shows('refund complete The call was not approved.')

    await say('where am I?')
    await shows('You are in Kyiv.')
    await shows('locate complete Kyiv')
    await picture('located')

    await say('wait for me')
    await shows('one moment')
    await page.getByTestId('copilot-send-button').click()
    await expect.poll(sessions).toEqual([{ principal: 'ann', status: 'idle' }])
    await say('are you there?')
    await shows('still here')
    await picture('stopped')
    expect(failures).toEqual([])
  },
  600_000,
)
