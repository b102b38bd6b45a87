import { Chat } from '@ai-sdk/react'
import { createAgent } from '@provost/agent'
import type { ServerOptions } from '@provost/server'
import { memoryStore } from '@provost/sessions'
import type { ScriptedStep } from '@provost/testing'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { UIMessage } from 'ai'
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { ask, refund, serverOf } from '../served.ts'

type Server = ReturnType<typeof serverOf>

/** A page of the AI SDK, without React. */
function pageOf(
  server: Server,
  id: string,
  options: Partial<ConstructorParameters<typeof Chat>[0]> = {},
): Chat<UIMessage> {
  return new Chat({
    id,
    transport: new DefaultChatTransport({
      api: 'http://localhost/api/chat',
      headers: { authorization: 'Bearer ann' },
      fetch: async (url, init) => server.fetch(new Request(url, init)),
    }),
    ...options,
  })
}

const said = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ')
const lastOf = ({ messages }: Chat<UIMessage>): string => messages.slice(-1).map(said).join('')
const shownIn = ({ messages }: { readonly messages: readonly UIMessage[] }): readonly string[] =>
  messages.map((message) => `${message.role}: ${said(message)}`)

async function history(server: Server, id: string): Promise<readonly UIMessage[]> {
  return (await ask(server, `/api/chat/${encodeURIComponent(id)}`)).json()
}

/** The ids of messages and the parts, without what only a live stream has. */
const partsIn = (messages: readonly UIMessage[]): unknown =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.map((part) => ('toolCallId' in part ? [part.type, part.state, part.toolCallId] : part)),
  }))

/** An agent whose model waits until the test lets it go on. */
function gated(options: Partial<ServerOptions> = {}): { server: Server; open(): void; calls(): number } {
  const store = memoryStore()
  let gate = Promise.withResolvers<void>()
  let calls = 0
  const slow = tool({
    name: 'slow',
    effect: 'read',
    input: z.object({}),
    async execute(_, { signal }) {
      calls++
      await Promise.race([
        gate.promise,
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      ])
      return 'slow result'
    },
  })
  const model = scriptedModel([
    { text: ['one ', 'moment'], toolCalls: [{ name: 'slow', input: {} }] },
    { text: 'done' },
    { text: 'next answer' },
  ])
  const agent = createAgent({ name: 'desk', model, tools: [slow], store })
  return {
    server: serverOf([], { agents: [agent], store, ...options }),
    open() {
      gate.resolve()
      gate = Promise.withResolvers()
    },
    calls: () => calls,
  }
}

const texts = (...all: readonly string[]): readonly ScriptedStep[] => all.map((text) => ({ text }))

