import { once } from 'node:events'
import { chmod, readdir, readFile, stat, symlink, truncate } from 'node:fs/promises'
import path from 'node:path'
import { Worker } from 'node:worker_threads'

import type { Runtime } from '@provost/core'
import { nodeRuntime } from '@provost/tools'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { folder } from '../files/folder.ts'

const text = async (runtime: Runtime, name: string): Promise<string> =>
  new TextDecoder().decode(await runtime.readFile(name))

describe('files of the disk runtime', () => {
  test('are written with their folders, read back and listed in order', async () => {
    const runtime = nodeRuntime({ cwd: await folder() })
    await runtime.writeFile('b/deep/x.txt', 'grüße')
    await runtime.writeFile('b/a.bin', new Uint8Array([0, 255]))
    expect(await text(runtime, 'b/deep/x.txt')).toBe('grüße')
    expect([...(await runtime.readFile('./b//a.bin'))]).toEqual([0, 255])
    expect(await runtime.list('b')).toEqual([
      { name: 'a.bin', kind: 'file', bytes: 2 },
      { name: 'deep', kind: 'directory', bytes: 0 },
    ])
  })

  test('accept an absolute path inside the root', async () => {
    const cwd = await folder({ 'a.txt': 'x' })
    const runtime = nodeRuntime({ cwd })
    expect(await text(runtime, path.join(cwd, 'a.txt'))).toBe('x')
    await runtime.writeFile(path.join(cwd, 'n/b.txt'), 'y')
    expect(await text(runtime, 'n/b.txt')).toBe('y')
  })

  test('may be in a root that is a link', async () => {
    const real = await folder({ 'real/a.txt': 'x' })
    await symlink(path.join(real, 'real'), path.join(real, 'link'))
    const runtime = nodeRuntime({ cwd: path.join(real, 'link') })
    expect(await text(runtime, 'a.txt')).toBe('x')
    expect(await text(runtime, path.join(real, 'link/a.txt'))).toBe('x')
    await runtime.writeFile('b.txt', 'y')
    expect(await readFile(path.join(real, 'real/b.txt'), 'utf8')).toBe('y')
  })

  test('are replaced atomically, without a temporary file left behind', async () => {
    const cwd = await folder()
    const runtime = nodeRuntime({ cwd })
    const versions = Array.from({ length: 8 }, (_, n) => String(n).repeat(100_000))
    await runtime.writeFile('a.txt', versions[0] ?? '')
    const writing = Promise.all(versions.map((version) => runtime.writeFile('a.txt', version)))
    for (let i = 0; i < 30; i++) expect(versions).toContain(await text(runtime, 'a.txt'))
    await writing
    expect(await readdir(cwd)).toEqual(['a.txt'])
  })

  test('keep their permissions when replaced', async () => {
    const cwd = await folder({ 'run.sh': 'old' })
    await chmod(path.join(cwd, 'run.sh'), 0o750)
    await nodeRuntime({ cwd }).writeFile('run.sh', 'new')
    expect((await stat(path.join(cwd, 'run.sh'))).mode & 0o777).toBe(0o750)
  })

  test('that are too large are rejected before they are read', async () => {
    const cwd = await folder({ 'big.bin': '' })
    await truncate(path.join(cwd, 'big.bin'), 65 * 1024 * 1024)
    await expect(nodeRuntime({ cwd }).readFile('big.bin')).rejects.toMatchObject({ code: 'file-too-large' })
  })

  test('are read by byte ranges, whatever their size', async () => {
    const cwd = await folder({ 'big.bin': '0123456789' })
    const runtime = nodeRuntime({ cwd })
    const range = async (from: number, to: number) => {
      const { bytes, size } = (await runtime.readRange?.('big.bin', from, to)) ?? { bytes: new Uint8Array(), size: 0 }
      return [new TextDecoder().decode(bytes), size]
    }
    expect(await range(2, 5)).toEqual(['234', 10])
    expect(await range(8, 100)).toEqual(['89', 10])
    expect(await range(20, 30)).toEqual(['', 10])
    await truncate(path.join(cwd, 'big.bin'), 2 ** 40)
    expect(await range(0, 3)).toEqual(['012', 2 ** 40])
    expect(await range(2 ** 40 - 1, 2 ** 41)).toEqual(['\0', 2 ** 40])
  })

  test('that are not regular are rejected, a pipe without waiting', async () => {
    const cwd = await folder({ 'd/a.txt': 'x' })
    const runtime = nodeRuntime({ cwd })
    await runtime.exec('mkfifo pipe')
    await expect(runtime.readFile('pipe')).rejects.toMatchObject({ code: 'not-a-file' })
    await expect(runtime.readFile('d')).rejects.toMatchObject({ code: 'not-a-file' })
    await expect(runtime.writeFile('d', 'x')).rejects.toMatchObject({ code: 'not-a-file' })
    await expect(runtime.writeFile('d/a.txt/b', 'x')).rejects.toMatchObject({ code: 'not-a-folder' })
    await expect(runtime.list('d/a.txt')).rejects.toMatchObject({ code: 'not-a-folder' })
  })

  test('that are missing are named as requested, with a hint', async () => {
    const cwd = await folder()
    await expect(nodeRuntime({ cwd }).readFile('no/such.txt')).rejects.toMatchObject({
      code: 'file-not-found',
      message: 'There is nothing at "no/such.txt".',
      hint: expect.stringContaining('glob'),
    })
  })

  test('in a missing root are a clear error', async () => {
    const cwd = path.join(await folder(), 'gone')
    await expect(nodeRuntime({ cwd }).list('.')).rejects.toMatchObject({ code: 'file-not-found' })
  })
})

