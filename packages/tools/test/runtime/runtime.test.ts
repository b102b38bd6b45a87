import type { Json, Runtime, Tool } from '@provost/core'
import { runtimeConformance } from '@provost/testing'
import {
  bashTool,
  editTool,
  globTool,
  grepTool,
  justBashRuntime,
  nodeRuntime,
  readTool,
  vercelSandboxRuntime,
  writeTool,
} from '@provost/tools'
import type { VercelSandbox } from '@provost/tools'
import type { Sandbox } from '@vercel/sandbox'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'

import { call, seen } from '../executor/call.ts'
import { folder } from '../files/folder.ts'
import { fakeSandbox } from './fake-sandbox.ts'

const runtimes: readonly (readonly [string, () => Runtime | Promise<Runtime>])[] = [
  ['node', async () => nodeRuntime({ cwd: await folder() })],
  ['just-bash', () => justBashRuntime()],
  ['vercel sandbox', async () => vercelSandboxRuntime({ sandbox: fakeSandbox(), cwd: await folder() })],
]

describe.each(runtimes)('%s', (_, create) => {
  test.for(runtimeConformance(create))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })

  test('runs all file tools', async () => {
    const runtime = await create()
    const use = async (tool: Tool, input: Json): Promise<string> => seen(await call(tool, input, { runtime }))
    await use(writeTool, { path: 'src/a.ts', content: 'const one = 1\nconst two = 2\n' })
    await use(writeTool, { path: '.gitignore', content: '*.log\n' })
    await use(writeTool, { path: 'src/a.log', content: 'one' })
    expect(await use(editTool, { path: 'src/a.ts', oldText: 'two = 2', newText: 'two = 3' })).toContain('1')
    expect(await use(readTool, { path: 'src/a.ts', fromLine: 2 })).toMatch(/^const two = 3\n\[Lines 2 to 2 of 2\.\]/)
    expect(await use(readTool, { path: 'src/a.ts', fromByte: 6, bytes: 3 })).toMatch(/^one\n\[Bytes 6 to 9 of 28\./)
    expect(await use(globTool, { pattern: '**/*' })).toBe('src/a.ts')
    expect(await use(grepTool, { pattern: 'o[n]e' })).toBe('src/a.ts:1: const one = 1')
    expect(await use(bashTool, { command: 'cat src/a.ts; exit 2' })).toBe('const one = 1\nconst two = 3\n[exit code 2]')
    expect(await use(readTool, { path: '../x' })).toContain('is refused')
  })
})

describe('just-bash', () => {
  test('starts with the given files and variables, and has nothing of this machine', async () => {
    const runtime = justBashRuntime({ files: { 'a/b.txt': 'x' }, cwd: '/data', env: { NAME: 'value' } })
    expect((await runtime.exec('cat a/b.txt; echo $NAME; pwd')).stdout).toBe('xvalue\n/data\n')
    expect((await runtime.exec('cat /proc/self/environ /etc/shadow; curl http://127.0.0.1')).exitCode).not.toBe(0)
    expect((await runtime.exec('node -e 1')).exitCode).toBe(127)
  })

  test('ends an endless loop', async () => {
    const done = await justBashRuntime().exec('while true; do :; done', { timeout: 100 })
    expect(done.exitCode).toBeGreaterThan(100)
  })
})

describe('vercel sandbox', () => {
  test('accepts the sandboxes of its package', () => {
    expectTypeOf<Sandbox>().toExtend<VercelSandbox>()
  })

  test('ends a command that prints endlessly', async () => {
    const runtime = vercelSandboxRuntime({ sandbox: fakeSandbox(), cwd: await folder() })
    const done = await runtime.exec('yes')
    expect(done).toMatchObject({ exitCode: 141, truncated: true })
    expect(done.stdout).toHaveLength(1024 * 1024)
  })

  test('fails with a code and a hint where none can be created, and can be stopped all the same', async () => {
    vi.stubEnv('VERCEL_OIDC_TOKEN', '')
    vi.stubEnv('VERCEL_AUTH_CONFIG_DIR', await folder())
    const runtime = vercelSandboxRuntime()
    await expect(runtime.exec('uname')).rejects.toMatchObject({
      name: 'ProvostError',
      code: 'sandbox-unavailable',
      hint: expect.stringContaining('VERCEL_OIDC_TOKEN'),
      cause: expect.any(Error),
    })
    await runtime.stop()
  })

  test('stops its sandbox on request', async () => {
    const sandbox = fakeSandbox()
    await vercelSandboxRuntime({ sandbox }).stop()
    expect(sandbox.stops).toBe(1)
  })
})