describe('a message', () => {
  test('that is regenerated has another answer, and the session with the first one stays', async () => {
    const server = serverOf(texts('first', 'second', 'third', 'after'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'hello' })
    await page.sendMessage({ text: 'and you?' })
    await page.regenerate()
    expect(shownIn(page)).toEqual(['user: hello', 'assistant: first', 'user: and you?', 'assistant: third'])
    await page.sendMessage({ text: 'thanks' })
    const messages = await history(server, 'c')
    expect(shownIn({ messages })).toEqual([
      'user: hello',
      'assistant: first',
      'user: and you?',
      'assistant: third',
      'user: thanks',
      'assistant: after',
    ])
    expect(messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id))
    const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
    const logs = await Promise.all(
      sessions.map(async ({ id }: { id: string }) => (await ask(server, `/api/agent/session/${id}`)).text()),
    )
    expect(logs).toHaveLength(2)
    expect(logs.filter((log) => log.includes('"second"'))).toHaveLength(1)
  })

  test('that is edited replaces what followed it, also the first message of a chat', async () => {
    const server = serverOf(texts('first', 'second', 'third'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'hello' })
    await page.sendMessage({ text: 'more' })
    const [first] = page.messages
    await page.sendMessage({ text: 'good day', messageId: first?.id ?? '' })
    const expected = ['user: good day', 'assistant: third']
    expect(shownIn(page)).toEqual(expected)
    expect(shownIn({ messages: await history(server, 'c') })).toEqual(expected)
  })

  test('can be edited after the page was loaded again', async () => {
    const server = serverOf(texts('first', 'second', 'third'))
    const before = pageOf(server, 'c')
    await before.sendMessage({ text: 'hello' })
    await before.sendMessage({ text: 'more' })
    const page = pageOf(server, 'c', { messages: [...(await history(server, 'c'))] })
    await page.sendMessage({ text: 'less', messageId: page.messages[2]?.id ?? '' })
    expect(shownIn(page)).toEqual(['user: hello', 'assistant: first', 'user: less', 'assistant: third'])
  })

  test('that is sent twice has one run, and both requests have its answer', async () => {
    const server = serverOf(texts('first', 'second'))
    const body = { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] }
    const send = async (): Promise<string> => (await ask(server, '/api/chat', { body })).text()
    const answers = [...(await Promise.all([send(), send()])), await send()]
    for (const answer of answers) expect(answer).toContain('first')
    expect(shownIn({ messages: await history(server, 'c') })).toEqual(['user: hello', 'assistant: first'])
  })

  test('of an unknown id cannot be replaced', async () => {
    const server = serverOf(texts('first'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'hello' })
    const message = { id: 'other', role: 'user', parts: [{ type: 'text', text: 'x' }] }
    const response = await ask(server, '/api/chat', { body: { id: 'c', message, messageId: 'other' } })
    expect([response.status, (await response.json()).error.code]).toEqual([404, 'unknown-message'])
  })

  test('during an answer begins a turn of its own behind it', async () => {
    const { server, open, calls } = gated()
    const page = pageOf(server, 'c')
    const first = page.sendMessage({ text: 'hello' })
    await expect.poll(calls).toBe(1)
    const other = pageOf(server, 'c', { messages: [...(await history(server, 'c'))] })
    const second = other.sendMessage({ text: 'me too' })
    await expect.poll(() => other.status).toBe('submitted')
    open()
    await Promise.all([first, second])
    expect(shownIn(page)).toEqual(['user: hello', 'assistant: one moment done'])
    expect(shownIn(other).slice(2)).toEqual(['user: me too', 'assistant: next answer'])
    const messages = await history(server, 'c')
    expect(shownIn({ messages })).toEqual([...shownIn(page), ...shownIn(other).slice(2)])
  })
})

/** What a page shows after it was loaded again. */
const reloaded = async (server: Server): Promise<readonly string[]> => shownIn({ messages: await history(server, 'c') })

/** Edits as assistant-ui does: the page cuts its list, and sends a new message. */
async function edit(page: Chat<UIMessage>, index: number, text: string): Promise<void> {
  page.messages = page.messages.slice(0, index)
  await page.sendMessage({ text })
}

