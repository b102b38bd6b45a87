import { windowOf } from '@provost/provider'
import { expect, it } from 'vitest'

it('windowOf finds a model by its name, with a date, and through the gateway', () => {
  for (const name of [
    'anthropic/claude-haiku-4-5',
    'anthropic/claude-haiku-4-5-20251001',
    'gateway/anthropic/claude-haiku-4.5',
  ])
    expect(windowOf(name)).toBe(200_000)
  expect(windowOf('openai/gpt-4o-2024-08-06')).toBe(128_000)
})

it('windowOf returns undefined for an unknown model', () => {
  for (const name of ['azure/gpt-4o', 'local/llama', 'openai/constructor', '']) expect(windowOf(name)).toBeUndefined()
})
