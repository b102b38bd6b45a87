import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'

import { callsIn } from './offline/facts.ts'
import type { Step } from './offline/plan.ts'
import { nextStep } from './offline/role.ts'
import { asScript, withoutScripts, writesScripts } from './offline/script.ts'

/**
 * A rule-based model that needs neither network nor key. It uses the tool results, decides by the shop's rules, and
 * streams text and calls like other models. It knows only the roles of the desk, and it obeys every instruction in a
 * mail.
 */
export function offlineModel(): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: 'rules',
    supportedUrls: {},
    doGenerate(options) {
      const { step, usage, firstCall } = answer(options)
      return Promise.resolve({ content: contentOf(step, firstCall), finishReason: finishOf(step), usage, warnings: [] })
    },
    doStream(options) {
      const { step, usage, firstCall } = answer(options)
      return Promise.resolve({ stream: streamOf(parts(step, usage, firstCall, options.abortSignal)) })
    },
  }
}

function answer(options: LanguageModelV4CallOptions): {
  readonly step: Step
  readonly usage: LanguageModelV4Usage
  readonly firstCall: number
} {
  const { prompt } = options
  const scripts = writesScripts(options)
  const direct = scripts ? withoutScripts(prompt) : prompt
  const planned = nextStep(direct)
  const step = scripts ? asScript(planned) : planned
  return { step, usage: usageOf(JSON.stringify(prompt).length, step), firstCall: callsIn(direct) }
}

function contentOf({ reasoning, text, calls }: Step, firstCall: number): LanguageModelV4Content[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ name, input }, i) => ({
      type: 'tool-call' as const,
      toolCallId: callId(firstCall + i),
      toolName: name,
      input: JSON.stringify(input),
    })),
  ]
}

async function* parts(
  step: Step,
  usage: LanguageModelV4Usage,
  firstCall: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'response-metadata', modelId: 'rules' }
  for (const kind of ['reasoning', 'text'] as const) {
    const words = step[kind]
    if (words === undefined) continue
    yield { type: `${kind}-start`, id: kind }
    for (const delta of chunksOf(words)) {
      await pause(signal)
      yield { type: `${kind}-delta`, id: kind, delta }
    }
    yield { type: `${kind}-end`, id: kind }
  }
  for (const [i, { name, input }] of step.calls.entries()) {
    const id = callId(firstCall + i)
    const json = JSON.stringify(input)
    await pause(signal)
    yield { type: 'tool-input-start', id, toolName: name }
    for (let at = 0; at < json.length; at += 200)
      yield { type: 'tool-input-delta', id, delta: json.slice(at, at + 200) }
    yield { type: 'tool-input-end', id }
    yield { type: 'tool-call', toolCallId: id, toolName: name, input: json }
  }
  yield { type: 'finish', usage, finishReason: finishOf(step) }
}

/** Yields to other work between two chunks, and ends the stream when the run is aborted. */
async function pause(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  signal?.throwIfAborted()
}

function streamOf<T>(values: AsyncGenerator<T>): ReadableStream<T> {
  return new ReadableStream<T>({
    async pull(controller) {
      const { done, value } = await values.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await values.return(undefined)
    },
  })
}

/** Splits a text into chunks of a few words. */
function chunksOf(text: string): readonly string[] {
  return text.match(/(?:\S+\s*){1,3}|\s+/g) ?? []
}

function callId(n: number): string {
  return `offline-${n}`
}

function finishOf({ calls }: Step): LanguageModelV4FinishReason {
  return calls.length > 0 ? { unified: 'tool-calls', raw: 'tool-calls' } : { unified: 'stop', raw: 'stop' }
}

/** Estimates usage at four characters a token, close to real models. */
function usageOf(promptLength: number, { reasoning = '', text = '', calls }: Step): LanguageModelV4Usage {
  const input = Math.ceil(promptLength / 4)
  const thought = Math.ceil(reasoning.length / 4)
  const said = Math.ceil((text.length + calls.reduce((sum, call) => sum + JSON.stringify(call).length, 0)) / 4)
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: thought + said, text: said, reasoning: thought },
  }
}
