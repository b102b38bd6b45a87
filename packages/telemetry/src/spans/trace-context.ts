import type { Context, SpanContext, TextMapGetter, TextMapSetter } from '@opentelemetry/api'
import {
  context,
  createTraceState,
  defaultTextMapGetter,
  isSpanContextValid,
  isValidSpanId,
  isValidTraceId,
  propagation,
  trace,
  TraceFlags,
} from '@opentelemetry/api'
import type { Fold, Json } from '@provost/core'
import { isRecord } from '@provost/core'

import { attr } from '../attributes/semconv.ts'

/** A span in the headers of W3C Trace Context. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

/** Writes a span as W3C headers; undefined for an invalid span context. */
export function toHeaders(span: SpanContext): TraceHeaders | undefined {
  if (!isSpanContextValid(span)) return undefined
  const { traceId, spanId, traceFlags, traceState } = span
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0')
  const state = traceState?.serialize()
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state && { tracestate: state }) }
}

const longestState = 512

/** Reads W3C headers, which come from outside. Returns undefined when they are malformed. */
export function fromHeaders(carrier: unknown): SpanContext | undefined {
  if (!isRecord(carrier)) return undefined
  const [parent, state] = [carrier['traceparent'], carrier['tracestate']]
  if (typeof parent !== 'string' || parent.length > 200) return undefined
  const [, version, traceId = '', spanId = '', flags = '00', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(parent.trim()) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (!isValidTraceId(traceId) || !isValidSpanId(spanId)) return undefined
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(typeof state === 'string' && state.length <= longestState && { traceState: createTraceState(state) }),
  }
}

/**
 * Returns the headers for an outgoing request. The work that it causes is recorded under the span that is active here.
 */
export function traceHeaders(active: Context = context.active()): Record<string, string> {
  const headers: Record<string, string> = {}
  propagation.inject(active, headers, setter)
  // Without a registered propagator, W3C Trace Context is used.
  const span = headers['traceparent'] === undefined ? trace.getSpanContext(active) : undefined
  return { ...headers, ...(span && toHeaders(span)) }
}

/**
 * Runs `fn` as a part of the caller's work, so that the runs it starts are recorded under the caller's span.
 *
 * @param carrier the headers of the request, or the `_meta` of an MCP message. Without a trace context `fn` just runs.
 *
 * @example
 * const result = await withTrace(Object.fromEntries(request.headers), () => agent.run(input))
 */
export function withTrace<T>(carrier: Readonly<Record<string, unknown>>, fn: () => T): T {
  const extracted = propagation.extract(context.active(), carrier, getter)
  const span = fromHeaders(carrier)
  const known = trace.getSpanContext(extracted)
  return context.with(span && !known?.isRemote ? trace.setSpanContext(extracted, span) : extracted, fn)
}

const setter: TextMapSetter<Record<string, string>> = {
  set: (carrier, key, value) => void (carrier[key] = value),
}
const getter: TextMapGetter<Readonly<Record<string, unknown>>> = {
  keys: (carrier) => Object.keys(carrier),
  get(carrier, key) {
    const value = defaultTextMapGetter.get(carrier, key)
    return typeof value === 'string' ? value : undefined
  },
}

/** What `mcpTools` tells of a call to an MCP server. */
export interface McpCall {
  readonly method: string
  /** Id of the JSON-RPC request. */
  readonly requestId?: string | number
  readonly transport?: 'stdio' | 'http' | 'sse'
}

/**
 * Returns the `_meta` of a call to an MCP server, for `mcpTools({ meta: traceMeta })`. It marks the span of the call as
 * an MCP call, and passes the trace context to the server.
 */
export function traceMeta(call: McpCall): Record<string, string> {
  trace.getActiveSpan()?.setAttributes({
    [attr.mcpMethod]: call.method,
    ...(call.requestId !== undefined && { [attr.rpcRequestId]: String(call.requestId) }),
    ...(call.transport && { [attr.networkTransport]: call.transport === 'stdio' ? 'pipe' : 'tcp' }),
  })
  return traceHeaders()
}

/** Name and key of the `ext` entries that record the spans of runs in the log. */
export const logName = 'telemetry'
const logKey = 'trace'

export function logKeyOf(span: SpanContext): string {
  return `${logKey}/${span.spanId}`
}

/** The last span of each run, from the log. */
export const lastSpans: Fold<Readonly<Record<string, Json>>> = {
  key: 'provost.telemetry.spans',
  initial: {},
  apply(spans, entry) {
    if (entry.type !== 'ext' || entry.name !== logName || !entry.key.startsWith(`${logKey}/`)) return spans
    // Only the resumed run is looked up, and that is the last one.
    return { [entry.runId]: entry.data }
  },
}
