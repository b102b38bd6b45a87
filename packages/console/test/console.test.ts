import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

import { createAgent } from '@provost/agent'
import * as page from '@provost/console'
import type { Server } from '@provost/server'
import { createServer, serve } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { inBrowser, looks, openTab, whyNoBrowser } from './browser.ts'
import { hostile, token } from './scenario.ts'

const isBuilt = page.assets.length > 0

function opened(): Server {
  const store = memoryStore()
  const refund = tool({
    name: 'refund',
    effect: 'write',
    needsApproval: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => `refunded ${amount}`,
  })
  const model = scriptedModel([
    { text: hostile, toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
    { text: 'It is **done**.' },
  ])
  const agent = createAgent({ name: 'desk', model, tools: [refund], store })
  return createServer({ agents: [agent], store, console: { page, token } })
}

const get = async (server: Server, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  server.fetch(new Request(`http://localhost${path}`, { headers }))

test('the page has a nonce of its own in each answer, a strict policy, and addresses below its path', async (ctx) => {
  if (!isBuilt) ctx.skip('the console is not built')
  const server = opened()
  const answers = [await get(server, '/console/'), await get(server, '/console/sessions/any')]
  const policies = answers.map(({ headers }) => headers.get('content-security-policy') ?? '')
  expect(new Set(policies).size).toBe(2)
  for (const [at, answer] of answers.entries()) {
    expect(policies[at]).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
    const html = await answer.text()
    expect(html).toContain('src="/console/assets/')
    expect(html).not.toContain('"./')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  }
  await server.close()
})

test('the server serves the files of the page as immutable, and no others', async (ctx) => {
  if (!isBuilt) ctx.skip('the console is not built')
  const server = opened()
  const answer = await get(server, `/console/assets/${page.assets[0]}`)
  expect(answer.headers.get('cache-control')).toContain('immutable')
  for (const path of ['..%2findex.html', '%2e%2e%2f..%2fpackage.json', 'other.js']) {
    expect((await get(server, `/console/assets/${path}`)).status).toBe(404)
  }
  await server.close()
})

test('the page loads at most 200 kB of compressed JavaScript', (ctx) => {
  if (!isBuilt) ctx.skip('the console is not built')
  const scripts = page.assets.filter((name) => name.endsWith('.js'))
  const sizes = scripts.map((name) => gzipSync(readFileSync(new URL(`assets/${name}`, page.root))).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000)
})

test('a server with a console and without authentication answers only requests with its token', async () => {
  const server = opened()
  expect(server.consolePath).toBe(`/console/#t=${token}`)
  expect((await get(server, '/api/agent/sessions')).status).toBe(401)
  expect((await get(server, '/api/agent/sessions', { authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await get(server, '/api/agent/sessions', { authorization: `Bearer ${token}` })).status).toBe(200)
  await server.close()
})

test('a server whose page is missing says what to install', async () => {
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'ok' }]), store })
  const missing = { root: new URL('file:///missing/'), assets: [] }
  const server = createServer({ agents: [agent], store, console: { page: missing } })
  const answer = await get(server, '/console/')
  expect(answer.status).toBe(501)
  expect(await answer.text()).toContain('npm install @provost/console')
  await server.close()
})

test('a page that is being built is waited for, and holds up no other request', async (ctx) => {
  if (!isBuilt) ctx.skip('the console is not built')
  const store = memoryStore()
  const agent = createAgent({ name: 'desk', model: scriptedModel([{ text: 'ok' }]), store })
  const building = Promise.withResolvers<typeof page>()
  const server = createServer({ agents: [agent], store, console: { page: building.promise, token } })
  let isAnswered = false
  const opening = get(server, '/console/').finally(() => (isAnswered = true))
  expect((await get(server, '/api/agent/sessions', { authorization: `Bearer ${token}` })).status).toBe(200)
  expect(isAnswered).toBe(false)
  building.resolve(page)
  expect(await (await opening).text()).toContain('src="/console/assets/')
  await server.close()
})

test('in a browser a person reads hostile text as text, approves a call, and the page breaks no policy', async (ctx) => {
  const missing = whyNoBrowser(page.assets)
  if (missing !== undefined) return ctx.skip(missing)
  const listening = await serve(opened(), { port: 0 })
  const answer = await fetch(`${listening.url}/api/agent/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ input: `Refund ${hostile}` }),
  })
  await answer.text()
  try {
    await inBrowser(async (browser) => {
      for (const look of looks) {
        const tab = await openTab(browser, listening.consoleUrl ?? '', look)
        await tab.page.getByRole('link', { name: 'Sessions' }).click()
        await tab.page.locator('.row').first().waitFor()
        expect(tab.page.url()).not.toContain(token)
        await tab.picture('sessions')
        await tab.expectFine()
        await tab.page.locator('.row').first().press('Enter')
        await tab.page.locator('.turn.assistant').first().waitFor()
        expect(await tab.page.locator('.talk').innerText()).toContain('<img src=x onerror=alert(1)> \\u202egnp.exe')
        // The links of a turn lead to its steps; none is from its words.
        expect(await tab.page.locator('.turn img, .turn a:not([href*="/timeline?"])').count()).toBe(0)
        await tab.picture('talk')
        await tab.expectFine()
        if (look === looks.at(-1)) {
          await tab.page.getByRole('button', { name: 'Approve this call' }).click()
          await tab.page.locator('.talk', { hasText: 'It is done.' }).waitFor()
          await tab.picture('approved')
        }
        await tab.context.close()
      }
    })
  } finally {
    await listening.close()
  }
})
