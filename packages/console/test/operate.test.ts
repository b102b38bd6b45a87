import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import type { SessionStore } from '@provost/core'
import { mostTakeovers } from '@provost/core'
import { exportSession, memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { hostile, openConsole } from './scenario.ts'

const missing = whyNoBrowser(page.assets)
const lookPair = looks.filter(({ theme, width }) => (theme === 'light') === (width === 'desk'))

const file = (name: string, text: string): { name: string; mimeType: string; buffer: Buffer } => ({
  ...{ name, mimeType: 'application/x-ndjson' },
  buffer: Buffer.from(text),
})

test('an export is imported in the browser: what is wrong is said, and the lists show the session', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const elsewhere = memoryStore()
  const desk = (store: SessionStore) => createAgent({ name: 'desk', model: scriptedModel([{ text: hostile }]), store })
  const { sessionId } = await desk(elsewhere).run(`A question ${hostile}`)
  let lines = ''
  for await (const line of exportSession(elsewhere, sessionId)) lines += line
  for (const look of lookPair) {
    const server = await openConsole((store) => [desk(store)])
    const at = (path: string): string => `${server.url}/console/${path}`
    try {
      await inBrowser(async (browser) => {
        const tab = await openTab(browser, server.consoleUrl, look)
        const { page: shown } = tab
        await shown.goto(at('sessions'))
        await shown.getByText('This server has no sessions yet.').waitFor()
        // The page of the session that is about to be there.
        await shown.goto(at(`sessions/${sessionId}/log`))
        await shown.getByText('The server has no session of this id').waitFor()
        await shown.goBack()
        const choose = shown.getByLabel('A file with an export')
        await choose.setInputFiles(file(`not \u202Eone.jsonl`, '{"no":"export"}\n'))
        await shown
          .getByRole('alert')
          .getByText('not \\u202eone.jsonl was not imported. This is not an exported session')
          .waitFor()
        await tab.picture('import-refused')
        // Chromium reports the refusal too.
        expect(tab.problems.every((problem) => problem.includes('400'))).toBe(true)
        // While the server works, the page says so.
        const open = Promise.withResolvers<void>()
        await shown.route('**/api/console/import', async (route) => {
          await open.promise
          await route.continue()
        })
        await choose.setInputFiles(file('desk.jsonl', lines))
        await shown.getByText('Importing desk.jsonl').waitFor()
        expect(await shown.getByRole('button', { name: 'Import…' }).isDisabled()).toBe(true)
        expect(await shown.getByRole('alert').count()).toBe(0)
        open.resolve()
        await shown.locator('.toast', { hasText: 'entries as untrusted.' }).waitFor()
        await shown.locator('.raw-row').first().waitFor()
        expect(new URL(shown.url()).pathname).toBe(`/console/sessions/${sessionId}/log`)
        // The log has the same button.
        await shown.getByLabel('A file with an export').setInputFiles(file('desk.jsonl', lines))
        await shown.locator('.toast', { hasText: 'The server has this session already.' }).waitFor()
        await shown.getByRole('link', { name: 'Sessions' }).click()
        await shown.locator('.row', { hasText: 'A question <img src=x onerror=alert(1)> \\u202egnp.exe' }).waitFor()
        await tab.picture('imported')
        // An import that is lost on the way says so too.
        await shown.route('**/api/console/import', (route) => route.abort())
        await shown.getByLabel('A file with an export').setInputFiles(file('desk.jsonl', lines))
        await shown.getByRole('alert').getByText('The server cannot be reached.').waitFor()
      })
    } finally {
      await server.close()
    }
  }
})

/** A session whose run ended its process once too often, in a store of this process. */
async function quarantined(store: SessionStore): Promise<string> {
  const gate = Promise.withResolvers<string>()
  const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => gate.promise })
  const dead = new AbortController()
  const leaving: SessionStore = {
    ...store,
    lease: async (log, owner, ttlMs, terms) => store.lease(log, owner, Math.min(ttlMs, 1), terms),
    append: async (...given) => (dead.signal.aborted ? new Promise(() => {}) : store.append(...given)),
    release: async (...given) => (dead.signal.aborted ? undefined : store.release(...given)),
  }
  const model = scriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }])
  const agent = createAgent({ name: 'desk', model, tools: [wait], store: leaving })
  const session = await agent.createSession({ principal: { id: 'local' } })
  session.send('go')
  const isInCall = async (): Promise<boolean> => {
    for await (const entry of store.read(session.id)) if (entry.type === 'call' && entry.op === 'started') return true
    return false
  }
  await expect.poll(isInCall).toBe(true)
  dead.abort()
  for (let n = 0; n <= mostTakeovers; n++) {
    await expect.poll(async () => (await store.leaseState(session.id)).holder).toBe('lapsed')
    await store.lease(session.id, `writer ${n}`, 1).catch(() => {})
    if ((await store.leaseState(session.id)).quarantinedAt !== undefined) break
  }
  return session.id
}

