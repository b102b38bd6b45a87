import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { AgentOptions, SessionStore } from 'provost'
import { createServer, serve } from 'provost/server'
import { sqliteStore } from 'provost/sqlite'

import { createDesk } from './agent.ts'
import { scripted } from './scripted.ts'

const page = {
  '/': ['page.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
} as const

/** Serves the agent and the page. Without `authenticate`, it answers requests of this machine only. */
export async function startServer({
  model,
  store,
  port,
}: {
  model: AgentOptions['model']
  store: SessionStore
  port: number
}) {
  const server = createServer({ agents: [createDesk(model, store)], store })
  for (const [path, [file, type]] of Object.entries(page)) {
    server.app.get(path, async (c) => {
      const headers = { 'content-type': type, 'content-security-policy': "default-src 'self'; img-src data:" }
      return c.body(await readFile(join(import.meta.dirname, file), 'utf8'), 200, headers)
    })
  }
  return serve(server, { port })
}

// Only when this file is started, not when a test imports it.
if (process.argv[1] === import.meta.filename) {
  const model = process.env.PROVOST_MODEL ?? scripted()
  const store = sqliteStore(process.env.STORE ?? join(import.meta.dirname, 'sessions.db'))
  const listening = await startServer({ model, store, port: Number(process.env.PORT ?? 8080) })
  console.log(`Open ${listening.url}`)
  const stop = async () => {
    await listening.close()
    await store.close()
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
}
