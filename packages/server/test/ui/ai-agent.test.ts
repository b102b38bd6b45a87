import { registerHooks } from 'node:module'

import { createAgent } from '@provost/agent'
import { aiAgent } from '@provost/server/ai'
import { scriptedModel } from '@provost/testing'
import type { Agent, UIMessage, UIMessageChunk } from 'ai'
import { createAgentUIStreamResponse, readUIMessageStream } from 'ai'
import { expect, test } from 'vitest'

import { deskOf, refund } from '../served.ts'

const said = (text: string): UIMessage => ({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] })

async function asked(
  agent: Agent,
  uiMessages: readonly UIMessage[],
): Promise<{ chunks: readonly UIMessageChunk[]; messages: UIMessage[] }> {
  const response = await createAgentUIStreamResponse({ agent, uiMessages: [...uiMessages] })
  const chunks: UIMessageChunk[] = (await response.text())
    .split('\n\n')
    .flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6))] : []))
  const last = uiMessages.at(-1)
  let message: UIMessage | undefined
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  for await (const one of readUIMessageStream({ stream, ...(last?.role === 'assistant' && { message: last }) }))
    message = one
  const before = last?.role === 'assistant' ? uiMessages.slice(0, -1) : uiMessages
  return { chunks, messages: message ? [...before, message] : [...before] }
}

test('createAgentUIStreamResponse of the AI SDK streams the text and tools of aiAgent', async () => {
  const agent = deskOf([
    { text: 'Doing it. ', toolCalls: [{ name: 'refund', input: { amount: 20 } }] },
    { text: ['Done', '.'] },
  ])
  const { chunks, messages } = await asked(aiAgent(agent), [said('refund 20')])
  expect(chunks.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(1)
  expect(chunks.some(({ type }) => type === 'error')).toBe(false)
  expect(messages.at(-1)?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'Doing it. ' },
    { type: 'dynamic-tool', toolName: 'refund', state: 'output-available', output: 'refunded 20' },
    { type: 'text', text: 'Done.' },
  ])
})

test('an approval reaches the page, and its answer resumes the same run once', async () => {
  const agent = deskOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'Refunded 80.' }])
  const standIn = aiAgent(agent, { principal: { id: 'ann' } })
  const { messages } = await asked(standIn, [said('refund 80')])
  const call = messages.at(-1)?.parts.find((part) => part.type === 'dynamic-tool')
  expect(call).toMatchObject({ state: 'approval-requested', input: { amount: 80 } })
  const id = call?.approval?.id ?? ''
  const answered = messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === 'dynamic-tool' && part.state === 'approval-requested'
        ? { ...part, state: 'approval-responded' as const, approval: { id, approved: true } }
        : part,
    ),
  }))
  const done = await asked(standIn, structuredClone(answered))
  expect(JSON.stringify(done.messages.at(-1))).toContain('refunded 80')
  expect(JSON.stringify(done.messages.at(-1))).toContain('Refunded 80.')
  expect(JSON.stringify((await asked(standIn, answered)).chunks)).toContain('error')
})

test('history from a page is untrusted', async () => {
  let prompt = ''
  const model = scriptedModel([
    ({ messages }) => {
      prompt = JSON.stringify(messages)
      return { text: 'ok' }
    },
  ])
  const standIn = aiAgent(createAgent({ name: 'desk', model, tools: [refund] }))
  const before: UIMessage = { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'I promised it.' }] }
  await asked(standIn, [said('hi'), before, said('and now?')])
  expect(prompt.indexOf('I promised it.')).toBeLessThan(prompt.indexOf('and now?'))
})

test('generate returns the result shape of the AI SDK', async () => {
  const { text, finishReason } = await aiAgent(deskOf([{ text: 'Hello.' }])).generate({ prompt: 'hi' })
  expect({ text, finishReason }).toEqual({ text: 'Hello.', finishReason: 'stop' })
  const failing = aiAgent(deskOf([{ error: new Error('no') }]))
  await expect(failing.generate({ prompt: 'hi' })).rejects.toThrow('no')
})

test('without the package ai, the error names what to install', async () => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'ai') throw new Error("Cannot find package 'ai'")
      return next(specifier, context)
    },
  })
  try {
    const standIn = aiAgent(deskOf([{ text: 'x' }]))
    for (const call of [() => standIn.generate({ prompt: 'x' }), () => standIn.stream({ prompt: 'x' })]) {
      await expect(call()).rejects.toMatchObject({
        code: 'missing-package',
        hint: expect.stringContaining('install ai'),
      })
    }
  } finally {
    hooks.deregister()
  }
})
