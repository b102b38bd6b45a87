import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import type { Model, StreamEvent } from '@openai/agents'

import { countChunk, emptyTally } from '../loop/contender.ts'
import type { Contender, Tally } from '../loop/contender.ts'
import {
  chunk,
  closing,
  inputSchema,
  look,
  question,
  toolDescription,
  toolName,
  usage as reported,
} from '../loop/script.ts'

type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output']

const usage = { ...reported, totalTokens: reported.inputTokens + reported.outputTokens }

/** The script as one of its models: the events its own providers send, without those that only repeat the wire. */
function scripted(steps: number, chunks: number, tally: () => Tally): Model {
  let calls = 0
  return {
    getResponse() {
      throw new Error('The bench only streams.')
    },
    async *getStreamedResponse({ input }): AsyncGenerator<StreamEvent> {
      const call = calls++
      const step = call % steps
      tally().prompt = typeof input === 'string' ? 1 : input.length
      const last = step === steps - 1
      const piece = last ? closing : chunk
      const text = piece.repeat(chunks)
      yield { type: 'response_started' }
      for (let n = 0; n < chunks; n++) yield { type: 'output_text_delta', delta: piece }
      const content = [{ type: 'output_text' as const, text }]
      const output: Output = [{ type: 'message', role: 'assistant', status: 'completed', content }]
      if (!last) {
        const written = JSON.stringify({ item: step })
        yield { type: 'model', event: { type: 'response.function_call_arguments.delta', delta: written } }
        const callId = `call_${call}`
        output.push({ type: 'function_call', callId, name: toolName, status: 'completed', arguments: written })
      }
      yield { type: 'response_done', response: { id: `r${call}`, usage, output } }
    },
  }
}

export const openaiAgents: Contender = {
  name: '@openai/agents',
  package: '@openai/agents',
  prepare(steps, chunks = 1) {
    setTracingDisabled(true)
    let tally = emptyTally()
    const agent = new Agent({
      name: 'looker',
      model: scripted(steps, chunks, () => tally),
      tools: [
        tool({
          name: toolName,
          description: toolDescription,
          parameters: inputSchema,
          execute({ item }) {
            tally.executed++
            return look(item)
          },
        }),
      ],
    })
    return async () => {
      tally = emptyTally()
      const result = await run(agent, question, { stream: true, maxTurns: steps })
      for await (const event of result) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') countChunk(tally)
        else if (event.type === 'run_item_stream_event' && event.name === 'tool_output') tally.results++
      }
      await result.completed
      tally.text = result.finalOutput ?? ''
      return tally
    }
  },
}
