import { execFile } from 'node:child_process'

import { startAimock } from '@provost/testing'
import type { Aimock, WireStep } from '@provost/testing'
import { afterEach, describe, expect, it } from 'vitest'

const servers: Aimock[] = []
async function start(...script: readonly WireStep[]): Promise<Aimock> {
  const server = await startAimock(script)
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

const messages = [{ role: 'user', content: 'hi' }]
const protocols = {
  chat: { path: '/chat/completions', body: { model: 'gpt-4.1', stream: true, messages } },
  responses: { path: '/responses', body: { model: 'gpt-5', stream: true, input: messages } },
  anthropic: { path: '/messages', body: { model: 'claude-sonnet-4-5', stream: true, max_tokens: 100, messages } },
} as const
type Protocol = keyof typeof protocols
const all: readonly Protocol[] = ['chat', 'responses', 'anthropic']

function ask(server: Aimock, protocol: Protocol, more: object = {}, signal?: AbortSignal): Promise<Response> {
  const { path, body } = protocols[protocol]
  return fetch(server.baseURL + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer test', 'x-api-key': 'test' },
    body: JSON.stringify({ ...body, ...more }),
    ...(signal && { signal }),
  })
}

/** The received part of a streamed body, and its error. */
async function receive(response: Response): Promise<{ text: string; failure?: unknown }> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
  } catch (failure) {
    return { text, failure }
  }
  return { text }
}

function events(body: string): string[] {
  return body.split('\n\n').filter((event) => event.includes('data:'))
}

describe.for(all)('over the protocol %s', (protocol) => {
  it('answers in the order of the script', async () => {
    const server = await start({ text: 'first' }, { text: 'second' })
    expect((await receive(await ask(server, protocol))).text).toContain('first')
    expect((await receive(await ask(server, protocol))).text).toContain('second')
    expect((await ask(server, protocol)).status).toBe(404)
  })

  it('makes parallel tool calls', async () => {
    const toolCalls = [17, 18].map((order) => ({ name: 'lookup', input: { order }, id: `id-${order}` }))
    const { text } = await receive(await ask(await start({ toolCalls, chunkSize: 100 }), protocol))
    for (const order of [17, 18]) {
      expect(text).toContain(`id-${order}`)
      expect(text).toContain(JSON.stringify(JSON.stringify({ order })))
    }
  })

  it('fails with a status and a retry-after, then answers', async () => {
    const server = await start({ failure: { status: 429, retryAfterSeconds: 7, message: 'slow down' } }, { text: 'ok' })
    const refused = await ask(server, protocol)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(await refused.text()).toContain('slow down')
    expect((await receive(await ask(server, protocol))).text).toContain('ok')
  })

  it('delivers everything before the cut of a stream', async () => {
    const [whole, cut] = [
      await start({ text: 'x'.repeat(400) }),
      await start({ text: 'x'.repeat(400), cutAfterEvents: 8 }),
    ]
    const expected = (await receive(await ask(whole, protocol))).text
    const { text, failure } = await receive(await ask(cut, protocol))
    expect(failure).toMatchObject({ message: 'terminated' })
    expect(events(text)).toHaveLength(8)
    expect(events(expected).length).toBeGreaterThan(8)
  })

  it('reports the scripted usage', async () => {
    const server = await start({ text: 'x', usage: { inputTokens: 4321, outputTokens: 765 } })
    const { text } = await receive(await ask(server, protocol, { stream_options: { include_usage: true } }))
    expect(text).toContain('4321')
    expect(text).toContain('765')
  })
})

it('streams reasoning over the protocol responses', async () => {
  const server = await start({ text: 'x', reasoning: 'because' })
  expect((await receive(await ask(server, 'responses'))).text).toContain('because')
})

it('streams signed reasoning over the protocol anthropic', async () => {
  const server = await start({ text: 'x', reasoning: 'because', signature: 'signed-by-me' })
  expect((await receive(await ask(server, 'anthropic'))).text).toMatch(/because[^]*signed-by-me/)
})

it('answers by a matching rule before the script, as often as the rule matches', async () => {
  const server = await start({ text: 'scripted' })
  server.on((prompt) => prompt.messages.some((m) => m.content === 'ping'), { text: 'pong' })
  const pings = await Promise.all(
    [1, 2, 3].map(() => ask(server, 'chat', { messages: [{ role: 'user', content: 'ping' }] })),
  )
  for (const response of pings) expect((await receive(response)).text).toContain('pong')
  expect((await receive(await ask(server, 'chat'))).text).toContain('scripted')
})

it('accepts more steps while it runs', async () => {
  const server = await start()
  expect((await ask(server, 'chat')).status).toBe(404)
  server.play({ text: 'now' })
  expect((await receive(await ask(server, 'chat'))).text).toContain('now')
})

it('gives each of many concurrent requests its own step', async () => {
  const steps = Array.from({ length: 50 }, (_, n) => ({ text: `<${n}>` }))
  const server = await start(...steps)
  const answers = await Promise.all(steps.map(async () => (await receive(await ask(server, 'chat'))).text))
  const seen = answers.map((text) => Number(/<(\d+)>/.exec(text)?.[1]))
  expect(seen.toSorted((a, b) => a - b)).toEqual(steps.map((_, n) => n))
})

it('records requests unchanged', async () => {
  const server = await start({ text: 'x' })
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig-é' }
  await ask(server, 'anthropic', { messages: [...messages, { role: 'assistant', content: [thinking] }] })
  expect(server.requests).toEqual([
    {
      path: '/v1/messages',
      headers: expect.objectContaining({ 'x-api-key': 'test' }),
      body: expect.objectContaining({ messages: [...messages, { role: 'assistant', content: [thinking] }] }),
    },
  ])
})

it('can be aborted in mid-stream, and closes while a stream is open', async () => {
  const server = await start({ text: 'y'.repeat(10_000), delayMs: 5 }, { text: 'y'.repeat(10_000), delayMs: 5 })
  const abort = new AbortController()
  const first = await ask(server, 'chat', {}, abort.signal)
  const reader = first.body?.getReader()
  await reader?.read()
  abort.abort()
  await expect(reader?.read()).rejects.toMatchObject({ name: 'AbortError' })

  const second = await ask(server, 'chat')
  await server.close()
  servers.length = 0
  expect((await receive(second)).failure).toMatchObject({ message: 'terminated' })
})

it('is resolved on first use, and the error for a missing package names what to install', async () => {
  const script = `
    const { registerHooks } = await import('node:module')
    const looked = []
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier !== '@copilotkit/aimock') return next(specifier, context)
        looked.push(specifier)
        throw new Error('Cannot find package')
      },
    })
    const { startAimock } = await import(${JSON.stringify(import.meta.resolve('@provost/testing'))})
    const before = looked.length
    const { code, hint } = await startAimock().catch((error) => error)
    process.stdout.write(JSON.stringify({ before, after: looked.length, code, hint }))
  `
  const output = await new Promise<string>((resolve, reject) => {
    const args = ['--conditions=@provost/source', '--input-type=module', '--eval', script]
    execFile(process.execPath, args, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })
  expect(JSON.parse(output)).toEqual({
    before: 0,
    after: 1,
    code: 'missing-package',
    hint: 'Install it: npm install --save-dev @copilotkit/aimock',
  })
})
