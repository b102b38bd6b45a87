import type { Attributes, Span } from '@opentelemetry/api'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ErrorInfo } from '@provost/core'

import type { Recorder } from '../attributes/content.ts'
import { codeOf } from '../attributes/content.ts'
import { attr } from '../attributes/semconv.ts'

/** Attribute values that are used here. */
export type Value = string | number | boolean | string[]
/** Attributes, some of which may be undefined. */
export type SpanAttributes = Readonly<Record<string, Value | undefined>>

/** Returns the attributes without the undefined ones. */
export function present(given: SpanAttributes): Attributes {
  const attributes: Attributes = {}
  for (const key in given) if (given[key] !== undefined) attributes[key] = given[key]
  return attributes
}

/** Records an error: always its type, its message only if messages are recorded. */
export function fail(
  span: Span,
  record: Recorder,
  error: Pick<ErrorInfo, 'code' | 'message'> | undefined,
  mayTell: boolean,
): string {
  const type = record.name(codeOf(error?.code))
  span.setAttribute(attr.errorType, type)
  const message = error && mayTell && record.records('errors') ? record.text(error.message) : undefined
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
  return type
}

/** Adds an event to a span. */
export function mark(span: Span, name: string, given: SpanAttributes = {}): void {
  if (span.isRecording()) span.addEvent(name, present(given))
}

export function secondsSince(start: number, end: number = performance.now()): number {
  return Math.max(0, end - start) / 1000
}
