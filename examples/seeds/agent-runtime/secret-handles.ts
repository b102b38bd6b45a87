// A structured result is kept behind a handle, too. A secret one is not, where others can read the store, and a handle
// works in its own session only.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Confidentiality } from 'provost'
import { createAgent, tool, z } from 'provost'
import { sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const folder = mkdtempSync(join(tmpdir(), 'provost-handles-'))
const path = join(folder, 'log.db')
const store = sqliteStore(path)
const handleIn = (value: unknown) => /res_[\w-]+/.exec(JSON.stringify(value))?.[0]

/** Reads letters of this confidentiality, then the handle. */
async function visit(confidentiality: Confidentiality, known?: string) {
  const letters = tool({
    name: 'letters',
    effect: 'read',
    input: z.object({}),
    returns: { confidentiality },
    maxResultTokens: 60,
    truncation: 'spill',
    execute: () => Array.from({ length: 500 }, (_, id) => ({ seal: `${confidentiality} seal ${id}` })),
  })
  let handle = known
  const model = scriptedModel([
    { toolCalls: [{ name: 'letters' }] },
    ({ messages }) => {
      handle ??= handleIn(messages) ?? 'res_none'
      return { toolCalls: [{ name: 'read_result', input: { handle, bytes: { from: 0, to: 40 } } }] }
    },
    { text: 'Read.' },
  ])
  const outcomes: string[] = []
  const { messages } = await createAgent({ name: 'archivist', model, tools: [letters], store }).run('Read them.')
  for (const part of messages.flatMap(({ content }) => content))
    if (part.type === 'tool-result') outcomes.push(part.output.type)
  return { handle: handleIn(messages[2]), outcomes, size: JSON.stringify(messages).length }
}
const open = await visit('internal')
assert.ok(open.handle !== undefined && open.size < 4000)
assert.deepEqual(open.outcomes, ['text', 'content'])

const secret = await visit('secret')
assert.equal(secret.handle, undefined)
assert.deepEqual(secret.outcomes, ['text', 'error-text'])
const files = [path, `${path}-wal`].map((file) => readFileSync(file, 'latin1')).join('')
assert.ok(files.includes('internal seal 499') && !files.includes('secret seal 499'))

const stranger = await visit('internal', open.handle)
assert.equal(stranger.outcomes[1], 'error-text')
rmSync(folder, { recursive: true })
console.log(`internal: a handle, secret: ${secret.handle ?? 'none'}`) // → internal: a handle, secret: none
