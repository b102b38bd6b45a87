import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

const require = createRequire(import.meta.url)
const manifest = require.resolve('@modelcontextprotocol/conformance/package.json')
const suite = path.join(path.dirname(manifest), 'dist/index.js')
const client = fileURLToPath(new URL('./conformance-client.ts', import.meta.url))

async function run(scenario: string): Promise<{ code: number | null; said: string }> {
  const words = [process.execPath, '--conditions=@provost/source', client]
  const command = words.map((word) => JSON.stringify(word)).join(' ')
  const results = await mkdtemp(path.join(tmpdir(), 'provost-conformance-'))
  try {
    const args = [suite, 'client', '--command', command, '--scenario', scenario, '--output-dir', results]
    const { NODE_OPTIONS: _, ...env } = process.env
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const [said, complaints, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    return { code, said: said + complaints }
  } finally {
    await rm(results, { recursive: true, force: true })
  }
}

/**
 * Left out are `elicitation-sep1034-client-defaults`, because there is no handler, and those under `auth/`:
 * they test the OAuth of `@ai-sdk/mcp`, and this package only passes on the provider of the user.
 */
const scenarios = ['tools_call', 'initialize', 'sse-retry']
const full = process.env['PROVOST_TEST_FULL'] === '1'

describe.concurrent('client scenarios of the conformance suite', () => {
  // The server of the last scenario measures the delay of the client: a busy machine may need another try.
  test.for(scenarios)('%s', { retry: 2 }, async (scenario, { skip }) => {
    // By default the servers of the protocol library are enough.
    skip(!full, 'in full runs')
    const { code, said } = await run(scenario)
    expect(said).toMatch(/Passed: (\d+)\/\1, 0 failed/)
    expect(code).toBe(0)
  })
})
