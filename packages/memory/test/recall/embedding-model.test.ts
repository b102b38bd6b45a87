import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { createOpenAI } from '@ai-sdk/openai'
import { createMemory, sqliteMemory } from '@provost/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** The requests so far, and whether the server fails them. */
const asked: { readonly model: string; readonly input: readonly string[] }[] = []
let broken = false
let server: Server
let baseURL = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      const body: (typeof asked)[number] = JSON.parse(text)
      asked.push(body)
      response.writeHead(broken ? 400 : 200, { 'content-type': 'application/json' })
      const data = body.input.map((one, index) => ({ index, embedding: /dog|hound/.test(one) ? [1, 0.1] : [0.1, 1] }))
      response.end(JSON.stringify(broken ? { error: { message: 'no' } } : { data, usage: { prompt_tokens: 1 } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  baseURL = `http://127.0.0.1:${port}/v1`
})
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))

test('an embedding model of the AI SDK finds texts in other words, and words find them when it fails', async () => {
  const faults: unknown[] = []
  const provider = createOpenAI({ baseURL, apiKey: 'test' })
  const memory = createMemory({
    store: sqliteMemory(':memory:'),
    embedder: provider.embedding('text-embedding-3-small'),
    onFault: (error) => void faults.push(error),
  })
  for (const text of ['The hound sleeps.', 'A boat sails.']) await memory.remember(text, { source: 's' })
  expect(asked.map(({ model, input }) => [model, input])).toEqual([
    ['text-embedding-3-small', ['The hound sleeps.']],
    ['text-embedding-3-small', ['A boat sails.']],
  ])
  const [hit] = await memory.recall('my dog')
  expect(hit).toMatchObject({ text: 'The hound sleeps.', why: { words: [], own: 0 } })
  expect(hit?.why.similarity).toBeCloseTo(1)
  broken = true
  expect(await memory.recall('my dog')).toEqual([])
  expect((await memory.recall('boat'))[0]?.text).toBe('A boat sails.')
  expect(faults).toHaveLength(2)
  await memory.close()
})
