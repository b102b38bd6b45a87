import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, SpanKind } from '@opentelemetry/api'
import type { Message, ModelOutcome, TimedOperationOf } from '@provost/core'

import { isSecret } from '../attributes/content.ts'
import { splitModel } from '../attributes/provider-name.ts'
import { attr, costNames, own } from '../attributes/semconv.ts'
import type { Instruments } from './instruments.ts'
import { fail, secondsSince } from './open-span.ts'
import { withSpan } from './span-context.ts'

/** The span of one model call. */
export interface ChatSpan {
  /** The id of the message that the call produces. */
  readonly id: string
  readonly started: number
  /** Records that the response began. */
  responseStarted(): void
  /** Records a stream chunk of the response. */
  chunk(): void
  /** Runs the call inside the span. */
  run<T>(next: () => Promise<T>): Promise<T>
  /** Records the message as it enters the history. */
  setMessage(message: Message): void
  /** Ends the span, with the time at which the call ended. */
  end(): void
}

/**
 * Opens the span of a model call.
 *
 * @param given attributes of the run and of this call.
 * @param waits whether the span stays open for the message that the call produces.
 */
export function openChat(
  { tracer, meters, record }: Instruments,
  op: TimedOperationOf<'model'>,
  parent: Context,
  given: Attributes,
  waits: boolean,
): ChatSpan {
  const { provider, model } = splitModel(record.name(op.model))
  const { temperature, maxOutputTokens } = op.settings
  const attributes = { [attr.operation]: 'chat', [attr.provider]: provider, [attr.requestModel]: model }
  const span = tracer.startSpan(`chat ${model}`, { kind: SpanKind.CLIENT, attributes }, parent)
  // Samplers see only the attributes that a span starts with; the SDK checks those twice.
  const details: Attributes = { [own.step]: op.step, [own.attempt]: op.attempt }
  if (temperature !== undefined) details[attr.temperature] = temperature
  if (maxOutputTokens !== undefined) details[attr.maxTokens] = maxOutputTokens
  if (op.purpose !== undefined) details[own.purpose] = op.purpose
  span.setAttributes(given).setAttributes(details)
  const measured = meters?.model(provider, model)
  const started = performance.now()
  let first: number | undefined
  /** Time of the last chunk. */
  let last: number | undefined
  let ended: number | undefined
  let written = false

  function begin(now: number): void {
    if (first !== undefined) return
    first = now
    measured?.firstChunk(secondsSince(started, now))
  }

  function end(): void {
    if (written) return
    written = true
    span.end(ended)
  }

  function close(outcome: ModelOutcome | undefined, thrown: boolean): void {
    ended = performance.now()
    const type = outcome || thrown ? describe(span, outcome) : undefined
    measured?.inference(outcome, secondsSince(started, ended), type)
    if (!waits || type !== undefined) end()
  }

  /** @returns the error type, if the call failed. */
  function describe(at: Span, outcome: ModelOutcome | undefined): string | undefined {
    if (!outcome) return fail(at, record, undefined, false)
    const { usage, cost, responseModel, finishReason, fault } = outcome
    const answer: Attributes = {}
    if (responseModel !== undefined) answer[attr.responseModel] = record.name(responseModel)
    if (finishReason !== undefined) answer[attr.finishReasons] = [finishReason]
    if (first !== undefined) answer[attr.timeToFirstChunk] = secondsSince(started, first)
    // The names of the conventions are for usage that a provider reported.
    const names = usage.estimated ? own : attr
    if (usage.inputTokens !== undefined) answer[names.inputTokens] = usage.inputTokens
    if (usage.outputTokens !== undefined) answer[names.outputTokens] = usage.outputTokens
    if (usage.estimated) answer[own.estimated] = true
    if (usage.cacheReadTokens !== undefined) answer[attr.cacheRead] = usage.cacheReadTokens
    if (usage.cacheWriteTokens !== undefined) answer[attr.cacheWrite] = usage.cacheWriteTokens
    if (usage.reasoningTokens !== undefined) answer[attr.reasoning] = usage.reasoningTokens
    if (cost !== undefined) for (const name of [own.cost, ...costNames]) answer[name] = cost
    at.setAttributes(answer)
    return fault && fail(at, record, { code: fault.class, message: fault.message }, !isSecret(op.label))
  }

  return {
    id: op.id,
    started,
    responseStarted: () => begin(performance.now()),
    chunk() {
      const now = performance.now()
      begin(now)
      if (last !== undefined) measured?.outputChunk(secondsSince(last, now))
      last = now
    },
    async run(next) {
      try {
        const answer = await context.with(withSpan(parent, span), next)
        close(op.outcome, false)
        return answer
      } catch (thrown) {
        close(op.outcome, true)
        throw thrown
      }
    },
    setMessage(message) {
      if (!written) span.setAttribute(attr.outputMessages, record.messages([message]))
    },
    end,
  }
}