describe('a message behind a list that the page has cut', () => {
  test('begins a branch there, and a page that is loaded again shows only this branch', async () => {
    const server = serverOf(texts('first', 'second', 'third', 'edited', 'after'))
    const page = pageOf(server, 'c')
    for (const text of ['one', 'two', 'three']) await page.sendMessage({ text })
    await edit(page, 2, 'TWO')
    const expected = ['user: one', 'assistant: first', 'user: TWO', 'assistant: edited']
    expect(shownIn(page)).toEqual(expected)
    expect(await reloaded(server)).toEqual(expected)
    await page.sendMessage({ text: 'go on' })
    expect(await reloaded(server)).toEqual([...expected, 'user: go on', 'assistant: after'])
    expect((await history(server, 'c')).map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id))
  })

  test('is the first of the chat if no message of the user is before it', async () => {
    const seen: number[] = []
    const store = memoryStore()
    const model = scriptedModel([
      { text: 'first' },
      ({ messages }) => {
        seen.push(messages.length)
        return { text: 'edited' }
      },
    ])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, store })], store })
    const greeting: UIMessage = { id: 'greeting', role: 'assistant', parts: [{ type: 'text', text: 'Welcome!' }] }
    const page = pageOf(server, 'c', { messages: [greeting] })
    await page.sendMessage({ text: 'one' })
    await edit(page, 1, 'ONE')
    expect(await reloaded(server)).toEqual(['user: ONE', 'assistant: edited'])
    expect(seen).toEqual([1])
  })

  test('returns to an older branch, whose messages can be regenerated and answered again', async () => {
    const server = serverOf(texts('first', 'second', 'edited', 'again', 'third'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'one' })
    await page.sendMessage({ text: 'two' })
    const older = page.messages
    await edit(page, 0, 'ONE')
    expect(await reloaded(server)).toEqual(['user: ONE', 'assistant: edited'])
    page.messages = older
    await page.regenerate()
    expect(await reloaded(server)).toEqual(['user: one', 'assistant: first', 'user: two', 'assistant: again'])
    page.messages = older
    await page.sendMessage({ text: 'three' })
    expect(await reloaded(server)).toEqual([...shownIn({ messages: older }), 'user: three', 'assistant: third'])
  })

  test('has one run, however often the request is repeated', async () => {
    const server = serverOf(texts('first', 'second', 'edited', 'too much'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'one' })
    await page.sendMessage({ text: 'two' })
    const message = { id: 'new', role: 'user', parts: [{ type: 'text', text: 'TWO' }] }
    const messages = [...page.messages.slice(0, 2), message]
    const body = { id: 'c', messages, trigger: 'submit-message' }
    for (let n = 0; n < 3; n++) expect(await (await ask(server, '/api/chat', { body })).text()).toContain('edited')
    expect(await reloaded(server)).toEqual(['user: one', 'assistant: first', 'user: TWO', 'assistant: edited'])
  })

  test('with an Idempotency-Key begins one branch too', async () => {
    const server = serverOf(texts('first', 'second', 'edited', 'too much'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'one' })
    await page.sendMessage({ text: 'two' })
    const message = { id: 'new', role: 'user', parts: [{ type: 'text', text: 'TWO' }] }
    const body = { id: 'c', messages: [...page.messages.slice(0, 2), message], trigger: 'submit-message' }
    const headers = { 'idempotency-key': 'k' }
    for (let n = 0; n < 3; n++)
      expect(await (await ask(server, '/api/chat', { body, headers })).text()).toContain('edited')
    expect(await reloaded(server)).toEqual(['user: one', 'assistant: first', 'user: TWO', 'assistant: edited'])
  })

  test('stops the answer in progress that the page does not show', async () => {
    const { server, calls } = gated()
    const page = pageOf(server, 'c')
    const asking = page.sendMessage({ text: 'hello' })
    await expect.poll(calls).toBe(1)
    await page.stop()
    await asking
    await edit(page, 0, 'good day')
    expect(await reloaded(server)).toEqual(['user: good day', 'assistant: done'])
    expect((await ask(server, '/api/chat/c/stream')).status).toBe(204)
  })

  test.each([
    ['the request has no trigger', {}, 'm2'],
    ['the chat has none of its messages', { trigger: 'submit-message' }, 'unknown'],
  ])('is sent at the end of the chat if %s', async (_, more, before) => {
    const server = serverOf(texts('first', 'second', 'third'))
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'one' })
    await page.sendMessage({ text: 'two' })
    const given = [before, 'm3'].map((id) => ({ id, role: 'user', parts: [{ type: 'text', text: id }] }))
    await (await ask(server, '/api/chat', { body: { id: 'c', messages: given, ...more } })).text()
    expect((await reloaded(server)).slice(2)).toEqual([
      'user: two',
      'assistant: second',
      'user: m3',
      'assistant: third',
    ])
  })
})

