import { checkArguments } from '@provost/core'

import { tableKeys } from './table-keys.ts'

/** The day the built-in windows were last checked. */
export const windowsAsOf: string = '2026-11-22'

/**
 * Returns the tokens of the context window of a model; `undefined` if it is unknown.
 *
 * @param model `provider/model`; a leading `gateway/`, a date at the end and the gateway's dots make no difference.
 *
 * @example
 * windowOf('anthropic/claude-haiku-4-5') // 200_000
 */
export function windowOf(model: string): number | undefined {
  checkArguments('windowOf', [model], ['text'])
  for (const key of tableKeys(model)) if (windows.has(key)) return windows.get(key)
  return undefined
}

/** By provider, then by window. A model whose window was not certain is absent. */
const table: readonly (readonly [provider: string, tokens: number, models: readonly string[]])[] = [
  ['anthropic', 1_000_000, ['claude-fable-5-1', 'claude-fable-5', 'claude-opus-5-5', 'claude-opus-5']],
  ['anthropic', 1_000_000, ['claude-opus-4-8', 'claude-opus-4-7', 'claude-opus-4-6']],
  ['anthropic', 1_000_000, ['claude-sonnet-5-5', 'claude-sonnet-5', 'claude-haiku-5-5']],
  // A larger window needs a beta header.
  ['anthropic', 200_000, ['claude-sonnet-4-6', 'claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5']],
  ['openai', 1_050_000, ['gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-5.5', 'gpt-5.4']],
  ['openai', 400_000, ['gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.2', 'gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano']],
  ['openai', 1_047_576, ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano']],
  ['openai', 200_000, ['o3', 'o4-mini']],
  ['openai', 128_000, ['gpt-4o', 'gpt-4o-mini']],
  ['google', 1_048_576, ['gemini-3.1-pro-preview', 'gemini-3-flash', 'gemini-3-flash-preview']],
  ['google', 1_048_576, ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite']],
]

const windows: ReadonlyMap<string, number> = new Map(
  table.flatMap(([provider, tokens, models]) => models.map((model) => [`${provider}/${model}`, tokens] as const)),
)
