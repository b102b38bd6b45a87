import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { memoryStore } from 'provost'
import { expect, test } from 'vitest'

import { createDeskTeam } from '../src/agent.ts'
import { openDatabase } from '../src/database.ts'
import { openDeskMemory } from '../src/memory.ts'
import { offlineModel } from '../src/offline-model.ts'
import { createOrders } from '../src/orders.ts'
import { openOutbox } from '../src/outbox.ts'
import { workThrough } from '../src/shift.ts'
import { palette } from '../src/terminal.ts'
import { createView } from '../src/view.ts'
import { openSamples } from './samples.ts'

const folder = mkdtempSync(join(tmpdir(), 'desk-memory-'))

/** The output of one start of the desk. The next start shares only the files of the folder. */
async function start(...names: readonly string[]): Promise<string> {
  const mailbox = await openSamples()
  const orders = createOrders(openDatabase(join(folder, 'desk.sqlite')))
  const memory = openDeskMemory(join(folder, 'memory.sqlite'), mailbox)
  try {
    const agent = createDeskTeam({ model: offlineModel(), store: memoryStore(), memory, policy: 'shadow' })
    let out = ''
    const view = createView((piece) => (out += piece), palette(false), 200)
    const desk = { mailbox, orders, outbox: openOutbox(join(folder, 'outbox')) }
    await workThrough(names, agent, desk, view, new AbortController().signal)
    return out
  } finally {
    orders.close()
    await memory.close()
  }
}

test('memory keeps what was done for a customer and why, for this customer only', async () => {
  expect(await start('01-refund-request.eml')).not.toContain('✎')
  const [again, other] = [await start('01-refund-request.eml'), await start('02-delivery-status.eml')]
  expect(again).toMatch(/✎ Refunded 49\.90 EUR on order 1041, .* remembered for: .*1041/)
  expect(again).toContain('I remember: Refunded 49.90 EUR on order 1041')
  expect(other).not.toContain('1041')
})

test('memory keeps nothing from mails, not even with a model that obeys them', async () => {
  const injected = ['14-injected-visible.eml', '15-injected-white-text.eml', '16-injected-attachment.eml']
  await start(...injected)
  const mailbox = await openSamples()
  const memory = openDeskMemory(join(folder, 'memory.sqlite'), mailbox)
  const customers = Array.from({ length: 30 }, (_, i) => `customer:c-${100 + i}`)
  const scopes = customers.map((id) => ({ kind: 'user' as const, id }))
  const items = await memory.list({ scopes, states: ['live', 'quarantined', 'old'] })
  await memory.close()
  expect(items.length).toBeGreaterThan(0)
  const known =
    /^(?:Refunded [\d.]+ EUR on order \d+(?:, to another account than it was paid from)?, for the mail "[\w-]+\.eml"|The mail "[\w-]+\.eml" was closed as \w+)\.$/
  expect(items.filter(({ text }) => !known.test(text))).toEqual([])
})
