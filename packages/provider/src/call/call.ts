import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
} from '@ai-sdk/provider'
import type { Clock, FinishReason, JsonSchema, Label, ModelSettings, Part, Usage } from '@provost/core'
import { ProvostError, relayProvider, systemClock, wireToolName } from '@provost/core'

import { recordSuccess, recordFailure } from '../errors/cooldown.ts'
import type { ModelError } from '../errors/model-error.ts'
import { classifyError } from '../errors/model-error.ts'
import { declareSent } from '../models/model-access.ts'
import type { AnyModel, StreamStart } from '../models/model-v3.ts'
import { startStream } from '../models/model-v3.ts'
import { alternating } from './alternating.ts'
import { holdCompaction, isCompaction } from './anthropic-compaction.ts'
import { completeUsage, earlyUsage, isEarlyUsage, toUsage } from './model-usage.ts'
import { createResponse } from './response.ts'
import { withSchemaInPrompt } from './schema-in-prompt.ts'
import type { StreamChunk, StreamPart } from './stream-part.ts'
import { promptTokens } from './tokens.ts'

/** One call of a model. */
export interface ModelCall {
  readonly model: AnyModel
  /** From `createPrompt().build()`, or made by hand. */
  readonly prompt: LanguageModelV4Prompt
  /** The join over all that is sent. Without it the call counts as secret, for models that do not accept everything. */
  readonly label?: Label | undefined
  /** Tools that a provider defines are sent to it unchanged. */
  readonly tools?: readonly (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[] | undefined
  readonly settings?: ModelSettings | undefined
  /** Requests JSON that matches this schema. The response is still text, which is not checked here. */
  readonly responseFormat?: { readonly schema: JsonSchema; readonly name: string } | undefined
  readonly signal?: AbortSignal | undefined
  /** Names the n-th tool call of the answer, counted from 0. */
  readonly callId: (index: number) => string
  /**
   * About how many tokens the request is: asked where the provider does not report it. Default: counted from the prompt
   * and the tools, which costs their length.
   */
  readonly inputTokens?: (() => number) | undefined
  /** The tool behind a name that the model uses. Default: the name itself. */
  readonly toolName?: ((wireName: string) => string) | undefined
  /** Dates the cooldown of the model. Time limits use that of the machine, which is the default. */
  readonly clock?: Clock | undefined
}

/**
 * The result of a call. `usage` is complete if the model has started to respond: missing or impossible counters are
 * estimated, and it is marked `estimated`. A failed response has in `parts` what arrived: incomplete text, but only
 * complete calls.
 */
export type ModelAnswer = { readonly parts: readonly Part[]; readonly usage: Usage } & (
  | { readonly ok: true; readonly finishReason: FinishReason; readonly responseModel?: string }
  | {
      readonly ok: false
      /** The signal did it. */
      readonly aborted: boolean
      /** As it was thrown or streamed; the signal's reason after an abort. */
      readonly error: unknown
      readonly fault: ModelError
      /** The provider executed a tool, so a retry may execute it twice. */
      readonly effects: boolean
    }
)

const defaultStallMs = 120_000
const defaultTimeoutMs = 600_000
/** The longest a timer can wait. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Asks a model once and hands on the pieces of its answer as they arrive.
 *
 * Never throws and never rejects: errors are in the result. It does not retry; `retryDelayMs` returns when to. An
 * abort, a stall (`settings.stallMs`, default 120,000 ms without a part) and the time limit (`settings.timeoutMs`,
 * default 600,000 ms) end the call at once, even if the provider ignores its signal. `Infinity` lifts a limit. A stream
 * without a finish part is a failure of class `network`.
 *
 * @param listen gets each piece synchronously, in the order of the stream. If it throws, the call fails with that error.
 *
 * @example
 * const answer = await callModel({ model, prompt, callId: (index) => `call-${index}` }, (piece) => {
 *   if (piece.type === 'text-delta') process.stdout.write(piece.delta)
 * })
 * if (!answer.ok) console.error(answer.fault.class, answer.fault.message)
 */
export function callModel(call: ModelCall, listen: (piece: StreamChunk) => void): Promise<ModelAnswer> {
  return new Promise((resolve) => pump(call, listen, resolve))
}

function pump(call: ModelCall, listen: (piece: StreamChunk) => void, resolve: (answer: ModelAnswer) => void): void {
  const { signal, settings } = call
  const stallMs = settings?.stallMs ?? defaultStallMs
  const timeoutMs = settings?.timeoutMs ?? defaultTimeoutMs
  const answer = createResponse(call.callId, listen, call.toolName)
  let { take } = answer
  const controller = new AbortController()
  const clock = call.clock ?? systemClock
  const startedAt = clock.now()
  const began = performance.now()
  let lastPartAt = began
  let reader: ReadableStreamDefaultReader<StreamPart> | undefined
  let usage: Usage = {}
  let settled = false
  let timer: NodeJS.Timeout | undefined

  function settle(result: ModelAnswer): void {
    settled = true
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    resolve(result)
  }

  function fail(error: unknown, fault: ModelError, aborted = false): void {
    if (settled) return
    settled = true
    try {
      answer.close()
    } catch {
      // A listener that throws now cannot make the call fail any more than it did.
    }
    recordFailure(call.model, aborted ? undefined : fault, startedAt, clock.now())
    settle({ ok: false, parts: answer.parts(), usage: used(false), aborted, error, fault, effects: answer.effects() })
    controller.abort(error)
    if (reader) dismiss(reader, error)
  }

  function used(isComplete: boolean): Usage {
    const { model, prompt, tools, inputTokens = () => promptTokens(prompt, tools) } = call
    // A request that is rejected before any output is not charged.
    if (model.provider === relayProvider || (!isComplete && !answer.begun())) return usage
    try {
      return completeUsage(usage, { isComplete, inputTokens, outputTokens: answer.outputTokens })
    } catch {
      // `inputTokens` of the caller threw. A call has to end all the same, with the usage that the provider reported.
      return usage
    }
  }

  function failed(error: unknown): void {
    if (!settled) fail(error, classifyError(error))
  }

  function onAbort(): void {
    const reason: unknown = signal?.reason
    fail(reason, { class: 'unknown', message: 'The call was aborted.', retryable: false }, true)
  }

  function overdue(): ProvostError {
    return timedOut('model-timeout', `gave no whole answer within ${timeoutMs} ms`, call.model)
  }

  /** One timer watches both limits: a part only notes the time, which costs less than moving a timer. */
  function watch(): void {
    if (settled) return
    const now = performance.now()
    const toStall = lastPartAt + stallMs - now
    const toEnd = began + timeoutMs - now
    if (toEnd <= 0) return failed(overdue())
    if (toStall <= 0) return failed(timedOut('model-stalled', `sent nothing for ${stallMs} ms`, call.model))
    const next = Math.min(toStall, toEnd)
    if (next !== Infinity) timer = setTimeout(watch, Math.min(Math.ceil(next), maxTimerMs))
  }

  function finish(reason: LanguageModelV4FinishReason): void {
    if (reason.unified === 'interrupted') return failed(cutOff(call.model))
    if (reason.unified === 'error') return failed(stoppedWithError(call.model, reason.raw))
    const parts = answer.finish(reason.unified === 'length' || reason.unified === 'content-filter')
    const responseModel = answer.responseModel()
    recordSuccess(call.model, startedAt)
    settle({
      ok: true,
      parts,
      usage: used(true),
      finishReason: Object.hasOwn(finishReasons, reason.unified) ? reason.unified : 'other',
      ...(responseModel !== undefined && { responseModel }),
    })
  }

  function onRead({ done, value: part }: ReadableStreamReadResult<StreamPart>): void {
    if (settled) {
      // Reading to the end after the last part leaves the connection open for the next call.
      if (!done && reader) dismiss(reader, undefined)
      return
    }
    try {
      if (done) return failed(cutOff(call.model))
      lastPartAt = performance.now()
      // A stream that always has a part ready leaves no time for timers.
      if (lastPartAt - began >= timeoutMs) return failed(overdue())
      if (part.type === 'finish') {
        usage = toUsage(part.usage)
        finish(part.finishReason)
      } else if (part.type === 'error') failed(part.error)
      else if (part.type === 'tool-approval-request') failed(approvalRefused(call.model))
      else if (part.type === 'custom' && isEarlyUsage(part)) usage = earlyUsage(part)
      else {
        if (part.type === 'text-start' && isCompaction(part) && take === answer.take) take = holdCompaction(take)
        take(part)
      }
    } catch (error) {
      failed(error)
    }
    if (reader) reader.read().then(onRead, failed)
  }

  function onStart({ stream }: StreamStart): void {
    try {
      reader = stream.getReader()
      if (settled) dismiss(reader, undefined)
      else reader.read().then(onRead, failed)
    } catch (error) {
      failed(error)
    }
  }

  if (signal?.aborted) return onAbort()
  signal?.addEventListener('abort', onAbort)
  declareSent(controller.signal, call.label)
  try {
    startStream(call.model, toCallOptions(call, controller.signal)).then(onStart, failed)
  } catch (error) {
    failed(error)
  }
  watch()
}

const finishReasons: Readonly<Record<FinishReason, true>> = {
  stop: true,
  length: true,
  'content-filter': true,
  'tool-calls': true,
  interrupted: true,
  error: true,
  other: true,
}

function ignore(): void {}

/** Gives up a stream without waiting for the provider to agree. */
function dismiss(reader: ReadableStreamDefaultReader<StreamPart>, reason: unknown): void {
  reader.cancel(reason).catch(ignore)
}

function toCallOptions(call: ModelCall, abortSignal: AbortSignal): LanguageModelV4CallOptions {
  const { settings, tools, responseFormat } = call
  const prompt = alternating(call.model.provider, call.prompt)
  const options: LanguageModelV4CallOptions = { prompt, abortSignal }
  if (tools && tools.length > 0) {
    options.tools = tools.slice()
    options.toolChoice = toToolChoice(settings?.toolChoice)
  }
  if (responseFormat) {
    options.responseFormat = { type: 'json', ...responseFormat }
    options.prompt = withSchemaInPrompt(call.model, prompt, responseFormat)
  }
  if (!settings) return options
  if (settings.temperature !== undefined) options.temperature = settings.temperature
  if (settings.topP !== undefined) options.topP = settings.topP
  if (settings.maxOutputTokens !== undefined) options.maxOutputTokens = settings.maxOutputTokens
  if (settings.stopSequences !== undefined) options.stopSequences = settings.stopSequences.slice()
  if (settings.seed !== undefined) options.seed = settings.seed
  if (settings.providerOptions !== undefined) options.providerOptions = settings.providerOptions
  return options
}

function toToolChoice(
  choice: ModelSettings['toolChoice'] = 'auto',
): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: wireToolName(choice.tool) }
}

