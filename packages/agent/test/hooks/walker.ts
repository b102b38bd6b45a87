import type { LanguageModelV4 } from '@provost/core'
import { scriptedModel } from '@provost/testing'
import { tool } from '@provost/tools'
import { z } from 'zod'

export const look = tool({
  name: 'look',
  input: z.object({ n: z.number() }),
  effect: 'read',
  execute: ({ n }) => ({ n, found: 'nothing' }),
})

/** So many steps with a text and two calls each, then an answer. It looks only at the length of what it is sent. */
export function model(steps: number, seen?: (prompt: readonly object[]) => void): LanguageModelV4 {
  return scriptedModel(
    [
      ({ messages }) => {
        seen?.(messages)
        const step = (messages.length - 1) / 2
        if (step >= steps - 1) return { text: 'Done.', usage: { inputTokens: 1, outputTokens: 1 } }
        const toolCalls = [0, 1].map((n) => ({ name: 'look', input: { n }, id: 'call_0' }))
        return { text: `Step ${step}.`, toolCalls, usage: { inputTokens: 1, outputTokens: 1 } }
      },
    ],
    { after: 'repeat-last' },
  )
}
