import { anthropic, createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI, openai } from '@ai-sdk/openai'
import { createAgent } from '@provost/agent'
import { isRecord, labelOf, wireToolName } from '@provost/core'
import { assertWellFormed, startAimock } from '@provost/testing'
import type { Aimock } from '@provost/testing'
import { tool } from '@provost/tools'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { only, watch } from '../hooks/hook-scenario.ts'

let server: Aimock
beforeAll(async () => {
  server = await startAimock()
})
afterAll(() => server.close())

const look = tool({ name: 'look', effect: 'read', input: z.object({}), execute: () => 'seen' })
const fromOpenai = () => createOpenAI({ baseURL: server.baseURL, apiKey: 'test' })('gpt-5')
const fromAnthropic = () => createAnthropic({ baseURL: server.baseURL, apiKey: 'test' })('claude-sonnet-5')

/** The tools of the last request, as they went over the wire. */
function sentTools(): unknown {
  const body = server.requests.at(-1)?.body
  return isRecord(body) ? body['tools'] : undefined
}

test('a tool that OpenAI runs goes to it as it is; its result is in the answer, untrusted, and goes back', async () => {
  const agent = createAgent({
    name: 'desk',
    model: fromOpenai(),
    tools: [look, openai.tools.webSearch({ searchContextSize: 'low' })],
  })
  expect(agent.registry.get('web_search')).toMatchObject({ effect: 'egress', remote: false })
  server.play(
    { webSearches: ['weather in Oslo'], text: 'It rains.', toolCalls: [{ name: 'look', input: {} }] },
    { text: 'It rains.' },
  )
  const { events, result } = await watch(agent.stream('Does it rain?'))
  expect(result).toMatchObject({ status: 'completed', text: 'It rains.' })
  expect(sentTools()).toMatchObject([
    { type: 'function', name: 'look' },
    { type: 'web_search', search_context_size: 'low' },
  ])
  expect(only(events, 'tool.call.end')).toMatchObject([
    { toolName: 'web_search', providerExecuted: true },
    { toolName: 'look' },
  ])
  // The provider ran it: here nothing is judged or executed.
  expect(only(events, 'tool.execute.end').map(({ toolName }) => toolName)).toEqual(['look'])
  const answer = result.messages.find(({ role }) => role === 'assistant')
  expect(answer?.content).toMatchObject([
    { type: 'tool-call', toolName: 'web_search', providerExecuted: true },
    { type: 'tool-result', toolName: 'web_search', label: { integrity: 'untrusted', sources: ['web_search'] } },
    { type: 'text', text: 'It rains.' },
    { type: 'tool-call', toolName: 'look' },
  ])
  expect(answer && labelOf(answer)).toMatchObject({
    integrity: 'untrusted',
    sources: expect.arrayContaining(['web_search']),
  })
  expect(() => assertWellFormed(result.messages)).not.toThrow()
})

test('a tool that Anthropic runs goes to it as it is, and a provider that does not have it leaves it out', async () => {
  const tools = { search: anthropic.tools.webSearch_20250305({ maxUses: 2 }), look }
  server.play({ text: 'done' }, { text: 'done' })
  expect(await createAgent({ name: 'desk', model: fromAnthropic(), tools }).run('go')).toMatchObject({ text: 'done' })
  expect(sentTools()).toMatchObject([
    { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
    { name: 'look' },
  ])
  expect(await createAgent({ name: 'desk', model: fromOpenai(), tools }).run('go')).toMatchObject({ text: 'done' })
  expect(sentTools()).toMatchObject([{ name: 'look' }])
})

test('a tool that a provider defines and we run gets its calls here', async () => {
  const commands: unknown[] = []
  const bash = anthropic.tools.bash_20250124({
    execute: ({ command }) => {
      commands.push(command)
      return 'ok'
    },
  })
  server.play({ toolCalls: [{ name: 'bash', input: { command: 'ls' } }] }, { text: 'done' })
  const agent = createAgent({ name: 'desk', model: fromAnthropic(), tools: { bash } })
  expect(await agent.run('go')).toMatchObject({ status: 'completed', text: 'done' })
  expect(commands).toEqual(['ls'])
})

test.each([
  ['OpenAI', fromOpenai],
  ['Anthropic', fromAnthropic],
])('%s gets odd tool names in a safe form, and its calls arrive under the real ones', async (_, model) => {
  const odd = tool({ name: 'github/søk.v2', effect: 'read', input: z.object({}), execute: () => 'found it' })
  server.play({ toolCalls: [{ name: wireToolName(odd.name), input: {} }] }, { text: 'done' })
  const { events, result } = await watch(createAgent({ name: 'desk', model: model(), tools: [odd] }).stream('go'))
  expect(result.status).toBe('completed')
  expect(only(events, 'tool.execute.end')).toMatchObject([{ toolName: 'github/søk.v2', output: { value: 'found it' } }])
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('found it')
})