describe('no path leaves the root:', () => {
  /** Returns a root with a secret beside it and links of every kind in it. */
  async function guarded(): Promise<{ runtime: Runtime; outside: string }> {
    const base = await folder({ 'root/in/a.txt': 'inside', 'root/b.txt': 'inside', 'root-secret/s.txt': 'secret' })
    const root = path.join(base, 'root')
    const outside = path.join(base, 'root-secret')
    await symlink(outside, path.join(root, 'out'))
    await symlink(path.join(outside, 's.txt'), path.join(root, 'out.txt'))
    await symlink('../../root-secret', path.join(root, 'in/up'))
    await symlink('out', path.join(root, 'chain'))
    await symlink(path.join(outside, 'new.txt'), path.join(root, 'dangling'))
    await symlink('/', path.join(root, 'slash'))
    await symlink('loop', path.join(root, 'loop'))
    await symlink('in', path.join(root, 'good'))
    await symlink('b.txt', path.join(root, 'good.txt'))
    return { runtime: nodeRuntime({ cwd: root }), outside }
  }

  test.for([
    'out/s.txt',
    'out.txt',
    'in/up/s.txt',
    'chain/s.txt',
    'slash/etc/passwd',
    '/etc/passwd',
    '/',
    'good/up/s.txt',
  ])('not through %s', async (name) => {
    const { runtime } = await guarded()
    await expect(runtime.readFile(name)).rejects.toMatchObject({ code: 'path-outside' })
    await expect(runtime.writeFile(name, 'x')).rejects.toMatchObject({ code: 'path-outside' })
  })

  test.for([
    ['..', '../root-secret/s.txt'],
    ['.. that stays inside', 'in/../b.txt'],
    ['only ..', '..'],
    ['.. at the end', 'a/..'],
    ['.. and backslashes', 'in\\..\\b.txt'],
    ['a NUL', 'b.txt\0'],
    ['only a NUL', '\0'],
    ['5,000 characters', 'x'.repeat(5_000)],
  ] as const)('not with %s, which is rejected by its spelling', async ([, name]) => {
    const { runtime } = await guarded()
    await expect(runtime.readFile(name)).rejects.toMatchObject({ code: 'path-invalid' })
    await expect(runtime.writeFile(name, 'x')).rejects.toMatchObject({ code: 'path-invalid' })
    await expect(runtime.list(name)).rejects.toMatchObject({ code: 'path-invalid' })
  })

  test('not to a sibling whose name starts like the root', async () => {
    const { runtime, outside } = await guarded()
    await expect(runtime.readFile(path.join(outside, 's.txt'))).rejects.toMatchObject({ code: 'path-outside' })
  })

  test('not by writing through a broken link', async () => {
    const { runtime, outside } = await guarded()
    await expect(runtime.writeFile('dangling', 'x')).rejects.toMatchObject({ code: 'path-outside' })
    await expect(runtime.writeFile('dangling/x', 'x')).rejects.toMatchObject({ code: 'path-outside' })
    expect(await readdir(outside)).toEqual(['s.txt'])
  })

  test('not through a folder that becomes a link during its use', async () => {
    const { runtime, outside } = await guarded()
    await runtime.writeFile('flip/s.txt', 'inside')
    const stop = new Uint8Array(new SharedArrayBuffer(1))
    // Swaps a folder and a link out of the root for each other as fast as it can.
    const swapper = new Worker(
      `const { renameSync: mv, rmSync, symlinkSync } = require('node:fs')
      const { root, outside, stop } = require('node:worker_threads').workerData
      const at = (name) => root + '/' + name
      symlinkSync(outside, at('lead'))
      mv(at('flip'), at('real'))
      while (!stop[0])
        for (const one of ['real', 'lead'])
          try {
            mv(at(one), at('flip'))
            mv(at('flip'), at(one))
          } catch {
// A write recreated the folder meanwhile.
            try { rmSync(at('flip'), { recursive: true }) } catch {}
          }`,
      { eval: true, workerData: { root: runtime.cwd, outside, stop } },
    )
    const refused: unknown[] = []
    // On a busy machine the swapper may start late.
    for (let i = 0; i < 100 || (refused.length === 0 && i < 100_000); i++) {
      const read = await text(runtime, 'flip/s.txt').catch((error: unknown) => void refused.push(error))
      expect(read).not.toBe('secret')
      await runtime.writeFile('flip/new.txt', 'inside').catch((error: unknown) => void refused.push(error))
      const names = await runtime.list('flip').catch(() => [])
      expect(names.map(({ name }) => name)).not.toContain('only-outside')
    }
    stop[0] = 1
    await once(swapper, 'exit')
    expect(refused).not.toEqual([])
    expect(await readdir(outside)).toEqual(['s.txt'])
  })

  test('but links inside work, and a list has each folder once', async () => {
    const { runtime } = await guarded()
    expect(await text(runtime, 'good/a.txt')).toBe('inside')
    await runtime.writeFile('good.txt', 'changed')
    expect(await text(runtime, 'b.txt')).toBe('changed')
    expect((await runtime.list('.')).map(({ name }) => name)).toEqual(['b.txt', 'good.txt', 'in'])
  })

  test('not by an error about files outside', async () => {
    const { runtime, outside } = await guarded()
    const told = async (name: string): Promise<unknown> =>
      runtime.readFile(name).catch((error: unknown) => String(error))
    const there = await told(path.join(outside, 's.txt'))
    const absent = await told(path.join(outside, 'x.txt'))
    expect(String(there).replace('s.txt', 'x.txt')).toBe(absent)
    expect(await told('out.txt')).not.toContain('root-secret')
  })

  test('not for any path', async () => {
    const { runtime, outside } = await guarded()
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'in',
      'out',
      'up',
      'good',
      'chain',
      'slash',
      'loop',
      'dangling',
      'out.txt',
      's.txt',
      'a.txt',
      'new.txt',
      '\0',
      '~',
      '\\..',
      outside,
    )
    const names = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'))
    await fc.assert(
      fc.asyncProperty(names, fc.boolean(), async (name, rooted) => {
        const asked = rooted ? `/${name}` : name
        const read = await text(runtime, asked).catch(() => undefined)
        expect(read).not.toBe('secret')
        await runtime.writeFile(asked, 'inside').catch(() => undefined)
        expect(await readdir(outside)).toEqual(['s.txt'])
        expect(await readFile(path.join(outside, 's.txt'), 'utf8')).toBe('secret')
      }),
      { numRuns: process.env['PROVOST_TEST_FULL'] === '1' ? 150 : 15 },
    )
  })
})
