import type { Context, Span } from '@opentelemetry/api'
import { context, SpanKind, trace } from '@opentelemetry/api'
import type { ErrorInfo, HandoffMode, OpOf } from '@provost/core'

import type { Instruments } from './instruments.ts'
import type { Given } from './open-span.ts'
import { fail, present, secondsSince } from './open-span.ts'
import type { Operation } from './semconv.ts'
import { attr, own } from './semconv.ts'

/** The span of one call of a tool. */
export interface ToolSpan {
  readonly span: Span
  /** Runs the tool inside. */
  run<T>(next: () => Promise<T>): Promise<T>
  /** It hands the conversation on. */
  transfers(to: string, mode: HandoffMode): void
  /** What became of it, once all have judged; the span ends when the tool ended. */
  settle(result: {
    readonly output?: string
    readonly error?: ErrorInfo
    readonly parked?: true
    readonly mayTell: boolean
  }): void
}

/**
 * Opens the span of a call.
 *
 * @param given what the run says of itself in each of its spans.
 * @param input the arguments, where they are recorded.
 */
export function openTool(
  { tracer, meters, record, retrieval }: Instruments,
  op: Pick<OpOf<'tool'>, 'callId' | 'toolName'> & Partial<Pick<OpOf<'tool'>, 'effect'>>,
  parent: Context,
  given: Given,
  input: string | undefined,
): ToolSpan {
  const name = record.name(op.toolName)
  const operation: Operation = retrieval.has(op.toolName) ? 'retrieval' : 'execute_tool'
  const retrieves = operation === 'retrieval'
  // Readers take whatever has the attributes of a tool for one.
  const known: Given = retrieves
    ? { [own.tool]: name, [own.callId]: op.callId, [own.query]: input }
    : {
        [attr.toolName]: name,
        [attr.toolCallId]: op.callId,
        [attr.toolType]: 'function',
        [attr.toolArguments]: input,
      }
  const attributes = present({ [attr.operation]: operation, ...given, ...known, [own.effect]: op.effect })
  const span = tracer.startSpan(`${operation} ${name}`, { kind: SpanKind.INTERNAL, attributes }, parent)
  const started = performance.now()
  let ended: number | undefined
  let settled = false
  return {
    span,
    async run(next) {
      try {
        return await context.with(trace.setSpan(context.active(), span), next)
      } finally {
        ended = performance.now()
      }
    },
    transfers(to, mode) {
      const target = record.name(to)
      span.updateName(`execute_tool ${name} ${target}`)
      span.setAttributes({
        [attr.transferMode]: mode === 'return' ? 'return_to_caller' : 'pass_control',
        [attr.transferTarget]: target,
      })
    },
    settle({ output, error, parked, mayTell }) {
      if (settled) return
      settled = true
      if (output !== undefined) span.setAttribute(retrieves ? own.found : attr.toolResult, output)
      if (parked) span.setAttribute(own.parked, true)
      const type = error ? fail(span, record, error, mayTell) : undefined
      span.end(ended)
      const took = secondsSince(started, ended)
      meters?.tool(took, present({ [attr.operation]: operation, [attr.toolName]: name, [attr.errorType]: type }))
    },
  }
}
