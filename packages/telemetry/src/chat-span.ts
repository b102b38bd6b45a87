import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, SpanKind, trace } from '@opentelemetry/api'
import type { Message, ModelOutcome, OpOf } from '@provost/core'

import type { Instruments } from './instruments.ts'
import type { Given } from './open-span.ts'
import { fail, present, secondsSince } from './open-span.ts'
import { splitModel } from './provider-name.ts'
import { attr, own } from './semconv.ts'

/** The span of one call of a model. */
export interface ChatSpan {
  /** Of the message that comes of it. */
  readonly id: string
  readonly started: number
  /** A piece of the answer came. */
  piece(): void
  /** Runs the call inside. */
  run<T>(next: () => Promise<T>): Promise<T>
  /** What was said, as far as it counts. */
  said(message: Message): void
  /** Writes the span, with the time the call ended at. */
  end(): void
}

/**
 * Opens the span of a model call.
 *
 * @param given what the run says of itself in each of its spans.
 * @param mayTell whether what the provider says of an error may be recorded.
 * @param waits whether the span is kept open for the message that comes of the call.
 */
export function openChat(
  { tracer, meters, record }: Instruments,
  op: OpOf<'model'>,
  parent: Context,
  given: Given,
  mayTell: () => boolean,
  waits: boolean,
): ChatSpan {
  const { provider, model } = splitModel(record.name(op.model))
  const shared: Attributes = { [attr.operation]: 'chat', [attr.provider]: provider, [attr.requestModel]: model }
  const span = tracer.startSpan(
    `chat ${model}`,
    {
      kind: SpanKind.CLIENT,
      attributes: present({
        ...shared,
        ...given,
        [attr.temperature]: op.settings.temperature,
        [attr.maxTokens]: op.settings.maxOutputTokens,
        [own.step]: op.step,
        [own.attempt]: op.attempt,
        [own.purpose]: op.purpose,
      }),
    },
    parent,
  )
  const started = performance.now()
  let first: number | undefined
  let last = started
  let ended: number | undefined
  let written = false

  function end(): void {
    if (written) return
    written = true
    span.end(ended)
  }

  function close(outcome: ModelOutcome | undefined, thrown: boolean): void {
    ended = performance.now()
    const type = outcome || thrown ? describe(span, outcome) : undefined
    const measured = { ...shared, ...(type !== undefined && { [attr.errorType]: type }) }
    meters?.inference(outcome, secondsSince(started, ended), measured)
    if (!waits || type !== undefined) end()
  }

  /** @returns the type of the error, if it was one. */
  function describe(at: Span, outcome: ModelOutcome | undefined): string | undefined {
    if (!outcome) return fail(at, record, undefined, false)
    const { usage, cost, responseModel, finishReason, fault } = outcome
    at.setAttributes(
      present({
        [attr.responseModel]: responseModel === undefined ? undefined : record.name(responseModel),
        [attr.finishReasons]: finishReason === undefined ? undefined : [finishReason],
        [attr.timeToFirstChunk]: first === undefined ? undefined : secondsSince(started, first),
        [attr.inputTokens]: usage.inputTokens,
        [attr.outputTokens]: usage.outputTokens,
        [attr.cacheRead]: usage.cacheReadTokens,
        [attr.cacheWrite]: usage.cacheWriteTokens,
        [attr.reasoning]: usage.reasoningTokens,
        [own.cost]: cost,
      }),
    )
    if (!fault) return undefined
    return fail(at, record, { code: fault.class, message: fault.message }, mayTell())
  }

  return {
    id: op.id,
    started,
    piece() {
      const now = performance.now()
      if (first === undefined) {
        first = now
        meters?.firstChunk(secondsSince(started, now), shared)
      } else meters?.outputChunk(secondsSince(last, now), shared)
      last = now
    },
    async run(next) {
      try {
        const answer = await context.with(trace.setSpan(context.active(), span), next)
        close(op.outcome, false)
        return answer
      } catch (thrown) {
        close(op.outcome, true)
        throw thrown
      }
    },
    said(message) {
      if (!written) span.setAttribute(attr.outputMessages, record.messages([message]))
    },
    end,
  }
}
