import { justBashRuntime } from '@provost/tools'
import { describe, expect, test } from 'vitest'

/** Returns how often the event loop of this process turns until a promise settles. */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly turns: number; readonly value: T }> {
  let turns = 0
  let over = false
  const turn = (): void => {
    turns++
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    const value = await work()
    return { turns, value }
  } finally {
    over = true
  }
}

/** Commands that compute without a pause, or use all memory. */
const hostile: readonly (readonly [name: string, command: string])[] = [
  ['a loop without end', 'while :; do :; done'],
  ['a loop that prints', 'while :; do echo xxxxxxxxxxxxxxxx; done'],
  ['brace expansion', 'echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}'],
  ['a string that doubles', 'x=a; while :; do x=$x$x; done'],
  ['an array without end', 'i=0; while :; do a[$i]=xxxxxxxxxxxxxxxxxxxxxxxxxxxx; i=$((i+1)); done'],
  ['recursion', 'f() { f; f; }; f'],
  ['awk', 'awk \'BEGIN { while (1) { x = x "aaaaaaaaaaaaaaaa" } }\''],
  ['sed that branches for ever', "echo a | sed ':a; s/a/aa/; ta'"],
  ['jq', "jq -n '[limit(1000000000; repeat(1))] | length'"],
  ['a regular expression for grep', "printf 'a%.0s' {1..200} | grep -E '^(a|a)*(a|aa)+(.*a){9}b$'"],
  ['a regular expression for sed', "printf 'a%.0s' {1..200} | sed -E 's/^(a*)*(a|aa)+(.*a){9}b$/x/'"],
  ['a regular expression of the shell', 's=$(printf "a%.0s" {1..200}); [[ $s =~ ^(a|a)*(a|aa)+(.*a){9}b$ ]]'],
  ['a sort of much', 'seq 1 100000 | sort -r | sort | sort -r | tail -1'],
  ['files without end', 'i=0; while :; do echo x > f$i; i=$((i+1)); done'],
  ['folders in one another', 'p=.; while :; do p=$p/a; mkdir -p $p; done'],
  ['a file that grows', 'echo aaaaaaaaaaaaaaaa > f; while :; do cat f f > g; mv g f; done'],
]

/** The commands that no limit of the interpreter ends soon, and one that a limit ends. */
const sample: ReadonlySet<string> = new Set(['a loop without end', 'a sort of much'])

describe('a hostile command of justBashRuntime', () => {
  test.for(hostile)('does not block this process: %s', async ([name, command], ctx) => {
    if (process.env['PROVOST_TEST_FULL'] !== '1' && !sample.has(name)) ctx.skip('in full runs')
    const runtime = justBashRuntime()
    await runtime.writeFile('kept.txt', 'kept')
    const { turns, value } = await turnsDuring(() => runtime.exec(command, { timeout: 250 }))
    // A limit of the interpreter ends the command, or it is killed.
    expect(value.stdout.length).toBeLessThanOrEqual(1024 * 1024)
    // A computation in this thread leaves one or two turns.
    expect(turns).toBeGreaterThan(20)
    expect(new TextDecoder().decode(await runtime.readFile('kept.txt'))).toBe('kept')
    expect((await runtime.exec('echo again')).stdout).toBe('again\n')
  })

  test('that is killed loses its own changes to files, and no earlier ones', async () => {
    const runtime = justBashRuntime({ files: { 'begin.txt': 'begin', 'gone.txt': 'x' } })
    await runtime.exec(
      'echo one > a.txt; mkdir -p d/e; ln -s ../a.txt d/link; chmod 700 a.txt; rm gone.txt; echo 2 > d/e/f',
    )
    const killed = await runtime.exec('echo two > a.txt; rm begin.txt; while :; do sleep 1; done', { timeout: 200 })
    expect(killed).toMatchObject({ exitCode: 124, stdout: '' })
    expect(killed.stderr).toContain('Killed after 200 ms.')
    expect((await runtime.exec('cat a.txt begin.txt d/link d/e/f; ls')).stdout).toBe(
      'one\nbeginone\n2\na.txt\nbegin.txt\nd\n',
    )
    expect((await runtime.exec('stat -c %a a.txt')).stdout).toContain('700')
  })

  test('that is aborted is killed, and a command in the queue is aborted at once', async () => {
    const runtime = justBashRuntime()
    const [first, second] = [new AbortController(), new AbortController()]
    const running = runtime.exec('while :; do :; done', { signal: first.signal })
    const waiting = runtime.exec('echo ran > ran.txt', { signal: second.signal })
    setImmediate(() => second.abort(new Error('enough of the second')))
    await expect(waiting).rejects.toThrow('enough of the second')
    setImmediate(() => first.abort(new Error('enough of the first')))
    await expect(running).rejects.toThrow('enough of the first')
    expect(await runtime.list('.')).toEqual([])
  })

  test('that leaves too many files is undone', async ({ skip }) => {
    skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
    const runtime = justBashRuntime()
    await runtime.exec('echo x > x')
    const done = await runtime.exec('for i in 0 1 2; do eval "touch d$i{00000..08999}"; done', { timeout: 60_000 })
    expect(done).toMatchObject({ exitCode: 137 })
    expect(done.stderr).toContain('20000')
    expect((await runtime.list('.')).map(({ name }) => name)).toEqual(['x'])
  })
})

test('commands see no environment variables of this process', async () => {
  process.env['PROVOST_TEST_SECRET'] = 'hunter2'
  try {
    const { stdout } = await justBashRuntime({ env: { OWN: 'own' } }).exec('env; cat /proc/self/environ')
    expect(stdout).toContain('OWN=own')
    expect(stdout).not.toContain('hunter2')
  } finally {
    delete process.env['PROVOST_TEST_SECRET']
  }
})

test('an idle thread does not keep the process alive', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const { execFile } = await import('node:child_process')
  const { promisify } = await import('node:util')
  const source = `import { justBashRuntime } from '@provost/tools'
    const { stdout } = await justBashRuntime().exec('echo done')
    process.stdout.write(stdout)`
  const args = ['--conditions=@provost/source', '--no-warnings', '--input-type=module', '-e', source]
  const done = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  expect(done.stdout).toBe('done\n')
})
