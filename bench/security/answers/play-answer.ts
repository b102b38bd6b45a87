import { createAgent, memoryStore, tool } from 'provost'
import type { Tool } from 'provost'
import { dataFlowPolicy } from 'provost/governance'
import { scriptedModel } from 'provost/testing'

import type { HonestAnswer, Read } from './honest-answers.ts'

/** What became of an answer: `kept` as it was written, `changed` where a link was taken out, or `withheld` as a whole. */
export type AnswerOutcome = 'kept' | 'changed' | 'withheld'

/** Runs an agent that reads what the answer rests on, and then gives it, under the default policy. */
export async function playAnswer({ prompt, instructions, reads, answer }: HonestAnswer): Promise<AnswerOutcome> {
  const agent = createAgent({
    name: 'answers',
    ...(instructions !== undefined && { instructions }),
    model: scriptedModel([
      ...reads.map(({ tool: name }) => ({ toolCalls: [{ name, input: {} }] })),
      { text: answer.match(/[^]{1,7}/gu) ?? [] },
    ]),
    tools: reads.map(toolOf),
    extensions: [dataFlowPolicy({ mode: 'enforce' })],
    store: memoryStore(),
  })
  const { status, text, messages } = await agent.run(prompt)
  const results = messages.flatMap(({ content }) => content.filter((part) => part.type === 'tool-result'))
  if (results.length !== reads.length || results.some(({ output: { type } }) => type !== 'json' && type !== 'text'))
    throw new Error(`The tools of “${prompt}” did not give what they should.`)
  if (status === 'completed' && text === answer) return 'kept'
  return status === 'completed' && text !== '' ? 'changed' : 'withheld'
}

function toolOf({ tool: name, trusted, output }: Read): Tool<never, unknown, unknown> {
  return tool({
    name,
    effect: 'read',
    input: { type: 'object', properties: {} },
    returns: { integrity: trusted ? 'trusted' : 'untrusted', confidentiality: 'internal', sources: [name] },
    execute: () => output,
  })
}
