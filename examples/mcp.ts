// The tools of an MCP server. What it says is untrusted, each tool is egress unless you lower it by name, and a
// definition that has changed since it was accepted is refused.
import { fileURLToPath } from 'node:url'

import { createAgent, ProvostError } from 'provost'
import { mcpTools } from 'provost/mcp'
import { scriptedModel } from 'provost/testing'

const server = fileURLToPath(new URL('mcp/notes-server.ts', import.meta.url))
await using notes = await mcpTools({
  name: 'notes',
  transport: { type: 'stdio', command: process.execPath, args: [server] },
  timeoutMs: 10_000,
  configure: ({ name }) => (name === 'notes.share' ? { needsApproval: true } : { effect: 'read' }),
})
for (const { name, effect } of notes.tools) console.log(name, effect)
// → notes_search read
// → notes_share egress

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'notes_search', input: { word: 'offsite' } }] },
    { toolCalls: [{ name: 'read_result', input: { handle: 'notes://offsite', bytes: { from: 0, to: 24 } } }] },
    { text: 'In Lisbon.' },
  ])
// What a result links to the model reads with read_result, through the reader of the scheme.
const resultReaders = { notes: notes.reader }
const agent = createAgent({ name: 'assistant', model, tools: notes.tools, resultReaders })
const stream = agent.stream('Where is the offsite?')
for await (const event of stream) {
  if (event.type !== 'tool.execute.end') continue
  console.log(event.label.integrity, event.label.sources)
  const { output } = event
  if (output.type === 'text') console.log(output.value)
  if (output.type === 'content') for (const part of output.value) console.log(part.type === 'text' && part.text)
}
console.log((await stream.result).text)
// → untrusted [ 'mcp:notes' ]
// → One note.
// → [resource notes://offsite (Offsite, text/plain): not included, to be read by this URI]
// → untrusted [ 'resource:notes' ]
// → The offsite is in Lisbon
// → [Bytes 0 to 24. Go on with bytes from 24.]
// → In Lisbon.

// Fingerprints are for keeping. The next connection is held to them.
const accept = notes.fingerprints
try {
  await mcpTools({
    name: 'notes',
    transport: { type: 'stdio', command: process.execPath, args: [server, '--changed'] },
    accept,
  })
} catch (error) {
  if (error instanceof ProvostError) console.log(error.code, error.message)
}
// → mcp-definition-changed Tools of the MCP server notes are refused: the definition of "notes.search" has changed since it was accepted.
