// The tools of an MCP server. What it says is untrusted, what it may do follows from its annotations unless you know
// better, and a definition that has changed since it was accepted is refused.
import { fileURLToPath } from 'node:url'

import { createAgent, mcpTools, ProvostError, scriptedModel } from 'provost'

const server = fileURLToPath(new URL('mcp/notes-server.ts', import.meta.url))
await using notes = await mcpTools({
  name: 'notes',
  transport: { type: 'stdio', command: process.execPath, args: [server] },
  timeoutMs: 10_000,
  configure: ({ name }) => (name === 'notes.share' ? { needsApproval: true } : undefined),
})
for (const { name, effect } of notes.tools) console.log(name, effect)
// → notes_search read
// → notes_share egress

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([{ toolCalls: [{ name: 'notes_search', input: { word: 'offsite' } }] }, { text: 'In Lisbon.' }])
const stream = createAgent({ name: 'assistant', model, tools: notes.tools }).stream('Where is the offsite?')
for await (const event of stream) {
  if (event.type !== 'tool.execute.end') continue
  console.log(event.label.integrity, event.label.sources)
  console.log(event.output.type === 'text' && event.output.value)
}
console.log((await stream.result).text)
// → untrusted [ 'mcp:notes' ]
// → One note.
// → [resource notes://offsite (Offsite, text/plain): not included, to be read by this URI]
// → In Lisbon.

// What a result links to is read when somebody wants it.
console.log(await notes.reader('notes://offsite', { from: 0, to: 24 }))
// → The offsite is in Lisbon

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
