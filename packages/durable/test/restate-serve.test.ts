import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:http2'

import type { DurableEngine, Rest } from '@provost/core'
import { restateEngine } from '@provost/durable'
import { expect, onTestFinished, test } from 'vitest'

/** A server that answers like Restate: it accepts invocations, and knows the registered address. */
async function fakeServer(answer: (path: string, response: ServerResponse) => void) {
  const seen = { connections: 0, requests: [] as string[], address: '' }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => (body += String(piece)))
    request.on('end', () => {
      const path = request.url ?? ''
      seen.requests.push(path)
      answer(path, response)
      if (path === '/deployments' && response.statusCode === 200) seen.address = JSON.parse(body).uri
    })
  })
  server.on('connection', () => seen.connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return { seen, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` }
}

async function serving(engine: DurableEngine, advance: (id: string) => Promise<Rest>) {
  const service = await engine.serve(advance, { agents: ['desk'], room: 1 })
  onTestFinished(() => service.drain(0))
  return service
}

const field = (number: number, bytes: Uint8Array) => Buffer.from([number * 8 + 2, bytes.length, ...bytes])

/** A message of Restate's protocol: its type, its length, and its body. */
function protocolMessage(type: number, ...body: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(body)
  const head = Buffer.alloc(8)
  head.writeUInt16BE(type, 0)
  head.writeUInt32BE(content.length, 4)
  return Buffer.concat([head, content])
}

/** Invokes the service of a process for a session, as the server does. Resolves when the invocation is over. */
function invoke(address: string, session: string): Promise<void> {
  return new Promise((resolve) => {
    const connection = connect(address).on('error', () => resolve())
    const headers = { 'content-type': 'application/vnd.restate.invocation.v5' }
    const stream = connection.request({ ':method': 'POST', ':path': '/invoke/provost/advance', ...headers })
    stream
      .on('error', () => resolve())
      .on('close', () => {
        connection.close()
        resolve()
      })
    const id = Buffer.from(session)
    // A start message with one entry, which is the input.
    stream.write(protocolMessage(0, field(1, id), field(2, id), Buffer.from([24, 1]), field(6, id)))
    stream.write(protocolMessage(0x0400, field(14, new Uint8Array())))
    stream.end()
    stream.resume()
  })
}

const ok = (_: string, response: ServerResponse): void => void response.end('{}')

test('a process that drains begins no session that waited for room', async () => {
  const { seen, url } = await fakeServer(ok)
  const advanced: string[] = []
  const first = Promise.withResolvers<Rest>()
  const service = await serving(restateEngine({ ingress: url, admin: url, port: 0 }), (id) => {
    advanced.push(id)
    return id === 'a' ? first.promise : Promise.resolve({ rest: 'done' })
  })
  await expect.poll(() => seen.address).not.toBe('')
  const a = invoke(seen.address, 'a')
  await expect.poll(() => advanced).toEqual(['a'])
  const b = invoke(seen.address, 'b')
  await new Promise((resolve) => setTimeout(resolve, 200))
  const drained = service.drain(5_000)
  first.resolve({ rest: 'done' })
  await Promise.all([a, b, drained])
  expect(advanced).toEqual(['a'])
})

test('reports a registration that the server rejects, once for each reason, and repeats it', async () => {
  const { seen, url } = await fakeServer((_, response) => {
    const isFirst = seen.requests.length < 3
    response.statusCode = isFirst ? 401 : 200
    response.end('{}')
  })
  const faults: unknown[] = []
  const onFault = (fault: unknown) => faults.push(fault)
  await serving(restateEngine({ ingress: url, admin: url, port: 0, onFault }), async () => ({ rest: 'done' }))
  await expect.poll(() => seen.address, { timeout: 5_000 }).not.toBe('')
  expect(seen.requests).toEqual(['/deployments', '/deployments', '/deployments'])
  expect(faults).toEqual([
    expect.objectContaining({ code: 'engine-unreachable', message: expect.stringContaining('401') }),
  ])
})

test('wakes share a connection, however long the answers of the server are', async () => {
  const { seen, url } = await fakeServer((_, response) => void response.end(' '.repeat(300_000)))
  const engine = restateEngine({ ingress: url })
  for (let n = 0; n < 20; n++) await engine.wake(`s${n}`)
  expect(seen.requests).toHaveLength(20)
  expect(seen.connections).toBeLessThan(4)
})
