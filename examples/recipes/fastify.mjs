import { getRequestListener } from '@hono/node-server'
import Fastify from 'fastify'

import { agents } from './agents.mjs'

const app = Fastify()
const listener = getRequestListener(agents.fetch)
await app.register(async (scope) => {
  // The server of the agents reads the body itself.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
  scope.all('/api/agent/*', (request, reply) => {
    reply.hijack()
    void listener(request.raw, reply.raw)
  })
})
app.get('/', () => 'my application')

await app.listen({ port: Number(process.env.PORT ?? 8080) })
console.log(app.server.address().port)
process.once('SIGTERM', async () => {
  await agents.close()
  await app.close()
})
