// Where tools act: this machine, an interpreter in memory, or a runtime of your own. Tools see only `ctx.runtime`.
// Changed: `readFile` returns bytes, since files need not be text; a runtime also lists folders and confines paths.
// The sandbox at Vercel is `vercelSandboxRuntime`. It needs an account, so this program leaves it out.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, tool, z } from 'provost'
import type { Runtime } from 'provost'
import { justBashRuntime, nodeRuntime } from 'provost/files'
import { scriptedModel } from 'provost/testing'

const note = tool({
  name: 'note',
  effect: 'write',
  input: z.object({ text: z.string() }),
  async execute({ text }, { runtime, signal }) {
    await runtime.writeFile('note.txt', text)
    const { stdout } = await runtime.exec('wc -c < note.txt', { signal, timeout: 5000 })
    return `${stdout.trim()} ${new TextDecoder().decode(await runtime.readFile('note.txt'))}`
  },
})
async function noteIn(runtime: Runtime): Promise<string> {
  const model = scriptedModel([{ toolCalls: [{ name: 'note', input: { text: 'Milk' } }] }, { text: 'Noted.' }])
  const { messages } = await createAgent({ name: 'clerk', model, tools: [note], runtime }).run('Note: milk')
  return JSON.stringify(messages)
}

const folder = await mkdtemp(join(tmpdir(), 'note-'))
const here = nodeRuntime({ cwd: folder })
assert.match(await noteIn(here), /4 Milk/)
assert.equal(await readFile(join(folder, 'note.txt'), 'utf8'), 'Milk')
const flood = await here.exec('yes | head -c 3000000')
assert.ok(flood.truncated)
assert.equal(flood.stdout.length, 1024 * 1024)
await rm(folder, { recursive: true })

assert.match(await noteIn(justBashRuntime()), /4 Milk/)

const own: Runtime = { ...here, exec: async () => ({ stdout: '42', stderr: '', exitCode: 0, truncated: false }) }
const files = new Map<string, Uint8Array>()
const inMemory: Runtime = {
  ...own,
  writeFile: async (path, data) =>
    void files.set(path, typeof data === 'string' ? new TextEncoder().encode(data) : data),
  readFile: async (path) => files.get(path) ?? new Uint8Array(),
}
assert.match(await noteIn(inMemory), /42 Milk/)
console.log('the same tool in 3 runtimes') // → the same tool in 3 runtimes
