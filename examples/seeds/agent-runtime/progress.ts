// Artifacts of progress are written whole or not at all, and read by run, role and number, also by another process.
// Changed: they are in the store of the sessions, content-addressed, so that they survive with it wherever it is.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, tool, z } from 'provost'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const folder = mkdtempSync(join(tmpdir(), 'provost-progress-'))
const path = join(folder, 'log.db')
const draft = tool({
  name: 'draft',
  effect: 'write',
  executionMode: 'sequential',
  input: z.object({ seq: z.number(), text: z.string() }),
  async execute({ seq, text }) {
    await author.progress.write(text, { role: 'draft', seq, tags: ['chapter-1'], confidentiality: 'internal' })
    return 'kept'
  },
})
const drafts = ['It was dark.', 'It was dark and wet.', 'It was stormy.']
const model = scriptedModel([
  { toolCalls: drafts.map((text, at) => ({ name: 'draft', input: { seq: at + 1, text } })) },
  { text: 'Three drafts.' },
])
const author = createAgent({ name: 'author', model, tools: [draft], store: sqliteStore(path) })
const { runId } = await author.run('Write the first sentence.')
await author.progress.write('a note', { role: 'note', seq: 1 })

// Another agent, with a connection of its own:
const editor = createAgent({ name: 'editor', model, store: sqliteStore(path) })
const read = async (query: Parameters<typeof editor.progress.read>[0]) =>
  (await editor.progress.read(query)).map(({ content }) => new TextDecoder().decode(content))
assert.deepEqual(await read({ runId, role: 'draft' }), drafts)
assert.deepEqual(await read({ runId, role: 'draft', sinceSeq: 1 }), drafts.slice(1))
assert.equal((await read({ runId, role: 'draft', maxArtifacts: 1 })).length, 1)
assert.deepEqual(await read({ runId, role: 'note' }), [])
// Names lead nowhere but into the store.
await assert.rejects(async () => author.progress.write('x', { role: '../../etc/cron.d/x', seq: -1 }))
rmSync(folder, { recursive: true })
console.log(`${drafts.length} drafts read by another agent`) // → 3 drafts read by another agent
