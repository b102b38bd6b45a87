// node runtime.mjs URL: the runtime of CopilotKit before the agent "desk" of the Provost server at URL, and the page.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotHonoHandler } from '@copilotkit/runtime/v2/hono'
import { serve } from '@hono/node-server'

const [provost] = process.argv.slice(2)
const runtime = new CopilotRuntime({ agents: { desk: new HttpAgent({ url: `${provost}/ag-ui/desk` }) } })
const app = createCopilotHonoHandler({ runtime, basePath: '/api/copilotkit' })

const styles = createRequire(import.meta.url).resolve('@copilotkit/react-core/v2/styles.css')
const files = {
  '/page.js': [join(import.meta.dirname, 'generated/page.js'), 'text/javascript'],
  '/page.css': [styles, 'text/css'],
}
const html =
  '<!doctype html><link rel="stylesheet" href="/page.css"><div id="root" style="height:100vh"></div><script type="module" src="/page.js"></script>'

async function answer(request) {
  const { pathname } = new URL(request.url)
  if (pathname.startsWith('/api/copilotkit')) return app.fetch(request)
  if (pathname === '/') return new Response(html, { headers: { 'content-type': 'text/html' } })
  const file = files[pathname]
  if (!file) return new Response('', { status: 404 })
  return new Response(await readFile(file[0]), { headers: { 'content-type': file[1] } })
}

serve({ fetch: answer, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  process.stdout.write(`http://127.0.0.1:${port}\n`),
)
