import { randomBytes } from 'node:crypto'

import type {
  Attributes,
  Context,
  Exception,
  Link,
  Span,
  SpanContext,
  SpanOptions,
  SpanStatus,
  TimeInput,
  Tracer,
} from '@opentelemetry/api'
import { context, isSpanContextValid, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api'

/** A snapshot of a span. */
export interface CollectedSpan {
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
  /** Milliseconds since process start. */
  readonly start: number
  /** Undefined while the span is open. */
  readonly end?: number
  readonly attributes: Readonly<Attributes>
  readonly events: readonly { readonly name: string; readonly at: number; readonly attributes: Readonly<Attributes> }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly failed: boolean
  /** The message of the failure. */
  readonly message?: string
}

/** A tracer that keeps its spans in the process. */
export interface SpanCollector {
  /** For `telemetry({ tracer })`, or for your own spans. */
  readonly tracer: Tracer
  /** All spans, in order of their start. */
  readonly spans: readonly CollectedSpan[]
  /** Returns the collected spans and removes them. */
  take(): readonly CollectedSpan[]
}

/**
 * Collects spans without an SDK and without a collector, for a terminal or a test.
 *
 * @param most largest number of spans that are kept; later ones are dropped. Default 10,000.
 *
 * @example
 * const { tracer, take } = collectSpans()
 * const agent = createAgent({ name: 'desk', model, extensions: [telemetry({ tracer })] })
 * await agent.run('Where is my parcel?')
 * process.stdout.write(printSpans(take()))
 */
export function collectSpans(most = 10_000): SpanCollector {
  let spans: CollectedSpan[] = []
  const tracer: Tracer = {
    startSpan(name, options = {}, parent = context.active()) {
      const { span, collected } = openSpan(name, options, parent)
      if (spans.length < most) spans.push(collected)
      return span
    },
    startActiveSpan,
  }

  function startActiveSpan<F extends (span: Span) => unknown>(name: string, fn: F): ReturnType<F>
  function startActiveSpan<F extends (span: Span) => unknown>(name: string, options: SpanOptions, fn: F): ReturnType<F>
  function startActiveSpan<F extends (span: Span) => unknown>(
    name: string,
    options: SpanOptions,
    parent: Context,
    fn: F,
  ): ReturnType<F>
  function startActiveSpan(name: string, first: SpanOptions | Work, second?: Context | Work, third?: Work): unknown {
    const options = typeof first === 'function' ? {} : first
    const parent = second === undefined || typeof second === 'function' ? context.active() : second
    const work = [first, second, third].find((one) => typeof one === 'function')
    const span = tracer.startSpan(name, options, parent)
    return context.with(trace.setSpan(parent, span), () => work?.(span))
  }

  return {
    tracer,
    get spans() {
      return spans
    },
    take() {
      const taken = spans
      spans = []
      return taken
    },
  }
}

type Work = (span: Span) => unknown

const kinds: Readonly<Record<SpanKind, CollectedSpan['kind']>> = {
  [SpanKind.INTERNAL]: 'internal',
  [SpanKind.SERVER]: 'server',
  [SpanKind.CLIENT]: 'client',
  [SpanKind.PRODUCER]: 'producer',
  [SpanKind.CONSUMER]: 'consumer',
}

type Open = { -readonly [K in keyof CollectedSpan]: CollectedSpan[K] } & {
  readonly attributes: Attributes
  readonly events: CollectedSpan['events'][number][]
  readonly links: CollectedSpan['links'][number][]
}

function openSpan(name: string, options: SpanOptions, parent: Context): { span: Span; collected: CollectedSpan } {
  const above = options.root ? undefined : trace.getSpanContext(parent)
  const inside = above && isSpanContextValid(above) ? above : undefined
  const own: SpanContext = {
    traceId: inside?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    traceFlags: TraceFlags.SAMPLED,
  }
  const collected: Open = {
    name,
    kind: kinds[options.kind ?? SpanKind.INTERNAL],
    traceId: own.traceId,
    spanId: own.spanId,
    ...(inside && { parentId: inside.spanId }),
    start: timeOf(options.startTime),
    attributes: { ...options.attributes },
    events: [],
    links: (options.links ?? []).map(linked),
    failed: false,
  }
  const isOpen = (): boolean => collected.end === undefined
  const set = (key: string, value: Attributes[string]): void => {
    if (isOpen() && value !== undefined) collected.attributes[key] = value
  }
  const span: Span = {
    spanContext: () => own,
    isRecording: isOpen,
    setAttribute(key, value) {
      set(key, value)
      return span
    },
    setAttributes(attributes) {
      for (const [key, value] of Object.entries(attributes)) set(key, value)
      return span
    },
    addEvent(event, attributes, at) {
      // The time may take the place of the attributes.
      const timed = isTime(attributes)
      const time = timeOf(timed ? attributes : at)
      if (isOpen()) collected.events.push({ name: event, at: time, attributes: timed ? {} : { ...attributes } })
      return span
    },
    addLink(link) {
      if (isOpen()) collected.links.push(linked(link))
      return span
    },
    addLinks(links) {
      for (const link of links) span.addLink(link)
      return span
    },
    setStatus({ code, message }: SpanStatus) {
      if (!isOpen()) return span
      collected.failed = code === SpanStatusCode.ERROR
      if (message !== undefined) collected.message = message
      return span
    },
    updateName(now) {
      if (isOpen()) collected.name = now
      return span
    },
    end(at) {
      if (isOpen()) collected.end = timeOf(at)
    },
    recordException(exception: Exception, at?: TimeInput) {
      const message = typeof exception === 'string' ? exception : exception.message
      span.addEvent('exception', message === undefined ? {} : { 'exception.message': message }, at)
    },
  }
  return { span, collected }
}

function linked({ context: { traceId, spanId } }: Link): CollectedSpan['links'][number] {
  return { traceId, spanId }
}

function isTime(value: Attributes | TimeInput | undefined): value is TimeInput {
  return typeof value === 'number' || value instanceof Date || Array.isArray(value)
}

/** Reads an OpenTelemetry time: since process start, or since the epoch. */
function timeOf(time: TimeInput | undefined): number {
  if (time === undefined) return performance.now()
  if (Array.isArray(time)) return time[0] * 1000 + time[1] / 1e6 - performance.timeOrigin
  const ms = typeof time === 'number' ? time : time.getTime()
  return ms > performance.timeOrigin ? ms - performance.timeOrigin : ms
}
