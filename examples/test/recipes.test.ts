import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { createClient } from 'provost/client'
import { beforeAll, describe, expect, test } from 'vitest'

const folder = join(import.meta.dirname, '../recipes')

/** Starts a program of a recipe, which prints its port. */
async function start(file: string) {
  const args = ['--conditions=@provost/source', file]
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const [port] = await Promise.race([once(child.stdout, 'data'), closed])
  return {
    url: `http://127.0.0.1:${String(port).trim()}`,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await closed
      return code
    },
  }
}

// Frameworks are installed for this alone, so only full runs do it.
const full = process.env['PROVOST_TEST_FULL'] === '1'

describe.runIf(full)('agents inside an application of', () => {
  beforeAll(() => {
    if (existsSync(join(folder, 'node_modules/.modules.yaml'))) return
    const args = ['install', '--frozen-lockfile', '--prefer-offline']
    const { status, stderr } = spawnSync('pnpm', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`The frameworks cannot be installed: ${stderr}`)
  })

  test.each(['express', 'fastify', 'hono'])(
    '%s stream, ask, resume, and leave its own routes alone (needs a registry)',
    async (name) => {
      const server = await start(`${name}.mjs`)
      try {
        expect(await (await fetch(server.url)).text()).toBe('my application')
        expect((await fetch(`${server.url}/api/agent/sessions`)).status).toBe(401)
        const session = createClient({ baseUrl: server.url, headers: { authorization: 'Bearer ann-token' } }).session()
        const asked: string[] = []
        const stream = session.execute('Order tea', {
          onApproval: ({ toolName }) => {
            asked.push(toolName)
            return 'approve'
          },
        })
        const deltas: string[] = []
        for await (const event of stream) if (event.type === 'text.delta') deltas.push(event.delta)
        expect(asked).toEqual(['order'])
        expect(deltas.join('')).toBe('It is ordered.')
        expect((await stream.result).status).toBe('completed')
        expect((await session.get()).messages.length).toBe(4)
      } finally {
        expect(await server.stop()).toBe(0)
      }
    },
  )
})
