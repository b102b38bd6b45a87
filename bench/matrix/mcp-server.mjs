/** An MCP server over stdio with one tool and no dependency, so that it runs wherever the checks run. */
import process from 'node:process'
import { createInterface } from 'node:readline'

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'notes', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'search', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'One note' }] }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const result = results[method]?.(params)
  if (id !== undefined && result) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}
