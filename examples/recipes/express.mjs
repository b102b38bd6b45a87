import { getRequestListener } from '@hono/node-server'
import express from 'express'

import { agents } from './agents.mjs'

const app = express()
// Before express.json(), which would read the body.
app.all('/api/agent/*path', getRequestListener(agents.fetch))
app.use(express.json())
app.get('/', (_request, response) => void response.send('my application'))

const listening = app.listen(Number(process.env.PORT ?? 8080), () => console.log(listening.address().port))
process.once('SIGTERM', async () => {
  listening.close()
  await agents.close()
})
