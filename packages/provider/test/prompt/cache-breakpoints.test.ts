import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { withCachePoints } from '@provost/provider'
import { scriptedModel } from '@provost/testing'
import { expect, it } from 'vitest'

const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: 'You help.' },
  { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  { role: 'assistant', content: [{ type: 'text', text: 'hello' }] },
  { role: 'user', content: [{ type: 'text', text: 'It rains.' }] },
]
const point = { anthropic: { cacheControl: { type: 'ephemeral' } } }

function points(provider: string, lasting: number, settings = {}) {
  const call = withCachePoints({ model: scriptedModel([], { provider }), prompt, settings, lasting, key: 'k' })
  return {
    settings: call.settings,
    at: call.prompt.flatMap(({ providerOptions }, at) => (providerOptions ? [at] : [])),
    call,
  }
}

it('Anthropic gets one behind the system prompt, and its own behind the history', () => {
  expect(points('anthropic.messages', 4)).toMatchObject({ at: [0], settings: { providerOptions: point } })
})

it('Anthropic gets one in front of the tail where there is one, and where it is behind another cloud', () => {
  expect(points('anthropic.messages', 3)).toMatchObject({ at: [0, 2], settings: {} })
  expect(points('vertex.anthropic.messages', 4)).toMatchObject({ at: [0, 3], settings: {} })
})

it('OpenAI gets a key, and others nothing', () => {
  expect(points('openai.responses', 4)).toMatchObject({
    at: [],
    settings: { providerOptions: { openai: { promptCacheKey: 'k' } } },
  })
  expect(points('scripted', 4)).toMatchObject({ at: [], settings: {} })
})

it('what the settings say of it holds', () => {
  const own = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } } }
  expect(points('anthropic.messages', 4, own)).toMatchObject({ at: [], settings: own })
  expect(points('anthropic.messages', 4, { promptCaching: 'off' })).toMatchObject({ at: [] })
  expect(points('openai.chat', 4, { providerOptions: { openai: { promptCacheKey: 'mine' } } }).settings).toEqual({
    providerOptions: { openai: { promptCacheKey: 'mine' } },
  })
})

it('the prompt that was given is not changed, and the same messages become the same objects', () => {
  const [first, second] = [points('anthropic.messages', 3).call, points('anthropic.messages', 3).call]
  expect(prompt.every((message) => !('providerOptions' in message))).toBe(true)
  for (const [at, message] of first.prompt.entries()) expect(second.prompt[at]).toBe(message)
})
