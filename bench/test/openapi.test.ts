import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { createAgent, memoryStore, tool, z } from 'provost'
import { createServer, serve } from 'provost/server'
import { scriptedModel } from 'provost/testing'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const folder = join(import.meta.dirname, '../openapi')
const runner = join(import.meta.dirname, '../../scripts/run.mjs')

// The generator and its compiler are installed by this test, into a folder of their own.
test.runIf(process.env['PROVOST_TEST_FULL'] === '1')(
  'a client that is generated from /openapi.json compiles and works',
  async () => {
    const store = memoryStore()
    const refund = tool({
      name: 'refund',
      effect: 'write',
      needsApproval: true,
      input: z.object({ order: z.number() }),
      execute: () => 'refunded',
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', input: { order: 17 } }] }, { text: 'Done.' }])
    const desk = createAgent({ name: 'desk', model, tools: [refund], store })
    const server = createServer({ agents: [desk], store, approvals: { by: 'requester' } })
    const listening = await serve(server, { port: 0 })
    onTestFinished(() => listening.close())

    mkdirSync(join(folder, 'generated'), { recursive: true })
    const described = join(folder, 'generated/openapi.json')
    writeFileSync(described, await (await fetch(`${listening.url}/openapi.json`)).text())
    await run(process.execPath, [runner, '--', 'pnpm', 'install', '--dir', folder, '--frozen-lockfile'])
    const program = (name: string, ...args: readonly string[]) =>
      run(join(folder, 'node_modules/.bin', name), [...args], { cwd: folder })
    await program('openapi-typescript', described, '-o', 'generated/api.ts')
    await program('tsc', '-p', '.')
    const { stdout } = await run(process.execPath, [join(folder, 'client.ts'), listening.url])
    expect(JSON.parse(stdout)).toEqual({
      ready: 'ready',
      started: 200,
      waitsFor: 'refund',
      decided: 202,
      listed: [true],
      unknown: 'unknown-session',
    })
  },
  300_000,
)