describe('an answer', () => {
  test('is complete when the page loads again in the middle of it: its replay has the same message', async () => {
    const { server, open, calls } = gated()
    const page = pageOf(server, 'c')
    void page.sendMessage({ text: 'hello' })
    await expect.poll(calls).toBe(1)
    await expect.poll(() => shownIn(page).at(-1)).toBe('assistant: one moment')
    const again = pageOf(server, 'c', { messages: [...(await history(server, 'c'))] })
    expect(shownIn(again)).toEqual(['user: hello', 'assistant: one moment'])
    const resumed = again.resumeStream()
    open()
    await resumed
    expect(shownIn(again)).toEqual(['user: hello', 'assistant: one moment done'])
    await expect.poll(() => page.status).toBe('ready')
    expect(partsIn(again.messages)).toEqual(partsIn(page.messages))
    expect(partsIn([...(await history(server, 'c'))])).toEqual(partsIn(page.messages))
  })

  test('that is over has no stream', async () => {
    const server = serverOf(texts('first'))
    const page = pageOf(server, 'c')
    expect((await ask(server, '/api/chat/c/stream')).status).toBe(204)
    await page.sendMessage({ text: 'hello' })
    expect((await ask(server, '/api/chat/c/stream')).status).toBe(204)
    await page.resumeStream()
    expect(shownIn(page)).toEqual(['user: hello', 'assistant: first'])
  })

  test('is stopped by the route, and the chat continues', async () => {
    const { server, calls } = gated()
    const page = pageOf(server, 'c')
    const sent = page.sendMessage({ text: 'hello' })
    await expect.poll(calls).toBe(1)
    const runId = page.messages.at(-1)?.id
    const stop = async (body: object): Promise<unknown> => (await ask(server, '/api/chat/c/stop', { body })).json()
    expect(await stop({ runId: 'another' })).toMatchObject({ stopped: false })
    expect(await stop({ runId })).toMatchObject({ stopped: true })
    await sent
    expect(await stop({})).toMatchObject({ stopped: false })
    await page.sendMessage({ text: 'go on' })
    expect(lastOf(page)).toBe('done')
  })

  test.each([
    ['continue', 'one moment done'],
    ['abort', 'one moment'],
  ] as const)('whose page leaves: onDisconnect %s', async (onDisconnect, text) => {
    const { server, open, calls } = gated({ chat: { onDisconnect } })
    const page = pageOf(server, 'c')
    void page.sendMessage({ text: 'hello' })
    await expect.poll(calls).toBe(1)
    await page.stop()
    open()
    await expect.poll(async () => shownIn({ messages: await history(server, 'c') }).at(-1)).toBe(`assistant: ${text}`)
    await expect.poll(async () => (await ask(server, '/api/chat/c/stream')).status).toBe(204)
  })

  test('that waits for an approval is in the history with it, and the same message has the rest', async () => {
    const store = memoryStore()
    const model = scriptedModel([
      { text: 'I refund', toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
      { text: 'done' },
    ])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, tools: [refund], store })], store })
    await pageOf(server, 'c').sendMessage({ text: 'refund 80' })
    const page = pageOf(server, 'c', {
      messages: [...(await history(server, 'c'))],
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    const part = page.messages.at(-1)?.parts.find(isToolUIPart)
    expect(part).toMatchObject({ type: 'tool-refund', state: 'approval-requested', input: { amount: 80 } })
    await page.addToolApprovalResponse({ id: part?.approval?.id ?? '', approved: true })
    await expect.poll(() => lastOf(page)).toBe('I refund done')
    expect(page.messages).toHaveLength(2)
    expect(page.messages.at(-1)?.parts.find(isToolUIPart)).toMatchObject({
      state: 'output-available',
      output: 'refunded 80',
    })
    await expect.poll(() => page.status).toBe('ready')
    const messages = await history(server, 'c')
    expect(messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id))
    expect(messages.at(-1)?.parts.find(isToolUIPart)).toMatchObject({ state: 'output-available' })
  })

  test('has its session, run, usage and cost as metadata', async () => {
    const server = serverOf([{ text: 'first', usage: { inputTokens: 7, outputTokens: 3 } }])
    const page = pageOf(server, 'c')
    await page.sendMessage({ text: 'hello' })
    expect(page.messages.at(-1)?.metadata).toMatchObject({
      sessionId: expect.stringMatching(/^chat-/u),
      runId: page.messages.at(-1)?.id,
      usage: { inputTokens: 7, outputTokens: 3 },
    })
  })
})

