import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import type { MaybePromise, Runtime } from '@provost/core'

/** One thing that every runtime has to do. */
export interface RuntimeCheck {
  /** What is checked, in words for a test's name. */
  readonly name: string
  /** Makes a runtime and checks it. Rejects, saying what was wrong. */
  run(): Promise<void>
}

/**
 * The checks that a {@link Runtime} has to pass for the built-in tools to work on it and to stay inside its root. They
 * need no test library: hand each to the one you use.
 *
 * @param create makes a runtime whose root is empty; its shell knows `echo`, `cat`, `ln`, `mkdir`, `pwd` and `sleep`.
 *
 * @example
 * for (const { name, run } of runtimeConformance(() => myRuntime())) test(name, run)
 */
export function runtimeConformance(create: () => MaybePromise<Runtime>): readonly RuntimeCheck[] {
  return checks.map(([name, check]) => ({ name, run: async () => check(await create()) }))
}

type Check = readonly [name: string, check: (runtime: Runtime) => Promise<void>]

const checks: readonly Check[] = [
  [
    'a command runs in the root, its outputs are apart, its exit code comes back',
    async (runtime) => {
      const done = await runtime.exec('pwd; echo oops >&2; exit 3')
      assert.deepEqual(done, { stdout: `${runtime.cwd}\n`, stderr: 'oops\n', exitCode: 3, truncated: false })
    },
  ],
  [
    'a command runs in the folder it is given',
    async (runtime) => {
      await runtime.writeFile('below/a.txt', 'here')
      assert.equal((await runtime.exec('cat a.txt', { cwd: 'below' })).stdout, 'here')
    },
  ],
  [
    'commands share files, and nothing else',
    async (runtime) => {
      await runtime.exec('echo one > a.txt; X=1; export X')
      assert.equal((await runtime.exec('cat a.txt; echo "[$X]"; pwd')).stdout, `one\n[]\n${runtime.cwd}\n`)
      assert.equal(await text(runtime, 'a.txt'), 'one\n')
      await runtime.writeFile('b.txt', 'two')
      assert.equal((await runtime.exec('cat b.txt')).stdout, 'two')
    },
  ],
  [
    'what a command prints is handed on, and is the same as at the end',
    async (runtime) => {
      const pieces = { stdout: '', stderr: '' }
      const onOutput = (chunk: string, stream: 'stdout' | 'stderr'): void => void (pieces[stream] += chunk)
      const done = await runtime.exec('echo grüße; echo oops >&2; echo end', { onOutput })
      assert.deepEqual(pieces, { stdout: 'grüße\nend\n', stderr: 'oops\n' })
      assert.equal(done.stdout, pieces.stdout)
    },
  ],
  [
    'much output is bounded, and it is said',
    async (runtime) => {
      await runtime.writeFile('big.txt', 'x'.repeat(2_000_000))
      const done = await runtime.exec('cat big.txt big.txt')
      assert.ok(done.stdout.length <= 4_000_000)
      assert.equal(done.truncated, done.stdout.length < 4_000_000)
    },
  ],
  [
    'a command that takes too long is ended with the exit code 124',
    async (runtime) => {
      const done = await soon(runtime.exec('sleep 60; echo late', { timeout: 50 }))
      assert.equal(done.exitCode, 124)
      assert.equal(done.stdout, '')
    },
  ],
  [
    'an abort ends a command, and it rejects with the reason',
    async (runtime) => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('enough')), 50)
      await assert.rejects(soon(runtime.exec('sleep 60', { signal: controller.signal })), /enough/)
    },
  ],
  [
    'a command that was aborted before does not run',
    async (runtime) => {
      const signal = AbortSignal.abort(new Error('no'))
      await assert.rejects(runtime.exec('echo ran > ran.txt', { signal }), /no/)
      assert.deepEqual(await runtime.list('.'), [])
    },
  ],
  [
    'files are written with their folders, byte by byte, and replaced as a whole',
    async (runtime) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, n) => n)
      await runtime.writeFile('a/b/c.bin', bytes)
      assert.deepEqual([...(await runtime.readFile('a/b/c.bin'))], [...bytes])
      await runtime.writeFile('a/b/c.bin', 'grüße')
      assert.equal(await text(runtime, './a//b/c.bin'), 'grüße')
      assert.equal(await text(runtime, `${runtime.cwd}/a/b/c.bin`), 'grüße')
    },
  ],
  [
    'a folder lists its files and folders in order, with their sizes, and nothing left over',
    async (runtime) => {
      await runtime.writeFile('b.txt', 'grüße')
      await runtime.writeFile('a/x.txt', '')
      await runtime.writeFile('b.txt', 'grüße')
      assert.deepEqual(await runtime.list('.'), [
        { name: 'a', kind: 'directory', bytes: 0 },
        { name: 'b.txt', kind: 'file', bytes: 7 },
      ])
    },
  ],
  [
    'a range of a file is read where the runtime can',
    async (runtime) => {
      await runtime.writeFile('a.txt', '0123456789')
      if (!runtime.readRange) return
      const { bytes, size } = await runtime.readRange('a.txt', 8, 100)
      assert.deepEqual([new TextDecoder().decode(bytes), size], ['89', 10])
      assert.equal((await runtime.readRange('a.txt', 20, 30)).bytes.length, 0)
    },
  ],
  [
    'what is missing, a folder and a part of a file are clear errors',
    async (runtime) => {
      await runtime.writeFile('folder/a.txt', 'x')
      await refused(runtime.readFile('none.txt'), 'file-not-found')
      await refused(runtime.list('none'), 'file-not-found')
      await refused(runtime.readFile('folder'), 'not-a-file')
      await refused(runtime.writeFile('folder', 'x'), 'not-a-file')
      await refused(runtime.list('folder/a.txt'), 'not-a-folder')
    },
  ],
  [
    'no path with .. or a NUL, and none to another place, is taken',
    async (runtime) => {
      for (const name of ['..', '../x', 'a/../b', 'x\0', '\0'])
        for (const use of uses(runtime, name)) await refused(use(), 'path-invalid')
      for (const name of ['/etc/passwd', '/', `${runtime.cwd}-beside/x`])
        for (const use of uses(runtime, name)) await refused(use(), 'path-outside')
    },
  ],
  [
    'no link leads out, whether to a file, a folder or nothing',
    async (runtime) => {
      const made = await runtime.exec(
        'ln -s / slash; ln -s /etc/passwd file; ln -s /nothing/at/all dangling; mkdir in; ln -s ../.. in/up; ln -s in good',
      )
      assert.equal(made.exitCode, 0, made.stderr)
      for (const name of ['slash/etc/passwd', 'slash/tmp/x', 'in/up/x', 'good/up/x'])
        await refused(runtime.writeFile(name, 'x'), 'path-outside')
      for (const name of ['slash', 'in/up', 'good/up']) await refused(runtime.list(name), 'path-outside')
      await refused(runtime.writeFile('dangling', 'x'), 'path-outside')
      await refused(runtime.writeFile('dangling/x', 'x'), 'path-outside')
      await assert.rejects(runtime.readFile('file'))
      await assert.rejects(runtime.readFile('dangling'))
      // One that stays inside is as good as what it leads to, but a walk must come to an end.
      await runtime.writeFile('good/a.txt', 'inside')
      assert.equal(await text(runtime, 'in/a.txt'), 'inside')
      assert.deepEqual(await runtime.list('.'), [{ name: 'in', kind: 'directory', bytes: 0 }])
    },
  ],
]

function uses(runtime: Runtime, name: string): readonly (() => Promise<unknown>)[] {
  return [() => runtime.readFile(name), () => runtime.writeFile(name, 'x'), () => runtime.list(name)]
}

async function text(runtime: Runtime, name: string): Promise<string> {
  return new TextDecoder().decode(await runtime.readFile(name))
}

async function refused(use: Promise<unknown>, code: string): Promise<void> {
  const error = await use.then(
    () => assert.fail(`it was not refused with ${code}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ProvostError, `not a ProvostError: ${String(error)}`)
  assert.equal(error.code, code)
}

/** Fails instead of waiting for what was to be ended long ago. */
async function soon<T>(work: Promise<T>): Promise<T> {
  const waited = new AbortController()
  const late = sleep(20_000, undefined, { signal: waited.signal, ref: false }).then(
    () => assert.fail('it did not end'),
    () => new Promise<never>(() => undefined),
  )
  try {
    return await Promise.race([work, late])
  } finally {
    waited.abort()
  }
}
