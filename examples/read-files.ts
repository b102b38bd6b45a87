// The built-in file tools, confined to one folder: an agent looks for something, and is stopped where it would leave.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent } from 'provost'
import { fileTools, nodeRuntime } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const cwd = await mkdtemp(join(tmpdir(), 'provost-'))
await writeFile(join(cwd, 'notes.md'), '# Notes\nThe key is under the mat.\n')
await writeFile(join(cwd, 'todo.md'), '# To do\nWater the plants.\n')

const model =
  process.env.PROVOST_MODEL ??
  scriptedModel([
    { toolCalls: [{ name: 'grep', input: { pattern: 'key', glob: '*.md' } }] },
    {
      toolCalls: [
        { name: 'read', input: { path: 'notes.md', fromLine: 2 } },
        { name: 'read', input: { path: '../../etc/passwd' } },
      ],
    },
    { text: 'It is under the mat.' },
  ])

const agent = createAgent({ name: 'finder', model, tools: fileTools, runtime: nodeRuntime({ cwd }) })
try {
  const stream = agent.stream('Where is the key?')
  for await (const event of stream) {
    if (event.type === 'tool.execute.end') console.log(event.toolName, JSON.stringify(event.output))
    if (event.type === 'tool.execute.error') console.log(event.toolName, event.error.message)
  }
  console.log((await stream.result).text)
} finally {
  await rm(cwd, { recursive: true })
}
// → grep {"type":"content","value":[{"type":"text","text":"notes.md:2: The key is under the mat."}]}
// → read {"type":"content","value":[{"type":"text","text":"The key is under the mat.\n[Lines 2 to 2 of 2.]"}]}
// → read The path "../../etc/passwd" is refused. It contains "..".
// → It is under the mat.
