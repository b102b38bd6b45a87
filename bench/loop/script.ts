import { z } from 'zod'

import type { Tally } from './contender.ts'

/**
 * The script all contenders follow: every step says one chunk of text and makes one call, the last one only talks.
 * A step is one request to the model, so a run of n steps has n - 1 calls.
 */
export const question = 'Look at all items, one after the other.'
export const chunk = 'Looking at the next item. '
export const closing = 'All of them are in order.'
export const toolName = 'look'
export const toolDescription = 'Looks at an item.'
export const inputSchema = z.object({ item: z.number() })

export function look(item: number): string {
  return `item ${item} is in order`
}

/** Throws unless the run did all of the script and told all of it. */
export function check(name: string, steps: number, tally: Tally, chunks = 1): void {
  const calls = steps - 1
  // The question, then what was said and what the tool returned, at every step.
  const text = closing.repeat(chunks)
  const expected = { executed: calls, chunks: steps * chunks, results: calls, prompt: 1 + 2 * calls, text }
  const wrong = (['executed', 'chunks', 'results', 'text'] as const).filter((key) => tally[key] !== expected[key])
  if (wrong.length === 0 && tally.prompt >= expected.prompt) return
  throw new Error(`${name} did not follow the script: ${JSON.stringify(tally)} instead of ${JSON.stringify(expected)}`)
}

/** The text of an answer in as many pieces. */
export function piecesOf(text: string, chunks: number): readonly string[] {
  return Array.from({ length: chunks }, () => text)
}

/** Providers report usage with each answer; a runtime that counts tokens itself does so only where they do not. */
export const usage = { inputTokens: 120, outputTokens: 16 } as const