function nameOf({ provider, modelId }: AnyModel): string {
  return `${provider}/${modelId}`
}

function timedOut(code: 'model-timeout' | 'model-stalled', what: string, model: AnyModel): ProvostError {
  return new ProvostError(code, `${nameOf(model)} ${what}.`, {
    hint: `Raise settings.${code === 'model-timeout' ? 'timeoutMs' : 'stallMs'} if the model needs longer.`,
    retryable: true,
  })
}

function cutOff(model: AnyModel): ProvostError {
  return new ProvostError('stream-cut', `The response of ${nameOf(model)} ended before it was complete.`, {
    hint: 'Retry. If it happens again, check the network and proxies between this process and the provider.',
    retryable: true,
  })
}

/** Returns the error for an approval request of a provider, which has no handler. Its call has not run. */
function approvalRefused(model: AnyModel): ProvostError {
  return new ProvostError(
    'provider-approval-refused',
    `${nameOf(model)} requests approval of a tool call that its provider executes, which is not supported.`,
    {
      hint: "Let the provider's tool run without approval, or use a tool that runs here, such as one of mcpTools().",
    },
  )
}

function stoppedWithError(model: AnyModel, raw: string | undefined): ProvostError {
  return new ProvostError(
    'model-error',
    `${nameOf(model)} stopped with an error${raw ? `: ${raw.slice(0, 200)}` : ''}.`,
    {
      hint: 'Retry, or use another model.',
      retryable: true,
    },
  )
}
