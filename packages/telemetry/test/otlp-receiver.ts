import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

import { z } from 'zod'

const value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.unknown().optional(),
})
const attributes = z.array(z.object({ key: z.string(), value }))
const traces = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          scope: z.object({ name: z.string() }),
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              startTimeUnixNano: z.string(),
              endTimeUnixNano: z.string(),
              attributes,
              status: z.object({ code: z.number().optional() }).optional(),
            }),
          ),
        }),
      ),
    }),
  ),
})
const metrics = z.object({
  resourceMetrics: z.array(
    z.object({ scopeMetrics: z.array(z.object({ metrics: z.array(z.object({ name: z.string() }).loose()) })) }),
  ),
})

export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly kind: number
  readonly scope: string
  readonly nanos: bigint
  readonly attributes: ReadonlyMap<string, unknown>
}

/** A collector that accepts OTLP over HTTP in JSON. */
export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** Names of metrics, with their data. */
  readonly metrics: Map<string, unknown>
  close(): Promise<void>
}

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const received = new Map<string, unknown>()
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      if (request.url === '/v1/traces') spans.push(...spansIn(body))
      else
        for (const { scopeMetrics } of metrics.parse(body).resourceMetrics)
          for (const one of scopeMetrics.flatMap((scope) => scope.metrics)) received.set(one.name, one)
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metrics: received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function spansIn(body: unknown): ReceivedSpan[] {
  const scopes = traces.parse(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
  return scopes.flatMap(({ scope, spans }) =>
    spans.map((span) => ({
      name: span.name,
      traceId: span.traceId,
      spanId: span.spanId,
      parentId: span.parentSpanId,
      kind: span.kind,
      scope: scope.name,
      nanos: BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano),
      attributes: new Map(span.attributes.map(({ key, value: held }) => [key, Object.values(held)[0]])),
    })),
  )
}

/** The names as an indented tree, in the order of sending. */
export function namesOf(spans: readonly ReceivedSpan[]): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const under = (parent: string | undefined, lead: string): string[] =>
    spans
      .filter(({ parentId }) => (parent === undefined ? !ids.has(parentId ?? '') : parentId === parent))
      .flatMap((span) => [`${lead}${span.name}`, ...under(span.spanId, `${lead}  `)])
  return under(undefined, '')
}
