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

it('a prompt for Anthropic has a breakpoint behind the system prompt, and an automatic one behind the history', () => {
  expect(points('anthropic.messages', 4)).toMatchObject({ at: [0], settings: { providerOptions: point } })
})

it('a prompt for Anthropic has a breakpoint in front of the tail, also on other clouds', () => {
  expect(points('anthropic.messages', 3)).toMatchObject({ at: [0, 2], settings: {} })
  expect(points('vertex.anthropic.messages', 4)).toMatchObject({ at: [0, 3], settings: {} })
})

it('a prompt for OpenAI has a cache key, and one for other providers has nothing', () => {
  expect(points('openai.responses', 4)).toMatchObject({
    at: [],
    settings: { providerOptions: { openai: { promptCacheKey: 'k' } } },
  })
  expect(points('scripted', 4)).toMatchObject({ at: [], settings: {} })
})

it('settings of the caller take precedence', () => {
  const own = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } } }
  expect(points('anthropic.messages', 4, own)).toMatchObject({ at: [], settings: own })
  expect(points('anthropic.messages', 4, { promptCaching: 'off' })).toMatchObject({ at: [] })
  expect(points('openai.chat', 4, { providerOptions: { openai: { promptCacheKey: 'mine' } } }).settings).toEqual({
    providerOptions: { openai: { promptCacheKey: 'mine' } },
  })
})

it('the input prompt stays unchanged, and equal messages become the same objects', () => {
  const [first, second] = [points('anthropic.messages', 3).call, points('anthropic.messages', 3).call]
  expect(prompt.every((message) => !('providerOptions' in message))).toBe(true)
  for (const [at, message] of first.prompt.entries()) expect(second.prompt[at]).toBe(message)
})
