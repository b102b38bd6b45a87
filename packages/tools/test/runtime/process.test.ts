import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { nodeRuntime } from '@provost/tools'
import { describe, expect, onTestFinished, test } from 'vitest'

import { folder } from '../files/folder.ts'

/** Returns whether a process runs. A zombie does not. */
async function runs(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return state !== '' && !/\) [ZX] /.test(state)
}

async function gone(pid: number): Promise<void> {
  while (await runs(pid)) await sleep(5)
}

test('a command runs in the root, with separate stdout and stderr', async () => {
  const cwd = await folder({ 'below/x': '' })
  const runtime = nodeRuntime({ cwd })
  expect(await runtime.exec('pwd; echo oops >&2; exit 3')).toEqual({
    stdout: `${cwd}\n`,
    stderr: 'oops\n',
    exitCode: 3,
    truncated: false,
  })
  expect((await runtime.exec('pwd', { cwd: 'below' })).stdout).toBe(`${path.join(cwd, 'below')}\n`)
})

test('a signal becomes an exit code, as in shells', async () => {
  expect((await nodeRuntime().exec('kill -9 $$')).exitCode).toBe(137)
})

test('a command with a NUL character is rejected with the reason', async () => {
  await expect(nodeRuntime().exec('echo a\0b')).rejects.toMatchObject({
    code: 'exec-failed',
    message: expect.stringContaining('NUL'),
    hint: expect.stringContaining('without'),
  })
})

test('a command has an empty stdin', async () => {
  expect((await nodeRuntime().exec('cat')).exitCode).toBe(0)
})

