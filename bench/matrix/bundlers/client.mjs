/** node client.mjs: bundles `page/` with Vite, serves it beside an agent, and prints the address. */
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import process from 'node:process'

import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'
import { build } from 'vite'

const input = z.object({ amount: z.number() })
const execute = ({ amount }) => `refunded ${amount}`
const refund = tool({ name: 'refund', effect: 'write', needsApproval: true, input, execute })
const answer = ({ messages }) => {
  const last = messages.at(-1)
  if (last?.role !== 'tool') return { toolCalls: [{ name: 'refund', input: { amount: 80 } }] }
  return { text: JSON.stringify(last).includes('refunded 80') ? ['Done, ', '80 euros.'] : 'Not refunded.' }
}
const model = scriptedModel([answer], { after: 'repeat-last' })
const store = memoryStore()
const server = createServer({ agents: [createAgent({ name: 'desk', model, tools: [refund], store })], store })

const outDir = join(import.meta.dirname, 'page-built')
await build({
  configFile: false,
  logLevel: 'silent',
  root: 'page',
  base: '/page/',
  build: { outDir, emptyOutDir: true },
})
const types = { '.html': 'text/html', '.js': 'text/javascript' }
server.app.get('/page/*', (c) => {
  const path = c.req.path.replace('/page/', '') || 'index.html'
  return c.body(readFileSync(join(outDir, path), 'utf8'), 200, { 'content-type': types[extname(path)] })
})
const listening = await serve(server, { port: 0 })
console.log(`${listening.url}/page/`)
process.once('SIGTERM', () => void listening.close())
