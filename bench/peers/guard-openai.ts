import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import type { AgentInputItem, Model, ModelResponse } from '@openai/agents'

import type { PeerRun } from '../../packages/guard/test/conformance/peer-run.ts'

function answering(answers: PeerRun['answers']): Model {
  let at = 0
  let id = 0
  return {
    async getResponse(): Promise<ModelResponse> {
      const { text, calls = [] } = answers[at++] ?? { text: 'Done.' }
      const output: ModelResponse['output'] = calls.map(({ name, input }) => ({
        ...{ type: 'function_call' as const, callId: `call_${id++}`, name, status: 'completed' as const },
        arguments: JSON.stringify(input),
      }))
      if (text !== undefined)
        output.unshift({
          ...{ type: 'message', role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text }],
        })
      return { usage: new Usage(), output, responseId: `r${at}` }
    },
    getStreamedResponse() {
      throw new Error('The conformance suite does not stream.')
    },
  }
}

/** Runs a recorded session through an agent of OpenAI Agents. Each turn is a run over the history of the one before. */
export async function guardOpenai({ tools, answers, turns, approves, protect }: PeerRun): Promise<void> {
  setTracingDisabled(true)
  const agent = new Agent({
    name: 'guarded',
    model: answering(answers),
    tools: tools.map(({ name, description, parameters, execute }) =>
      tool({ name, description, parameters, strict: false, execute: (input) => execute(input) as string }),
    ),
  })
  const guarded = protect(agent)
  let history: AgentInputItem[] = []
  for (const user of turns) {
    let result = await run(guarded, [...history, { role: 'user', content: user }])
    while (result.interruptions.length > 0) {
      for (const one of result.interruptions) {
        if (approves) result.state.approve(one)
        else result.state.reject(one)
      }
      result = await run(guarded, result.state)
    }
    history = result.history
  }
}
