import { createAgent } from '@provost/agent'
import { memoryStore } from '@provost/sessions'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import type { UIMessage } from 'ai'
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
} from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ask, serverOf } from '../served.ts'

/** The state and the requests of `useChat`, without a page. */
function chatOf(
  server: ReturnType<typeof serverOf>,
  id: string,
): { messages: UIMessage[]; send(message?: UIMessage): Promise<UIMessage> } {
  const transport = new DefaultChatTransport({
    api: 'http://localhost/api/chat',
    headers: { authorization: 'Bearer ann' },
    fetch: async (url, init) => server.fetch(new Request(url, init)),
  })
  const messages: UIMessage[] = []
  return {
    messages,
    async send(message) {
      if (message) messages.push(message)
      const before = messages.at(-1)
      const goesOn = before?.role === 'assistant' ? before : undefined
      const stream = await transport.sendMessages({
        trigger: 'submit-message',
        chatId: id,
        messageId: undefined,
        messages,
        abortSignal: undefined,
      })
      let answer: UIMessage | undefined
      for await (const state of readUIMessageStream({ stream, ...(goesOn && { message: goesOn }) })) answer = state
      if (!answer) throw new Error('no answer')
      if (goesOn) messages.pop()
      messages.push(answer)
      return answer
    },
  }
}

const user = (text: string): UIMessage => ({ id: text, role: 'user', parts: [{ type: 'text', text }] })

test('useChat receives text, tool parts and an approval, and the server keeps the history', async () => {
  const server = serverOf([
    { text: ['I ', 'refund'], toolCalls: [{ name: 'refund', input: { amount: 80 } }] },
    { text: 'done' },
    { text: 'bye' },
  ])
  const chat = chatOf(server, 'c1')
  const first = await chat.send(user('refund 80'))
  expect(first.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'I refund', state: 'done' },
    { type: 'tool-refund', state: 'approval-requested', input: { amount: 80 } },
  ])
  const [part] = first.parts.filter((one) => isToolUIPart(one))
  if (part?.state !== 'approval-requested') throw new Error('nothing to approve')
  const answered = { ...part, state: 'approval-responded' as const, approval: { id: part.approval.id, approved: true } }
  chat.messages[1] = { ...first, parts: first.parts.map((one) => (one === part ? answered : one)) }
  expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: chat.messages })).toBe(true)
  const second = await chat.send()
  expect(second.parts.find((one) => isToolUIPart(one))).toMatchObject({
    state: 'output-available',
    output: 'refunded 80',
  })
  expect(second.parts.at(-1)).toMatchObject({ type: 'text', text: 'done' })
  const third = await chat.send(user('thanks'))
  expect(third.parts.at(-1)).toMatchObject({ text: 'bye' })
})

test('a tool part in state output-error fails its remote call', async () => {
  const told: unknown[] = []
  const store = memoryStore()
  const page = createAgent({
    name: 'page',
    model: scriptedModel([
      { toolCalls: [{ name: 'locate' }] },
      ({ messages }) => {
        const [part] = messages.findLast(({ role }) => role === 'tool')?.content ?? []
        if (typeof part === 'object' && part.type === 'tool-result') told.push(part.output)
        return { text: 'where are you?' }
      },
    ]),
    tools: [tool({ name: 'locate', input: z.object({}) })],
    store,
  })
  const chat = chatOf(serverOf([], { agents: [page], store }), 'c4')
  const first = await chat.send(user('find me'))
  const [part] = first.parts.filter((one) => isToolUIPart(one))
  if (part?.state !== 'input-available') throw new Error('nothing to do')
  const failed = { ...part, state: 'output-error' as const, errorText: `denied${'!'.repeat(20_000)}` }
  chat.messages[1] = { ...first, parts: first.parts.map((one) => (one === part ? failed : one)) }
  const second = await chat.send()
  expect(second.parts.find((one) => isToolUIPart(one))).toMatchObject({ state: 'output-error' })
  expect(second.parts.at(-1)).toMatchObject({ text: 'where are you?' })
  expect(told).toEqual([{ type: 'error-text', value: expect.stringMatching(/^denied!{3000,4000}…$/u) }])
})

test('a denial or a new message does not approve', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'as you wish' }])
  const chat = chatOf(server, 'c2')
  const first = await chat.send(user('refund'))
  const [part] = first.parts.filter((one) => isToolUIPart(one))
  if (part?.state !== 'approval-requested') throw new Error('nothing to approve')
  const denied = { ...part, state: 'approval-responded' as const, approval: { id: part.approval.id, approved: false } }
  chat.messages[1] = { ...first, parts: first.parts.map((one) => (one === part ? denied : one)) }
  const second = await chat.send()
  expect(second.parts.find((one) => isToolUIPart(one))).toMatchObject({ state: 'output-denied' })
  const talking = chatOf(
    serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'hello' }]),
    'c3',
  )
  await talking.send(user('refund'))
  const next = await talking.send(user('never mind'))
  expect(next.parts.filter(({ type }) => type !== 'step-start')).toMatchObject([{ type: 'text', text: 'hello' }])
})

test('a chat id of another principal is another session', async () => {
  const server = serverOf([{ text: 'x' }])
  const send = async (as: string): Promise<string | null> => {
    const response = await ask(server, '/api/chat', { as, body: { id: 'same', messages: [user('hi')] } })
    await response.text()
    return response.headers.get('x-session-id')
  }
  expect(await send('ann')).not.toBe(await send('bob'))
  expect((await ask(server, '/api/chat', { body: { id: 'x', messages: [] } })).status).toBe(400)
})

test('an idle stream sends heartbeats over every protocol', async () => {
  const server = serverOf([{ stall: true }, { stall: true }, { stall: true }], { limits: { heartbeatMs: 10 } })
  const part = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  const asked: Record<string, object> = {
    '/api/agent/execute': { input: 'x' },
    '/api/chat': { id: 'c', messages: [part] },
    '/a2a/desk': { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } },
  }
  for (const [path, body] of Object.entries(asked)) {
    const response = await ask(server, path, { body, headers: { 'a2a-version': '1.0' } })
    const decoder = new TextDecoder()
    let said = ''
    for await (const bytes of response.body ?? []) {
      said += decoder.decode(bytes, { stream: true })
      if (said.includes('\n\n: still here\n\n')) break
    }
    expect(`${path}: ${said}`).toContain('\n\n: still here\n\n')
  }
  await server.close({ graceMs: 0 })
})
