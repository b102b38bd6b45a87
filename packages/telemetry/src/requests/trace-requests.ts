import type { Attributes, Histogram, Meter, Span, Tracer } from '@opentelemetry/api'
import { context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { KnownKeys } from '@provost/core'
import { checkOptions } from '@provost/core'

import { codeOf } from '../attributes/content.ts'
import { attr, metric } from '../attributes/semconv.ts'
import { scopeName, version } from '../spans/instruments.ts'
import { withSpan } from '../spans/span-context.ts'
import { withTrace } from '../spans/trace-context.ts'

/** Options of {@link traceRequests}. */
export interface TraceRequestsOptions {
  /** Default: the tracer of the registered OpenTelemetry SDK. */
  readonly tracer?: Tracer
  /** Default: the meter of the registered OpenTelemetry SDK. */
  readonly meter?: Meter
  /**
   * Returns the route of a request, such as `/api/agent/session/{id}`, once it was answered: the name of its span, and the only
   * part of its path in the metric. Without one, or if it throws, the span has the name of its method.
   */
  readonly route?: (request: Request) => string | undefined
}

/** A function that answers requests, as servers of the web platform have it. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>

const optionKeys = { tracer: true, meter: true, route: true } satisfies KnownKeys<TraceRequestsOptions>
const bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])

/**
 * Returns a handler whose requests are traced and measured by the HTTP conventions of OpenTelemetry. Runs that a request
 * starts are recorded under its span, and the span continues the trace of the caller's `traceparent`. It ends with the
 * last byte of the response, so that a stream is one span. Queries, headers and bodies are never recorded.
 *
 * A request of an MCP client, which names its method in a header, has a span by the MCP conventions below that of HTTP.
 *
 * Leave it out where the HTTP instrumentation of OpenTelemetry is registered: it records the same spans.
 *
 * @throws ProvostError `unknown-option`
 *
 * @example
 * const server = createServer({ agents: [desk], store })
 * await serve({ ...server, fetch: traceRequests(server.fetch, { route: server.routeOf }) })
 */
export function traceRequests<Rest extends readonly unknown[]>(
  handle: FetchHandler<Rest>,
  options: TraceRequestsOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  checkOptions(options, optionKeys, 'traceRequests')
  /** The response does not depend on whether its route is known. */
  function routeOf(request: Request): string | undefined {
    try {
      return options.route?.(request)
    } catch {
      return undefined
    }
  }
  const tracer = options.tracer ?? trace.getTracer(scopeName, version)
  let durations: Histogram | undefined
  // An SDK may be registered later.
  const histogram = (): Histogram =>
    (durations ??= (options.meter ?? metrics.getMeter(scopeName, version)).createHistogram(metric.request, {
      unit: 's',
      advice: { explicitBucketBoundaries: bounds },
    }))

  return (request, ...rest) =>
    withTrace(Object.fromEntries(request.headers), async () => {
      const { method, url } = request
      const { protocol, hostname, port, pathname } = new URL(url)
      const known = knownMethods.has(method) ? method : '_OTHER'
      const measured: Attributes = { [attr.httpMethod]: known, [attr.urlScheme]: protocol.slice(0, -1) }
      const attributes: Attributes = {
        ...measured,
        [attr.urlPath]: pathname.slice(0, longestPath),
        [attr.serverAddress]: hostname.slice(0, longestPath),
        ...(port !== '' && { [attr.serverPort]: Number(port) }),
      }
      const title = known === '_OTHER' ? 'HTTP' : known
      const span = tracer.startSpan(title, { kind: SpanKind.SERVER, attributes })
      const below = withSpan(context.active(), span)
      const named = mcpOf(request.headers)
      const mcp = named && tracer.startSpan(named.title, { kind: SpanKind.SERVER, attributes: named.attributes }, below)
      const started = performance.now()
      let ended = false
      const end = (status: number | undefined, error?: string): void => {
        // A read that a cancel ends would end the request again.
        if (ended) return
        ended = true
        const route = routeOf(request)
        if (route !== undefined) span.updateName(`${title} ${route}`)
        const outcome: Attributes = {
          ...(route !== undefined && { [attr.httpRoute]: route }),
          ...(status !== undefined && { [attr.httpStatus]: status }),
          ...(error !== undefined && { [attr.errorType]: error }),
        }
        span.setAttributes(outcome)
        if (error !== undefined) mcp?.setAttribute(attr.errorType, error).setStatus({ code: SpanStatusCode.ERROR })
        mcp?.end()
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
        histogram().record((performance.now() - started) / 1_000, { ...measured, ...outcome })
      }
      try {
        const response = await context.with(mcp ? withSpan(below, mcp) : below, () => handle(request, ...rest))
        return followBody(response, span, end)
      } catch (thrown) {
        end(undefined, codeOf(thrown instanceof Error ? thrown.name : undefined))
        throw thrown
      }
    })
}

/** Of a path or a host, in characters. */
const longestPath = 256

/** What the headers of an MCP client may say: words of the protocol, and names of tools. */
const word = /^[\w./:-]{1,128}$/

/** Returns the span of an MCP request; undefined for any other. */
function mcpOf(headers: Headers): { readonly title: string; readonly attributes: Attributes } | undefined {
  const read = (name: string): string | undefined => {
    const value = headers.get(name)
    return value !== null && word.test(value) ? value : undefined
  }
  const method = read('mcp-method')
  if (method === undefined) return undefined
  const [tool, protocol, session] = [read('mcp-name'), read('mcp-protocol-version'), read('mcp-session-id')]
  const isCall = method === 'tools/call'
  return {
    title: isCall && tool !== undefined ? `${method} ${tool}` : method,
    attributes: {
      [attr.mcpMethod]: method,
      [attr.networkTransport]: 'tcp',
      ...(protocol !== undefined && { [attr.mcpVersion]: protocol }),
      ...(session !== undefined && { [attr.mcpSession]: session }),
      ...(isCall && { [attr.operation]: 'execute_tool', ...(tool !== undefined && { [attr.toolName]: tool }) }),
    },
  }
}

/** Returns the response with a body that ends the span. */
function followBody(
  response: Response,
  span: Span,
  end: (status: number | undefined, error?: string) => void,
): Response {
  const { status, statusText, headers, body } = response
  const failed = status >= 500 ? String(status) : undefined
  if (!body) {
    end(status, failed)
    return response
  }
  const reader = body.getReader()
  const followed = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (value) controller.enqueue(value)
          if (!done) return
          controller.close()
          end(status, failed)
        } catch (thrown) {
          end(status, 'response-aborted')
          throw thrown
        }
      },
      // The client went away, which is how streams often end.
      async cancel(reason) {
        span.addEvent('provost.response.cancelled')
        end(status, failed)
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(followed, { status, statusText, headers })
}
