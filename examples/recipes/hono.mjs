import { serve } from '@hono/node-server'
import { Hono } from 'hono'

import { agents } from './agents.mjs'

const app = new Hono()
app.all('/api/agent/*', (c) => agents.fetch(c.req.raw, c.env))
app.get('/', (c) => c.text('my application'))

const listening = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8080) }, ({ port }) => console.log(port))
process.once('SIGTERM', async () => {
  listening.close()
  await agents.close()
})