test('a command sees a few variables and the given ones only', async () => {
  process.env['PROVOST_TEST_SECRET'] = 'hunter2'
  onTestFinished(() => void delete process.env['PROVOST_TEST_SECRET'])
  const { stdout } = await nodeRuntime({ env: { GIVEN: 'yes', LANG: 'C' } }).exec('env')
  const names = stdout.split('\n').map((line) => line.split('=', 1)[0])
  expect(stdout).not.toContain('hunter2')
  expect(stdout).toContain('GIVEN=yes\n')
  expect(stdout).toContain('LANG=C\n')
  // The variables that the shell sets, and the marker that identifies its processes.
  const own = ['_', 'PWD', 'OLDPWD', 'SHLVL', 'PROVOST_COMMAND', '']
  expect(names.filter((name) => !own.includes(name ?? ''))).toEqual(expect.arrayContaining(['PATH', 'GIVEN', 'LANG']))
  expect(
    names.filter((name) => ![...own, 'PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'GIVEN'].includes(name ?? '')),
  ).toEqual([])
})

test('output streams in whole characters, and equals the final output', async () => {
  const pieces: string[] = []
  const { stdout } = await nodeRuntime().exec(
    String.raw`printf '\xc3'; sleep 0.05; printf '\xbc'; sleep 0.05; echo end`,
    {
      onOutput: (chunk, stream) => void pieces.push(`${stream}:${chunk}`),
    },
  )
  expect(stdout).toBe('üend\n')
  expect(pieces).toEqual(['stdout:ü', 'stdout:end\n'])
})

test('an output over 1 MB is cut, and the command ends normally', async () => {
  let bytes = 0
  const done = await nodeRuntime().exec('head -c 3000000 /dev/zero | tr "\\0" x; echo few >&2; exit 4', {
    onOutput: (chunk) => void (bytes += chunk.length),
  })
  expect(done).toMatchObject({ truncated: true, exitCode: 4, stderr: 'few\n' })
  expect(done.stdout.length).toBe(1024 * 1024)
  expect(bytes).toBe(1024 * 1024 + 4)
})

const full = process.env['PROVOST_TEST_FULL'] === '1'
const endless = ['cat /dev/zero', 'yes', 'yes >&2', 'trap "" TERM; while :; do head -c 1000000 /dev/zero; done']

test.for(endless)('an endless output ends its command: %s', async (command, { skip }) => {
  skip(!full && command !== 'yes >&2', 'in full runs')
  let characters = 0
  const done = await nodeRuntime().exec(command, { onOutput: (chunk) => void (characters += chunk.length) })
  expect(done).toMatchObject({ exitCode: 141, truncated: true })
  expect(done.stderr).toMatch(/Killed after printing 67108864 bytes\.\n$/)
  expect(done.stdout.length + done.stderr.length).toBeLessThan(1024 * 1024 + 100)
  expect(characters).toBe(1024 * 1024)
})

describe('no process outlives its call:', () => {
  test('at a timeout the children of the shell end, and the output is kept', async () => {
    const done = await nodeRuntime().exec('sleep 100 & echo $!; echo last >&2; wait', { timeout: 150 })
    expect(done).toMatchObject({ exitCode: 124, stderr: 'last\nKilled after 150 ms.\n', truncated: false })
    expect(await runs(Number(done.stdout))).toBe(false)
  })

  test('a process that ignores SIGTERM is killed', async () => {
    const done = await nodeRuntime().exec('trap "" TERM; echo $$; while :; do sleep 0.1; done', { timeout: 100 })
    expect(done.exitCode).toBe(124)
    await gone(Number(done.stdout))
  })

  test('a process has time to clean up', async () => {
    const done = await nodeRuntime().exec('trap "echo bye; exit 0" TERM; echo hi; while :; do sleep 0.02; done', {
      timeout: 200,
    })
    expect(done).toMatchObject({ exitCode: 124, stdout: 'hi\nbye\n' })
  })

  test('at an abort the call rejects with the reason', async () => {
    const controller = new AbortController()
    let pid = 0
    const running = nodeRuntime().exec('sleep 100 & echo $!; wait', {
      signal: controller.signal,
      onOutput: (chunk) => {
        pid = Number(chunk)
        controller.abort(new Error('enough'))
      },
    })
    await expect(running).rejects.toThrow('enough')
    expect(await runs(pid)).toBe(false)
  })

  test('a background process ends with the shell, and the call does not wait for it', async () => {
    const done = await nodeRuntime().exec('sleep 100 & echo $!', { timeout: 60_000 })
    expect(done.exitCode).toBe(0)
    await gone(Number(done.stdout))
  })

  test('a process that left the group ends too, and the call does not wait for its output', async () => {
    const done = await nodeRuntime().exec('setsid sleep 100 & echo $!; sleep 0.05')
    expect(done).toMatchObject({ exitCode: 0 })
    await gone(Number(done.stdout))
  })

  test.for([
    ['at the end', '', 0, 60_000],
    ['at a timeout', '; sleep 100', 124, 1_000],
  ] as const)('%s a daemon that left the group, closed every pipe and ignores SIGTERM ends', async (row) => {
    const [, then, code, timeout] = row
    const daemon = 'trap "" TERM HUP; exec </dev/null >/dev/null 2>&1 3>&-; echo $$ > pid; while :; do sleep 0.05; done'
    const runtime = nodeRuntime({ cwd: await folder({ 'daemon.sh': daemon }) })
    const command = `setsid -f bash daemon.sh; until [ -s pid ]; do sleep 0.01; done; cat pid${then}`
    const done = await runtime.exec(command, { timeout })
    expect(done.exitCode).toBe(code)
    await gone(Number(done.stdout))
  })

  test('a call that is already aborted starts nothing', async () => {
    const cwd = await folder()
    await expect(
      nodeRuntime({ cwd }).exec('touch ran', { signal: AbortSignal.abort(new Error('no')) }),
    ).rejects.toThrow('no')
    expect(await nodeRuntime({ cwd }).list('.')).toEqual([])
  })
})

test('a command that cannot be started is a clear error', async () => {
  const cwd = path.join(await folder(), 'gone')
  await expect(nodeRuntime({ cwd }).exec('true')).rejects.toMatchObject({ code: 'exec-failed' })
  await expect(nodeRuntime().exec('echo \0')).rejects.toMatchObject({ code: 'exec-failed' })
})

test('a listener that throws ends the command', async () => {
  const onOutput = (): never => {
    throw new Error('listener')
  }
  await expect(nodeRuntime().exec('echo up; sleep 100', { onOutput })).rejects.toThrow('listener')
})
