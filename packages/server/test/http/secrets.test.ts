import { inspect } from 'node:util'

import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { secretRef, tool } from '@provost/tools'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ask, executed, serverOf } from '../served.ts'

const planted = 'sk-planted-0123456789abcdef'

test('a known secret appears in no live event, no replayed event, no chat, no session and no export', async () => {
  process.env['SERVER_TEST_SECRET'] = planted
  const leak = tool({
    name: 'leak',
    effect: 'read',
    input: z.object({ note: z.string() }),
    secrets: ['KEY'],
    async execute({ note }, ctx) {
      ctx.progress({ seen: `key ${planted}` })
      return { note, header: `Bearer ${ctx.secrets['KEY']}`, got: planted === ctx.secrets['KEY'] }
    },
  })
  const steps = [
    { text: `I have ${planted} here`, toolCalls: [{ name: 'leak', input: { note: `use ${planted}` } }] },
    { text: ['it is sk-planted-', '0123456789abcdef', ', you know'] },
  ]
  const store = memoryStore()
  const agentOf = (): ReturnType<typeof createAgent> =>
    createAgent({
      name: 'desk',
      model: scriptedModel([...steps, ...steps]),
      tools: [leak],
      secrets: { KEY: secretRef('env:SERVER_TEST_SECRET') },
      store,
    })
  const server = serverOf([], { agents: [agentOf()], store })
  const { id, frames } = await executed(server, { input: `my key is ${planted}` })
  const live = JSON.stringify(frames)
  expect(live).toContain('\\"got\\":true'.replaceAll('\\', ''))
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: `again ${planted}` }] }
  const told = [
    live,
    await (await ask(server, `/api/agent/session/${id}/events`)).text(),
    await (await ask(serverOf([], { agents: [agentOf()], store }), `/api/agent/session/${id}/events`)).text(),
    await (await ask(server, `/api/agent/session/${id}`)).text(),
    await (await ask(server, `/api/agent/session/${id}/export`)).text(),
    await (await ask(server, '/api/chat', { body: { id: 'c', messages: [message] } })).text(),
  ]
  expect(told.map((text) => [text.length > 100, text.includes(planted), text.includes('0123456789abcdef')])).toEqual(
    told.map(() => [true, false, false]),
  )
})

test('none of fifty secrets in arguments, results, errors, stacks and keys appears in the stream, in any encoding', async () => {
  const secrets = Array.from({ length: 50 }, (_, n) => {
    const base = `s3cr3t-${n}-${(n * 7919 + 104_729).toString(36)}`
    const shapes = [
      `sk-${base}`,
      `${base} with "quotes"`,
      `pässwörd/${base}`,
      `\ud800${base}`,
      `${700_000_000 + n * 7_919}`,
    ]
    return shapes[n % shapes.length] ?? base
  })
  const all = secrets.join(' | ')
  const leak = tool({
    name: 'leak',
    effect: 'read',
    input: z.object({}).loose(),
    secrets: secrets.map((_, n) => `S${n}`),
    async execute(input, ctx) {
      ctx.progress({ [all]: secrets })
      if ('fails' in input) {
        const error = Object.assign(new Error(`no: ${all}`, { cause: new Error(all) }), { code: secrets[0] })
        error.stack += `\n    at ${all}`
        throw error
      }
      return { [all]: secrets, deep: [{ upper: all.toUpperCase(), url: encodeURIComponent(all.toWellFormed()) }] }
    },
  })
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([
      { toolCalls: [{ name: 'leak', input: {} }] },
      { text: `I know ${all}`, toolCalls: [{ name: 'leak', input: { fails: true } }] },
      { error: Object.assign(new Error(`401 for ${all}`), { status: 401 }) },
    ]),
    tools: [leak],
    secrets: Object.fromEntries(secrets.map((secret, n) => [`S${n}`, secretRef(() => secret)])),
  })
  const { frames } = await executed(serverOf([], { agents: [agent] }), { input: 'go' })
  const text = JSON.stringify(frames)
  const lower = text.toLowerCase()
  const writings = (secret: string): string[] => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    secret.toWellFormed(),
    encodeURIComponent(secret.toWellFormed()),
  ]
  expect(text).toContain('⟦secret:S7⟧')
  expect(text).toContain('agent.end')
  expect(secrets.filter((secret) => writings(secret).some((one) => lower.includes(one.toLowerCase())))).toEqual([])
})

test('onError receives failures with the secrets of the agents scrubbed', async () => {
  process.env['SERVER_TEST_SECRET'] = planted
  const agent = createAgent({
    name: 'desk',
    model: scriptedModel([]),
    secrets: { KEY: secretRef('env:SERVER_TEST_SECRET') },
  })
  const told: unknown[] = []
  const server = serverOf([], {
    agents: [agent],
    onError: (error) => told.push(error),
    authenticate: () => {
      throw Object.assign(new Error(`no ${planted}`, { cause: new Error(encodeURIComponent(planted)) }), {
        at: planted,
      })
    },
  })
  const { status } = await ask(server, '/api/agent/sessions')
  expect(status).toBe(500)
  expect(told).toMatchObject([{ message: 'no ⟦secret:KEY⟧' }])
  expect(inspect(told, { depth: 9, showHidden: true })).not.toContain('0123456789abcdef')
})
