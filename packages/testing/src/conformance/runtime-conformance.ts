import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

import { ProvostError } from '@provost/core'
import type { MaybePromise, Runtime } from '@provost/core'

/** One requirement of every runtime. */
export interface RuntimeCheck {
  /** The requirement, as the name of a test. */
  readonly name: string
  /** Creates a runtime and checks it. Rejects with the violation. */
  run(): Promise<void>
}

/**
 * Returns the checks that a {@link Runtime} must pass, so that the built-in tools work on it and stay inside its root.
 * The checks need no test library: pass each to your own.
 *
 * @param create returns a runtime whose root is empty. Its shell knows `echo`, `cat`, `ln`, `mkdir`, `pwd` and
 * `sleep`.
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
    'a command runs in the root and returns its exit code, with stdout and stderr apart',
    async (runtime) => {
      const done = await runtime.exec('pwd; echo oops >&2; exit 3')
      assert.deepEqual(done, { stdout: `${runtime.cwd}\n`, stderr: 'oops\n', exitCode: 3, truncated: false })
    },
  ],
  [
    'a command runs in the requested folder',
    async (runtime) => {
      await runtime.writeFile('below/a.txt', 'here')
      assert.equal((await runtime.exec('cat a.txt', { cwd: 'below' })).stdout, 'here')
    },
  ],
  [
    'commands share files and nothing else',
    async (runtime) => {
      await runtime.exec('echo one > a.txt; X=1; export X')
      assert.equal((await runtime.exec('cat a.txt; echo "[$X]"; pwd')).stdout, `one\n[]\n${runtime.cwd}\n`)
      assert.equal(await text(runtime, 'a.txt'), 'one\n')
      await runtime.writeFile('b.txt', 'two')
      assert.equal((await runtime.exec('cat b.txt')).stdout, 'two')
    },
  ],
  [
    'output is streamed and equals the final output',
    async (runtime) => {
      const pieces = { stdout: '', stderr: '' }
      const onOutput = (chunk: string, stream: 'stdout' | 'stderr'): void => void (pieces[stream] += chunk)
      const done = await runtime.exec('echo grüße; echo oops >&2; echo end', { onOutput })
      assert.deepEqual(pieces, { stdout: 'grüße\nend\n', stderr: 'oops\n' })
      assert.equal(done.stdout, pieces.stdout)
    },
  ],
  [
    'large output is cut and marked as cut',
    async (runtime) => {
      await runtime.writeFile('big.txt', 'x'.repeat(2_000_000))
      const done = await runtime.exec('cat big.txt big.txt')
      assert.ok(done.stdout.length <= 4_000_000)
      assert.equal(done.truncated, done.stdout.length < 4_000_000)
    },
  ],
  [
    'a command that exceeds its timeout ends with the exit code 124',
    async (runtime) => {
      const done = await soon(runtime.exec('sleep 60; echo late', { timeout: 50 }))
      assert.equal(done.exitCode, 124)
      assert.equal(done.stdout, '')
    },
  ],
  [
    'an abort ends a command, which rejects with the reason',
    async (runtime) => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('enough')), 50)
      await assert.rejects(soon(runtime.exec('sleep 60', { signal: controller.signal })), /enough/)
    },
  ],
  [
    'a command whose signal is already aborted does not run',
    async (runtime) => {
      const signal = AbortSignal.abort(new Error('no'))
      await assert.rejects(runtime.exec('echo ran > ran.txt', { signal }), /no/)
      assert.deepEqual(await runtime.list('.'), [])
    },
  ],
  [
    'a write creates folders, keeps every byte, and replaces the whole file',
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
    'a folder lists exactly its files and folders in order, with their sizes',
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
    'a range of a file is read where the runtime supports it',
    async (runtime) => {
      await runtime.writeFile('a.txt', '0123456789')
      if (!runtime.readRange) return
      const { bytes, size } = await runtime.readRange('a.txt', 8, 100)
      assert.deepEqual([new TextDecoder().decode(bytes), size], ['89', 10])
      assert.equal((await runtime.readRange('a.txt', 20, 30)).bytes.length, 0)
    },
  ],
  [
    'a missing path, a folder and a path below a file fail with clear errors',
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
    'paths with .. or NUL, and paths outside the root, are rejected',
    async (runtime) => {
      for (const name of ['..', '../x', 'a/../b', 'x\0', '\0'])
        for (const use of uses(runtime, name)) await refused(use(), 'path-invalid')
      for (const name of ['/etc/passwd', '/', `${runtime.cwd}-beside/x`])
        for (const use of uses(runtime, name)) await refused(use(), 'path-outside')
    },
  ],
  [
    'a link to a file, a folder or nothing outside the root is rejected',
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
      // A link that stays inside may work like its target, but a walk over links must end.
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
    () => assert.fail(`it was not rejected with ${code}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ProvostError, `not a ProvostError: ${String(error)}`)
  assert.equal(error.code, code)
}

/** Fails instead of waiting for work that should have ended. */
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
