import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

/** A span as it arrived. */
export interface ArrivedSpan {
  readonly name: string
  readonly id: string
  readonly parent: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A request for spans, as it arrived. */
export interface Arrival {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly resource: Readonly<Record<string, unknown>>
  readonly spans: readonly ArrivedSpan[]
}

/** Receives OTLP over HTTP as backends do that take protobuf only: anything else is answered with the status 415. */
export async function otlpReceiver(): Promise<{ url: string; arrivals: Arrival[]; close(): Promise<void> }> {
  const arrivals: Arrival[] = []
  const server = createServer(async (request, response) => {
    if (request.headers['content-type'] !== 'application/x-protobuf') return void response.writeHead(415).end()
    const sent = await buffer(request)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    for (const resourceSpans of messages(fields(body), 1)) {
      const spans = messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2).map(spanOf))
      const resource = attributesOf(messages(resourceSpans, 1).flatMap((one) => messages(one, 1)))
      arrivals.push({ path: request.url, headers: request.headers, resource, spans })
    }
    response.setHeader('content-type', 'application/x-protobuf').end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The fields of a protobuf message: their numbers, and a number or bytes for each. */
type Fields = readonly (readonly [field: number, value: bigint | Buffer])[]

function fields(bytes: Buffer): Fields {
  const found: [number, bigint | Buffer][] = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes.readUInt8(at++))
      value |= (byte & 127n) << shift
      if (byte < 128n) return value
    }
  }
  const take = (length: number): Buffer => bytes.subarray(at, (at += length))
  while (at < bytes.length) {
    const key = Number(varint())
    const wire = key & 7
    if (wire !== 0 && wire !== 1 && wire !== 2 && wire !== 5) throw new Error(`A field has the wire type ${wire}.`)
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()))
    found.push([key >> 3, value])
  }
  return found
}

const values = (message: Fields, field: number): (bigint | Buffer)[] =>
  message.flatMap(([number, value]) => (number === field ? [value] : []))
const buffers = (message: Fields, field: number): Buffer[] =>
  values(message, field).filter((value) => Buffer.isBuffer(value))
const messages = (message: Fields, field: number): Fields[] => buffers(message, field).map(fields)
const textOf = (message: Fields, field: number): string => buffers(message, field)[0]?.toString('utf8') ?? ''
const hexOf = (message: Fields, field: number): string => buffers(message, field)[0]?.toString('hex') ?? ''

/** `Span` of OTLP: 2 is its id, 4 that of its parent, 5 its name, 9 its attributes. */
function spanOf(span: Fields): ArrivedSpan {
  return {
    id: hexOf(span, 2),
    parent: hexOf(span, 4),
    name: textOf(span, 5),
    attributes: attributesOf(messages(span, 9)),
  }
}

function attributesOf(pairs: readonly Fields[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(pairs.map((pair) => [textOf(pair, 1), anyValue(messages(pair, 2)[0] ?? [])]))
}

/** `AnyValue` of OTLP. */
function anyValue(message: Fields): unknown {
  const [field, value] = message[0] ?? []
  if (field === 2 || field === 3) return field === 2 ? value === 1n : Number(value)
  if (!Buffer.isBuffer(value)) return undefined
  if (field === 1) return value.toString('utf8')
  if (field === 4) return value.readDoubleLE()
  return field === 5 ? messages(fields(value), 1).map(anyValue) : value
}
