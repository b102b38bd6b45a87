// Fetching web pages: a page becomes readable text, and no redirect leads an agent to the metadata service of its cloud.
import { once } from 'node:events'
import { createServer } from 'node:http'

import { createAgent } from 'provost'
import { scriptedModel } from 'provost/testing'
import { webFetchTool } from 'provost/web'

const page = '<title>Opening hours</title><script>track()</script><h1>Hours</h1><ul><li>Mon&ndash;Fri 9 to 5</ul>'
const server = createServer((request, response) => {
  if (request.url === '/hours') response.setHeader('content-type', 'text/html; charset=utf-8').end(page)
  else response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const address = server.address()
const host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    {
      toolCalls: [
        { name: 'web_fetch', input: { url: `http://${host}/hours` } },
        { name: 'web_fetch', input: { url: `http://${host}/trap` } },
        { name: 'web_fetch', input: { url: 'http://0x7f.1/admin' } },
      ],
    },
    { text: 'Monday to Friday, 9 to 5.' },
  ])

// Public hosts need no entry; this one is on the same machine.
const agent = createAgent({ name: 'reader', model, tools: [webFetchTool({ allow: [host] })] })
try {
  const stream = agent.stream(`When is http://${host}/hours open?`)
  for await (const event of stream) {
    if (event.type === 'tool.execute.end' && event.output.type === 'content')
      for (const part of event.output.value)
        if (part.type === 'text') console.log(part.text.replace(host, 'shop').replaceAll(/\n+/g, '\n'))
    if (event.type === 'tool.execute.end') console.log('from', event.label.sources, event.label.integrity)
    if (event.type === 'tool.execute.error') console.log(event.error.message)
  }
  console.log((await stream.result).text)
} finally {
  server.close()
}
// → http://shop/hours
// → Opening hours
// → # Hours
// → - Mon–Fri 9 to 5
// → from [ '127.0.0.1' ] untrusted
// → "http://169.254.169.254/latest/meta-data/" is refused: its host is not on the public internet.
// → "http://127.0.0.1/admin" is refused: its host is not on the public internet.
// → Monday to Friday, 9 to 5.
