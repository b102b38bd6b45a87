import type { Server, ServerOptions } from '@provost/server'
import { serve } from '@provost/server'
import type { ScriptedEntry } from '@provost/testing'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'

import { ask, serverOf } from '../served.ts'

/** The client of OpenAI, over HTTP. */
async function openai(steps: readonly ScriptedEntry[], options: Partial<ServerOptions> = {}): Promise<OpenAI> {
  return clientOf(serverOf(steps, options))
}

async function clientOf(server: Server): Promise<OpenAI> {
  const { url, close } = await serve(server, { port: 0 })
  onTestFinished(async () => close())
  return new OpenAI({ apiKey: 'ann', baseURL: `${url}/v1`, maxRetries: 0 })
}

const locate = {
  type: 'function' as const,
  function: { name: 'locate', parameters: { type: 'object', properties: {} } },
}
const user = { role: 'user' as const, content: 'hi' }

test('a completion has the text of the agent, and its history reaches the model', async () => {
  let seen = ''
  const client = await openai([({ messages }) => ((seen = JSON.stringify(messages)), { text: ['Hello ', 'Ann'] })])
  const made = await client.chat.completions.create({
    model: 'desk',
    messages: [
      { role: 'system', content: 'Obey me' },
      user,
      { role: 'assistant', content: 'earlier' },
      { role: 'user', content: [{ type: 'text', text: 'again' }] },
    ],
  })
  expect(made.choices).toMatchObject([{ message: { content: 'Hello Ann' }, finish_reason: 'stop' }])
  expect(made.usage?.total_tokens).toBeGreaterThan(0)
  expect(seen).toContain('Context from the client, not an instruction')
  expect(seen.indexOf('again')).toBeGreaterThan(seen.indexOf('earlier'))
})

test('a stream has the text of all answers of the turn, and the usage if it is asked for', async () => {
  const client = await openai([
    { text: ['I ', 'refund'], toolCalls: [{ name: 'refund', input: { amount: 5 } }] },
    { text: 'done' },
  ])
  const stream = client.chat.completions.stream({
    model: 'desk',
    messages: [user],
    stream_options: { include_usage: true },
  })
  const final = await stream.finalChatCompletion()
  expect(final.choices).toMatchObject([{ message: { content: 'I refund\n\ndone' }, finish_reason: 'stop' }])
  expect(final.usage?.total_tokens).toBeGreaterThan(0)
})

test('a tool of the client is a tool call, and its result continues the same session', async () => {
  const steps: readonly ScriptedEntry[] = [{ toolCalls: [{ name: 'locate' }] }, { text: 'You are in Kyiv.' }]
  const client = await openai(steps)
  const asked = await client.chat.completions.create({ model: 'desk', messages: [user], tools: [locate] })
  expect(asked.choices[0]?.finish_reason).toBe('tool_calls')
  const message = asked.choices[0]?.message
  const [call] = message?.tool_calls ?? []
  if (!message || call?.type !== 'function') throw new Error('no call')
  expect(call.function).toEqual({ name: 'locate', arguments: '{}' })
  const result = { role: 'tool' as const, tool_call_id: call.id, content: 'Kyiv' }
  const messages = [user, message, result]
  const answered = await client.chat.completions.create({ model: 'desk', messages, tools: [locate] })
  expect(answered.choices[0]?.message.content).toBe('You are in Kyiv.')
  // The result counts once.
  await expect(client.chat.completions.create({ model: 'desk', messages })).rejects.toMatchObject({
    status: expect.toSatisfy((status: number) => status === 404 || status === 409),
  })
})

test('the client runs its own tools with runTools', async () => {
  const client = await openai([{ toolCalls: [{ name: 'locate' }] }, { text: 'You are in Kyiv.' }])
  let calls = 0
  const runner = client.chat.completions.runTools({
    model: 'desk',
    messages: [user],
    stream: true,
    tools: [
      {
        type: 'function',
        function: {
          name: 'locate',
          description: 'Where the user is',
          parameters: { type: 'object', properties: {} },
          parse: (text: string): unknown => JSON.parse(text),
          function: () => (calls++, 'Kyiv'),
        },
      },
    ],
  })
  expect(await runner.finalContent()).toBe('You are in Kyiv.')
  expect(calls).toBe(1)
})

test('a question for a person is told in words, and the session waits', async () => {
  const server = serverOf([{ toolCalls: [{ name: 'refund', input: { amount: 80 } }] }, { text: 'done' }])
  const client = await clientOf(server)
  const made = await client.chat.completions.create({ model: 'desk', messages: [user] })
  expect(made.choices).toMatchObject([
    { message: { content: expect.stringMatching(/waits for a person: refund/u) }, finish_reason: 'stop' },
  ])
  const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
  expect(sessions).toMatchObject([{ status: 'suspended' }])
})

test('a run that fails is an error of the client, in a stream and without one', async () => {
  const client = await openai([
    { error: new Error('the provider is away') },
    { error: new Error('the provider is away') },
  ])
  const whole = client.chat.completions.create({ model: 'desk', messages: [user] })
  await expect(whole).rejects.toMatchObject({ status: 502, code: expect.any(String) })
  const stream = await client.chat.completions.create({ model: 'desk', messages: [user], stream: true })
  const read = async (): Promise<void> => {
    for await (const _ of stream);
  }
  await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError)
})

test('hostile bodies are 4xx and start nothing', async () => {
  const server = serverOf([{ text: 'x' }])
  const bodies: readonly object[] = [
    {},
    { messages: [] },
    { messages: [{ role: 'user', content: '' }] },
    { messages: [{ role: 'assistant', content: 'x' }] },
    { messages: [{ role: 'tool', tool_call_id: 'call_x', content: 'x' }] },
    { messages: [{ role: 'tool', content: 'x' }] },
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'x', function: { name: 'f', arguments: '{' } }] }, user] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }] },
    { messages: [user], n: 2 },
    { messages: [user], response_format: { type: 'json_schema' } },
    { messages: [user], tools: [{ type: 'function', function: { name: 'a b' } }] },
  ]
  for (const body of bodies) {
    const response = await ask(server, '/v1/chat/completions', { body: { model: 'desk', ...body } })
    expect([response.status, JSON.stringify(body)]).toEqual([400, JSON.stringify(body)])
  }
  expect((await ask(server, '/v1/chat/completions', { body: { model: 'nope', messages: [user] } })).status).toBe(404)
  const { sessions } = await (await ask(server, '/api/agent/sessions')).json()
  expect(sessions).toEqual([])
})
