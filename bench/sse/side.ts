import { serve as serveHono } from '@hono/node-server'
import { createServer, serve } from '@provost/server'
import { scriptedModel } from '@provost/testing'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { memoryStore } from 'provost'
import { createAgent } from 'provost'
import { sqliteStore } from 'provost/sqlite'

// One side of the comparison, a process of its own: node side.ts provost|hono CHUNKS DELAY_MS [FILE]. It says its port, and
// at GET /spent what it has used. FILE is where sessions are kept; without it, in memory.
const [side = '', chunkCount = '50', delay = '20', file = ''] = process.argv.slice(2)
const count = Number(chunkCount)
const delayMs = Number(delay)
const chunk = 'some words of an answer '
let peak = 0
const spent = () => {
  const { user, system } = process.cpuUsage()
  peak = Math.max(peak, process.memoryUsage.rss())
  return { cpuMs: (user + system) / 1000, rssMB: Math.round(peak / 1_048_576) }
}
setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 100).unref()

async function listen(): Promise<number> {
  if (side === 'provost') {
    const store = file === '' ? memoryStore() : sqliteStore(file)
    const model = scriptedModel([{ text: Array.from({ length: count }, () => chunk), delayMs }], {
      after: 'repeat-last',
    })
    const agent = createAgent({ name: 'bench', model, store })
    const limits = { runs: 10_000, connections: 10_000, requestsPerMinute: 1_000_000, sessions: 10_000 }
    const server = createServer({ agents: [agent], store, limits })
    server.app.get('/spent', (c) => c.json(spent()))
    return (await serve(server, { port: 0 })).port
  }
  const app = new Hono()
  app.get('/spent', (c) => c.json(spent()))
  app.post('/api/agent/execute', (c) =>
    streamSSE(c, async (stream) => {
      for (let seq = 1; seq <= count; seq++) {
        await stream.sleep(delayMs)
        const data = JSON.stringify({ seq, type: 'text.delta', delta: chunk, at: Date.now() })
        await stream.writeSSE({ id: String(seq), event: 'text.delta', data })
      }
      await stream.writeSSE({
        event: 'execute_complete',
        data: JSON.stringify({ type: 'execute_complete', status: 'completed' }),
      })
    }),
  )
  return new Promise((resolve) => {
    serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port))
  })
}

process.stdout.write(`${await listen()}\n`)
