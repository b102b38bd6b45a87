import { windowOf } from '@provost/provider'
import { expect, it } from 'vitest'

it('the window of a model is found under its name, with a date, and through the gateway', () => {
  for (const name of [
    'anthropic/claude-haiku-4-5',
    'anthropic/claude-haiku-4-5-20251001',
    'gateway/anthropic/claude-haiku-4.5',
  ])
    expect(windowOf(name)).toBe(200_000)
  expect(windowOf('openai/gpt-4o-2024-08-06')).toBe(128_000)
})

it('the window of a model is undefined where it is not known', () => {
  for (const name of ['azure/gpt-4o', 'local/llama', 'openai/constructor', '']) expect(windowOf(name)).toBeUndefined()
})
