import { scriptedModel } from '@provost/testing'
import type { ScriptedStep } from '@provost/testing'

import type { Tally } from './contender.ts'
import { chunk, closing, piecesOf, toolName, usage } from './script.ts'

/** The script as an AI SDK model; it serves one run after the other. */
export function aiSdkModel(steps: number, tally: () => Tally, chunks = 1): ReturnType<typeof scriptedModel> {
  const [talk, end] = [piecesOf(chunk, chunks), piecesOf(closing, chunks)]
  function answer({ messages }: { messages: readonly unknown[] }, call: number): ScriptedStep {
    const step = call % steps
    tally().prompt = messages.length
    if (step === steps - 1) return { text: end, usage }
    return { text: talk, toolCalls: [{ name: toolName, input: { item: step } }], usage }
  }
  return scriptedModel([answer], { after: 'repeat-last' })
}
