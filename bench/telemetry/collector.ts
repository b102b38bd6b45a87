import { createServer } from 'node:http'

// Takes everything and keeps nothing.
const server = createServer((request, response) => {
  request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.once('disconnect', () => process.exit())
