/**
 * RUNTIME checks.mjs
 *
 * Uses the packed packages as an application does, on the runtime that runs it. One line of JSON per check on stdout:
 * `{ check, ok, seen? }`. What a runtime cannot do must be refused with the code that the documentation names.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

import { createAgent, jsonlStore, tool, z } from 'provost'
import { createSandbox } from 'provost/code-mode'
import { justBashRuntime } from 'provost/files'
import { mcpTools } from 'provost/mcp'
import { createMemory } from 'provost/memory'
import { sqliteMemory, sqliteStore } from 'provost/sqlite'
import { scriptedModel } from 'provost/testing'

const folder = mkdtempSync(join(tmpdir(), 'provost-matrix-'))
/** Only Node can restrict a thread. */
const isNode = !('bun' in process.versions || 'deno' in process.versions)
const isolation = isNode ? 'thread' : 'engine'
const input = z.object({ a: z.number(), b: z.number() })
const add = tool({ name: 'add', effect: 'read', input, execute: ({ a, b }) => a + b })

async function twoTurns(store) {
  const model = scriptedModel([
    { toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] },
    { text: 'one' },
    { text: 'two' },
  ])
  const agent = createAgent({ name: 'desk', model, tools: [add], store })
  assert.equal((await agent.run('Add.', { sessionId: 's' })).text, 'one')
  assert.equal((await agent.run('Again.', { sessionId: 's' })).text, 'two')
  await store.delete('s')
  await store.close?.()
}

const checks = {
  async 'run, stream, structured output'() {
    const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, { text: ['{"n"', ':3}'] }])
    const agent = createAgent({ name: 'desk', model, tools: [add], output: z.object({ n: z.number() }) })
    const stream = agent.stream('Add.')
    let text = ''
    for await (const event of stream) if (event.type === 'text.delta') text += event.delta
    assert.equal(text, '{"n":3}')
    assert.deepEqual((await stream.result).output, { n: 3 })
  },
  'SQLite store': () => twoTurns(sqliteStore(join(folder, 'sessions.db'))),
  'JSONL store': () => twoTurns(jsonlStore(join(folder, 'sessions'))),
  async 'SQLite memory'() {
    const store = sqliteMemory(join(folder, 'memory.db'))
    const heard = ({ messages }) => ({ text: JSON.stringify(messages).includes('called Minka') ? 'Minka' : 'unknown' })
    const model = scriptedModel([{ text: 'ok' }, heard])
    const agent = createAgent({ name: 'desk', model, extensions: [createMemory({ store })] })
    const principal = { id: 'ann' }
    await agent.run('My kitten is called Minka.', { principal })
    assert.equal((await agent.run('What is the name of my kitten?', { principal })).text, 'Minka')
    await store.close()
  },
  async 'code mode'() {
    const patient = createSandbox({ isolation, workers: 1 })
    const sum = `const parts: number[] = await Promise.all([tools.add({ a: 1, b: 2 }), tools.add({ a: 3, b: 4 })])
      return parts.reduce((x: number, y: number) => x + y, 0)`
    assert.deepEqual((await patient.run(sum, { tools: { add: ({ a, b }) => a + b } })).value, 10)
    assert.equal((await patient.run('const x: = 1')).error.code, 'syntax-error')
    await patient.close()
    // Where no CPU time of a thread is reported, time counts: on a busy machine that ends short scripts too.
    const sandbox = createSandbox({ isolation, workers: 1, limits: { cpuMs: 500 } })
    assert.equal((await sandbox.run('for (;;);')).error.code, 'cpu-limit')
    // A single operation of the engine, during which it looks at no limit: its thread is ended, and the next script has another.
    assert.equal((await sandbox.run('return String(3n ** 600000n).length')).error.code, 'cpu-limit')
    assert.equal((await sandbox.run('return 1')).value, 1)
    await sandbox.close()
    if (isNode) return
    await assert.rejects(createSandbox().run('return 1'), { code: 'no-thread-isolation' })
  },
  async 'shell in memory'() {
    const runtime = justBashRuntime({ files: { 'a.txt': 'x\ny\n' }, isolation })
    const lines = await runtime.exec('wc -l < a.txt').catch((error) => ({ stdout: '', error }))
    // The interpreter protects itself first, and cannot on Bun: it says so and runs nothing.
    if ('bun' in process.versions) assert.match(lines.error.message, /DefenseInDepthBox/u)
    else assert.equal(lines.stdout.trim(), '2')
  },
  async 'MCP over stdio'() {
    const args = [fileURLToPath(new URL('mcp-server.mjs', import.meta.url))]
    const notes = await mcpTools({ name: 'notes', transport: { type: 'stdio', command: process.execPath, args } })
    const model = scriptedModel([{ toolCalls: [{ name: 'search', input: {} }] }, { text: 'ok' }])
    const result = await createAgent({ name: 'desk', model, tools: notes.tools }).run('Search.')
    assert.match(JSON.stringify(result.messages), /One note/u)
    await notes.close()
  },
  async 'a provider that is not installed'() {
    const result = await createAgent({ name: 'desk', model: 'mistral/small' }).run('Hi.')
    assert.equal(result.error?.code, 'provider-not-installed')
  },
}

const limitMs = 100_000
let failed = 0
for (const [check, run] of Object.entries(checks)) {
  let timer
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('timed out')), limitMs)))
  try {
    await Promise.race([run(), late])
    console.log(JSON.stringify({ check, ok: true }))
  } catch (error) {
    failed++
    console.log(JSON.stringify({ check, ok: false, seen: String(error?.message ?? error).slice(0, 300) }))
  }
  clearTimeout(timer)
}
rmSync(folder, { recursive: true, force: true })
process.exit(failed > 0 ? 1 : 0)