describe('a tool', () => {
  test('of the server is not called in the page, and shows its partial output', async () => {
    const store = memoryStore()
    const count = tool({
      name: 'count',
      effect: 'read',
      input: z.object({}),
      async *execute() {
        yield 'one '
        yield 'two'
      },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'count', input: {} }] }, { text: 'done' }])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, tools: [count], store })], store })
    const called: string[] = []
    const page = pageOf(server, 'c', {
      onToolCall: ({ toolCall }) => void called.push(toolCall.toolName),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    await page.sendMessage({ text: 'count' })
    expect(called).toEqual([])
    expect(page.messages.at(-1)?.parts.find(isToolUIPart)).toMatchObject({ providerExecuted: true, output: 'one two' })
  })

  test('of the page is called there, from the tools that its first request declares', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'locate', input: {} }] }, { text: 'in Oslo' }])
    const store = memoryStore()
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, store })], store })
    const page: Chat<UIMessage> = pageOf(server, 'c', {
      onToolCall: ({ toolCall: { toolCallId, toolName } }) =>
        void page.addToolOutput({ tool: toolName, toolCallId, output: 'Oslo' }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    const tools = { locate: { description: 'Where the user is.', parameters: { type: 'object', properties: {} } } }
    await page.sendMessage({ text: 'where am I?' }, { body: { tools } })
    await expect.poll(() => lastOf(page)).toBe('in Oslo')
  })
})

describe('a file', () => {
  const photo = Buffer.alloc(3_000_000, 'photo').toString('base64')
  const url = `data:image/png;base64,${photo}`

  test('is stored once, however often the page sends it, and the model receives its bytes', async () => {
    const seen: unknown[] = []
    const store = memoryStore()
    const model = scriptedModel([
      ({ messages }) => {
        seen.push(JSON.stringify(messages.at(-1)).length > photo.length)
        return { text: 'a photo' }
      },
      { text: 'again' },
    ])
    const server = serverOf([], { agents: [createAgent({ name: 'desk', model, store })], store })
    const page = pageOf(server, 'c')
    const files = [{ type: 'file' as const, mediaType: 'image/png', filename: 'p.png', url }]
    await page.sendMessage({ text: 'look', files })
    expect([page.status, seen]).toEqual(['ready', [true]])
    await page.sendMessage({ text: 'once more', files })
    const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
    let size = 0
    for await (const entry of store.read(sessions[0].id)) size += JSON.stringify(entry).length
    expect(size).toBeLessThan(50_000)

    const messages = await history(server, 'c')
    const file = messages[0]?.parts.find((part) => part.type === 'file')
    expect(file).toMatchObject({ mediaType: 'image/png', filename: 'p.png' })
    const address = file?.type === 'file' ? file.url : ''
    const response = await ask(server, address)
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(photo, 'base64'))).toBe(true)
    expect(response.headers.get('content-security-policy')).toContain('sandbox')
    expect((await ask(server, address, { as: 'bob' })).status).toBe(404)
    expect((await ask(server, `/api/chat/c/file?hash=${'0'.repeat(64)}`)).status).toBe(404)
  })

  test('of the history can be sent again by its address', async () => {
    const store = memoryStore()
    const seen: boolean[] = []
    const step = ({ messages }: { messages: readonly unknown[] }) => {
      seen.push(JSON.stringify(messages).includes(photo.slice(0, 1_000)))
      return { text: 'ok' }
    }
    const agent = createAgent({ name: 'desk', model: scriptedModel([step, step]), store })
    const server = serverOf([], { agents: [agent], store })
    await pageOf(server, 'c').sendMessage({ text: 'look', files: [{ type: 'file', mediaType: 'image/png', url }] })
    const page = pageOf(server, 'c', { messages: [...(await history(server, 'c'))] })
    await page.regenerate()
    expect([page.status, seen]).toEqual(['ready', [true, true]])
  })

  test('whose type the browser does not know is a file of bytes', async () => {
    const server = serverOf(texts('first'))
    const page = pageOf(server, 'c')
    const bytes = `data:application/octet-stream;base64,${Buffer.from('x').toString('base64')}`
    await page.sendMessage({ text: 'look', files: [{ type: 'file', mediaType: '', filename: 'a.xyz', url: bytes }] })
    expect((await history(server, 'c'))[0]?.parts[0]).toEqual({
      type: 'file',
      mediaType: 'application/octet-stream',
      filename: 'a.xyz',
      url: bytes,
    })
  })
})