/** Begins a run of another process, whose lease ends after a time. */
async function runElsewhere(store: SessionStore, id: string, owner: string, ttlMs: number): Promise<void> {
  const lease = await store.lease(id, owner, 60_000)
  if (lease === 'busy') throw new Error('busy')
  const own = { id: `${id}/r`, at: Date.now(), runId: 'r', step: 0, agent: 'desk', v: 1 } as const
  const manifest = { agent: 'desk', extensions: [], tools: [] }
  await store.append(id, [{ ...own, type: 'run', op: 'started', manifest }], { after: 0, fence: lease.fence })
  await store.lease(id, owner, ttlMs)
}

test('the system page names the processes that hold runs, says which are silent, and that the server is gone', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  const store = memoryStore()
  await runElsewhere(store, 'far', 'web-2:7/a', 3_600_000)
  await runElsewhere(store, 'dead', `${hostile.replaceAll('/', '')}:9/b`, 1)
  await expect.poll(async () => (await store.leaseState('dead')).holder).toBe('lapsed')
  const desk = createAgent({ name: 'desk', model: scriptedModel([{ text: 'done' }]), store })
  // It takes no run over.
  const server = await openConsole(() => [desk], { store, concurrency: 0 })
  try {
    await inBrowser(async (browser) => {
      for (const look of lookPair) {
        const tab = await openTab(browser, server.consoleUrl.replace('/#', '/system#'), look)
        const { page: shown } = tab
        const held = shown.getByRole('region', { name: 'Processes that hold runs' }).getByRole('row')
        await held.filter({ hasText: 'web-2:7' }).getByText('alive').waitFor()
        const silent = held.filter({ hasText: '<img src=x onerror=alert(1)> \\u202egnp.exe' })
        await silent.getByText('silent', { exact: true }).waitFor()
        await shown.getByRole('row', { name: /^far desk another process has it web-2:7/u }).waitFor()
        await tab.picture('processes')
        await tab.expectFine()
        await shown.route('**/api/console/system', (route) => route.abort())
        await shown.getByText('The server cannot be reached.').waitFor()
        // What was read stays.
        expect(await held.count()).toBe(3)
        await tab.picture('processes-offline')
        await tab.context.close()
      }
    })
  } finally {
    await server.close()
  }
})

test('a session is released from quarantine in the browser: its run is resumed, and every list shows it', async (ctx) => {
  if (missing !== undefined) return ctx.skip(missing)
  for (const look of lookPair) {
    const store = memoryStore()
    const id = await quarantined(store)
    const wait = tool({ name: 'wait', effect: 'read', input: z.object({}), execute: () => 'waited' })
    const model = scriptedModel([{ text: 'done' }])
    const desk = createAgent({ name: 'desk', model, tools: [wait], store })
    const server = await openConsole(() => [desk], { store, pollMs: 5 })
    try {
      await inBrowser(async (browser) => {
        const tab = await openTab(browser, server.consoleUrl, look)
        const { page: shown } = tab
        await shown.goto(`${server.url}/console/sessions`)
        await shown.locator('.row', { hasText: 'quarantined' }).waitFor()
        await shown.goto(`${server.url}/console/system`)
        const release = shown.getByRole('button', { name: 'Release it' })
        await release.waitFor()
        await tab.picture('quarantine')
        await tab.expectFine()
        await shown.route('**/release', (route) => route.abort())
        await release.click()
        await shown.getByRole('alert').getByText('The server cannot be reached.').waitFor()
        await shown.unroute('**/release')
        await release.click()
        await shown.locator('.toast', { hasText: 'Released.' }).waitFor()
        await shown.getByText('No session is in quarantine').waitFor()
        expect(await shown.getByRole('alert').count()).toBe(0)
        await shown.getByRole('link', { name: 'Sessions' }).click()
        await shown.locator('.row', { hasText: 'idle' }).waitFor()
        await shown.goto(`${server.url}/console/sessions/${id}/talk`)
        await shown.locator('.turn', { hasText: 'done' }).last().waitFor()
      })
    } finally {
      await server.close()
    }
  }
})
