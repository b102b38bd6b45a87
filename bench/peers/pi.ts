import { agentLoop } from '@earendil-works/pi-agent-core'
import type { AgentEvent, AgentMessage, AgentTool, StreamFn } from '@earendil-works/pi-agent-core'
import { z } from 'zod'

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

type Model = Parameters<StreamFn>[0]
type Stream = Awaited<ReturnType<StreamFn>>
type Answer = Awaited<ReturnType<Stream['result']>>
type StreamEvent = Stream extends AsyncIterable<infer E> ? E : never
type Message = Parameters<StreamFn>[1]['messages'][number]

const model: Model = {
  id: 'scripted-model',
  name: 'scripted',
  api: 'scripted',
  provider: 'scripted',
  baseUrl: '',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 1_000,
}
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
const usage = {
  input: reported.inputTokens,
  output: reported.outputTokens,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: reported.inputTokens + reported.outputTokens,
  cost,
}

function answer(text: string, call: { id: string; item: number } | undefined): Answer {
  return {
    role: 'assistant',
    content: [
      { type: 'text', text },
      ...(call ? [{ type: 'toolCall' as const, id: call.id, name: toolName, arguments: { item: call.item } }] : []),
    ],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage,
    stopReason: call ? 'toolUse' : 'stop',
    timestamp: Date.now(),
  }
}

function* events(message: Answer, chunks: number): Generator<StreamEvent> {
  const partial = message
  yield { type: 'start', partial }
  for (const [contentIndex, part] of message.content.entries()) {
    if (part.type === 'text') {
      yield { type: 'text_start', contentIndex, partial }
      const delta = part.text.slice(0, part.text.length / chunks)
      for (let n = 0; n < chunks; n++) yield { type: 'text_delta', contentIndex, delta, partial }
      yield { type: 'text_end', contentIndex, content: part.text, partial }
    } else if (part.type === 'toolCall') {
      yield { type: 'toolcall_start', contentIndex, partial }
      yield { type: 'toolcall_delta', contentIndex, delta: JSON.stringify(part.arguments), partial }
      yield { type: 'toolcall_end', contentIndex, toolCall: part, partial }
    }
  }
  yield { type: 'done', reason: message.stopReason === 'toolUse' ? 'toolUse' : 'stop', message }
}

/** The script as one of its stream functions. */
function scripted(steps: number, chunks: number, tally: () => Tally): StreamFn {
  let calls = 0
  return (_, context) => {
    const call = calls++
    const step = call % steps
    tally().prompt = context.messages.length
    const last = step === steps - 1
    const message = last
      ? answer(closing.repeat(chunks), undefined)
      : answer(chunk.repeat(chunks), { id: `call_${call}`, item: step })
    const stream: Pick<Stream, 'result' | typeof Symbol.asyncIterator> = {
      result: () => Promise.resolve(message),
      async *[Symbol.asyncIterator]() {
        yield* events(message, chunks)
      },
    }
    // Its loop reads these two; the class they belong to is in a package of its own and costs more than they do.
    return stream as Stream
  }
}

function isInput(params: unknown): params is { item: number } {
  return typeof params === 'object' && params !== null && 'item' in params
}

function isModelMessage(message: AgentMessage): message is Message {
  return message.role === 'user' || message.role === 'assistant' || message.role === 'toolResult'
}

function textOf(message: AgentMessage | undefined): string {
  if (message?.role !== 'assistant') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function record(event: AgentEvent, tally: Tally): void {
  if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') countChunk(tally)
  else if (event.type === 'tool_execution_end') tally.results++
  else if (event.type === 'agent_end') tally.text = textOf(event.messages.at(-1))
}

/** The plain loop below its Agent class, the lightest way to run it. */
export const pi: Contender = {
  name: 'pi-agent-core',
  package: '@earendil-works/pi-agent-core',
  prepare(steps, chunks = 1) {
    let tally = emptyTally()
    const streamFn = scripted(steps, chunks, () => tally)
    const tool: AgentTool = {
      name: toolName,
      label: toolName,
      description: toolDescription,
      parameters: z.toJSONSchema(inputSchema),
      execute(_, params) {
        tally.executed++
        // It has validated them itself; the guard is for the compiler.
        const item = isInput(params) ? params.item : Number.NaN
        return Promise.resolve({ content: [{ type: 'text', text: look(item) }], details: undefined })
      },
    }
    return async () => {
      tally = emptyTally()
      const stream = agentLoop(
        [{ role: 'user', content: question, timestamp: Date.now() }],
        { messages: [], tools: [tool] },
        { model, convertToLlm: (messages) => messages.filter(isModelMessage) },
        undefined,
        streamFn,
      )
      for await (const event of stream) record(event, tally)
      await stream.result()
      return tally
    }
  },
}
