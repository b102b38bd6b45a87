// The client that the conformance suite runs: it calls every tool of the server, and ends.
import { mcpTools, nodeRuntime, parseInput, runTool } from '@provost/tools'

import { nowhere } from '../executor/call.ts'

const url = process.argv.at(-1) ?? ''
await using server = await mcpTools({ name: 'conformance', transport: { type: 'http', url } })
const input = { a: 5, b: 3 }
for (const tool of server.tools) {
  const parsed = await parseInput(tool, input)
  if (!parsed.ok) throw new Error(parsed.error.message)
  const { outcome, error } = await runTool(tool, {
    callId: 'run/1/call/0',
    idempotencyKey: 'run/1/call/0',
    input,
    value: parsed.value,
    signal: new AbortController().signal,
    graceMs: 50,
    runtime: nodeRuntime(),
    access: nowhere,
    context: undefined,
    messages: [],
    progress: () => undefined,
    partial: () => undefined,
  })
  if (outcome !== 'ok') throw new Error(`${tool.name}: ${error?.message}`)
}
