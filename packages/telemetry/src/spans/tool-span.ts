import type { Attributes, Context, Span } from '@opentelemetry/api'
import { context, SpanKind } from '@opentelemetry/api'
import type { ErrorInfo, HandoffMode, TimedOperationOf } from '@provost/core'

import type { Operation } from '../attributes/semconv.ts'
import { attr, own } from '../attributes/semconv.ts'
import type { Instruments } from './instruments.ts'
import { fail, secondsSince } from './open-span.ts'
import { withSpan } from './span-context.ts'

/** The span of one tool call. */
export interface ToolSpan {
  readonly span: Span
  /** Runs the tool inside the span. */
  run<T>(next: () => Promise<T>): Promise<T>
  /** Records that the call hands the conversation off. */
  transfers(to: string, mode: HandoffMode): void
  /** Records the outcome once all hooks have decided. The span ends with the time at which the tool ended. */
  settle(result: {
    readonly output?: string
    readonly error?: ErrorInfo
    readonly parked?: true
    /** Attributes of its effect. */
    readonly effect?: Attributes
    readonly mayTell: boolean
  }): void
}

/**
 * Opens the span of a tool call.
 *
 * @param given attributes that the run sets on each of its spans.
 * @param step number of the run's step.
 * @param input the arguments, where they are recorded.
 */
export function openTool(
  { tracer, meters, record, retrieval, sandbox }: Instruments,
  op: Pick<TimedOperationOf<'tool'>, 'callId' | 'toolName'> &
    Partial<Pick<TimedOperationOf<'tool'>, 'effect' | 'sandbox'>>,
  parent: Context,
  given: Attributes,
  step: number,
  input: string | undefined,
): ToolSpan {
  const name = record.name(op.toolName)
  const operation: Operation = retrieval.has(op.toolName) ? 'retrieval' : 'execute_tool'
  const retrieves = operation === 'retrieval'
  // Readers take every span with the attributes of a tool for a tool call.
  const attributes = { [attr.operation]: operation, [retrieves ? own.tool : attr.toolName]: name }
  const isSandbox = sandbox.has(op.toolName)
  const title = `${isSandbox ? 'execute_sandbox' : operation} ${name}`
  const span = tracer.startSpan(title, { kind: SpanKind.INTERNAL, attributes }, parent)
  // Samplers see only the attributes that a span starts with; the SDK checks those twice.
  const details: Attributes = retrieves
    ? { [own.step]: step, [own.callId]: op.callId }
    : { [own.step]: step, [attr.toolCallId]: op.callId, [attr.toolType]: 'function' }
  if (input !== undefined) details[retrieves ? own.query : attr.toolArguments] = input
  if (op.effect !== undefined) details[own.effect] = op.effect
  if (op.sandbox !== undefined) details[own.sandbox] = op.sandbox
  if (isSandbox) details[own.operation] = 'execute_sandbox'
  span.setAttributes(given).setAttributes(details)
  const started = performance.now()
  let ended: number | undefined
  let settled = false
  return {
    span,
    async run(next) {
      try {
        return await context.with(withSpan(parent, span), next)
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
    settle({ output, error, parked, effect, mayTell }) {
      if (settled) return
      settled = true
      if (output !== undefined) span.setAttribute(retrieves ? own.found : attr.toolResult, output)
      if (effect) span.setAttributes(effect)
      if (parked) span.setAttribute(own.parked, true)
      const type = error ? fail(span, record, error, mayTell) : undefined
      span.end(ended)
      meters?.tool(secondsSince(started, ended), operation, name, type)
    },
  }
}
