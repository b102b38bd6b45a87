// The tool that reads pages: from a server on this machine, cut at 50 KB, and given up after a time (15 s by default).
// Changed: only hosts on the public internet are read, unless they are allowed by name; HTML becomes text.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'

import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'
import { webFetchTool } from 'provost/web'

const server = createServer((request, response) => {
  if (request.url === '/book') response.setHeader('content-type', 'text/plain').end('x'.repeat(200_000))
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const address = server.address()
const host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`

async function fetched(path: string, options: Parameters<typeof webFetchTool>[0]): Promise<string> {
  const read = { toolCalls: [{ name: 'web_fetch', input: { url: `http://${host}${path}` } }] }
  const model = scriptedModel([read, { text: 'Read.' }])
  const agent = createAgent({ name: 'reader', model, tools: [webFetchTool(options)] })
  const { messages } = await agent.run('Read the book')
  return JSON.stringify(messages)
}
const allowed = await fetched('/book', { allow: [host] })
const refused = await fetched('/book', {})
const slow = await fetched('/never', { allow: [host], timeoutMs: 50 })
server.closeAllConnections()
server.close()

const length = /x{9,}/.exec(allowed)?.[0].length ?? 0
assert.ok(length > 40_000 && length <= 51_200, `${length}`)
assert.match(refused, /cannot be fetched/)
assert.match(slow, /took more than 50 ms/)
console.log('cut at 50 KB; refused without permission') // → cut at 50 KB; refused without permission
