import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

import { afterAll, describe, expect, test } from 'vitest'

import { desk, deskFile, ended, full, makePlace } from './provost-command.ts'

const place = makePlace()
afterAll(() => place.remove())

/** Starts a run that looks until it is stopped. */
async function startLooking(session: string, store: string) {
  const looks = join(place.folder, `${session}-looks`)
  const child = place.start(['run', desk, 'look here', '--session', session, '--store', store], {
    LOOKS: looks,
    HANG: '1',
  })
  const end = ended(child)
  await expect.poll(() => readFileSync(looks, { encoding: 'utf8', flag: 'a+' })).toBe('look\n')
  return { child, end, looks }
}

test.skipIf(!full).each(['SIGINT', 'SIGTERM'] as const)(
  'a run that %s stops can be resumed, and ends by that signal',
  async (signal) => {
    const { child, end, looks } = await startLooking(signal, 'stopped.db')
    child.kill(signal)
    expect(await end).toMatchObject({ code: null, err: expect.stringContaining(`provost resume ${signal} `) })
    expect(child.signalCode).toBe(signal)
    const { code, out } = await place.provostWith({ LOOKS: looks }, 'resume', signal, deskFile, '--store', 'stopped.db')
    expect({ code, out }).toEqual({ code: 0, out: 'Seen.\n' })
  },
)

test.skipIf(!full)('a running session can be read, but neither run nor resumed by another process', async () => {
  const { child, end } = await startLooking('busy', 'busy.db')
  const [shown, again, resumed, decided] = await Promise.all([
    place.provost('show', 'busy', '--store', 'busy.db'),
    place.provost('run', desk, 'hello', '--session', 'busy', '--wait', '0', '--store', 'busy.db'),
    place.provost('resume', 'busy', deskFile, '--wait', '0', '--store', 'busy.db'),
    place.provost('approve', 'busy', '--store', 'busy.db'),
  ])
  child.kill('SIGINT')
  await end
  expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('status running') })
  for (const { code, err } of [again, resumed])
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^session-busy: [^]*--wait SECONDS\n$/) })
  expect(decided).toMatchObject({ code: 1, err: expect.stringContaining('unknown-wait') })
})

test.skipIf(!full)('a run whose reader has gone stops, and gives its session back', async () => {
  const child = place.start(['run', desk, 'look here', '--session', 'piped', '--store', 'piped.db', '--json'])
  const end = ended(child)
  child.stdout?.destroy()
  expect((await end).code).toBe(141)
  const { out } = await place.provost('runs', '--store', 'piped.db', '--json')
  expect(JSON.parse(out)).toMatchObject({ id: 'piped', status: 'idle' })
})

describe('stdin', () => {
  const piped = (text: string, ...args: readonly string[]) => {
    const child = place.start(args)
    child.stdin?.end(text)
    return ended(child)
  }

  test.skipIf(!full)('run, verify and import read it for -', async () => {
    await place.provost('run', desk, 'book it', '--session', 'sent', '--store', 'sent.db')
    const exported = await place.provost('export', 'sent', '--store', 'sent.db')
    const [answered, empty, verified, imported, cut] = await Promise.all([
      piped('hello\n', 'run', `${deskFile}#clerk`, '-'),
      piped('', 'run', `${deskFile}#clerk`, '-'),
      piped(exported.out, 'verify', '-'),
      piped(exported.out, 'import', '-', '--store', 'received.db'),
      piped(exported.out.slice(0, -40), 'import', '-', '--store', 'cut.db'),
    ])
    expect(answered).toMatchObject({ code: 0, out: 'Hello from the clerk.\n' })
    expect(empty).toMatchObject({ code: 2, err: expect.stringContaining('stdin is empty') })
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('Valid') })
    expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('Session sent') })
    expect(cut).toMatchObject({ code: 1, err: expect.stringContaining('provost export') })
  })
})

describe('a file of agents', () => {
  const written = (name: string, text: string): string => {
    writeFileSync(join(place.folder, name), text)
    return name
  }

  test.skipIf(!full)('an error in what it imports is reported with its file and line', async () => {
    written('throws.mjs', '\n\nthrow new Error("\\u001b[31mboom")')
    const { code, err } = await place.provost('run', written('imports.mjs', `import './throws.mjs'`), 'hi')
    expect(code).toBe(1)
    expect(err).toContain(String.raw`imports.mjs cannot be loaded: \u001b[31mboom (throws.mjs:3)`)
  })

  test.skipIf(!full)('eval runs its cases, writes an evaluation, and fails where a case regressed since', async () => {
    const source = `export { clerk } from ${JSON.stringify(deskFile)}
export const cases = [{ name: 'a greeting', input: 'hello', answer: process.env.WANTED ?? 'clerk' }]\n`
    const file = written('greeting.eval.ts', source)
    const first = await place.provost('eval', file, '--output', 'before.json', '--runs', '2')
    expect(first).toMatchObject({ code: 0, out: '2 of 2 runs of 1 cases passed.\n' })
    const [same, worse, unknown, none] = await Promise.all([
      place.provost('eval', file, '--against', 'before.json'),
      place.provostWith({ WANTED: 'boss' }, 'eval', file, '--against', 'before.json'),
      place.provost('eval', file, '--against', file),
      place.provost('eval', deskFile),
    ])
    expect(same).toMatchObject({ code: 0, out: expect.stringContaining('100%    100%  same') })
    expect(worse).toMatchObject({ code: 1, out: expect.stringContaining('100%    0%    regressed') })
    expect(worse.err).toContain('The answer has no “boss”: Hello from the clerk.')
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('provost eval --output FILE') })
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('several-agents') })
  })

  test.skipIf(!full)('what it logs goes to stderr, and it reads .env: variables that are set stay', async () => {
    const source = `export { clerk } from ${JSON.stringify(deskFile)}\nconsole.log(process.env.ONE, process.env.TWO)\n`
    const file = written('logs.ts', source)
    written('.env', 'ONE=from-file\nTWO=from-file\n')
    const { out, err } = await place.provostWith({ TWO: 'set' }, 'run', file, 'hello')
    expect(out).toBe('Hello from the clerk.\n')
    expect(err).toContain('from-file set\n')
  })

  test.skipIf(!full)('dev ends when the file does not exist or the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const [absent, inUse] = await Promise.all([
      place.provost('dev', 'absent.mjs'),
      place.provost('dev', deskFile, '--port', port),
    ])
    taken.close()
    expect(absent).toMatchObject({ code: 1, err: expect.stringContaining('absent.mjs does not exist') })
    expect(inUse).toMatchObject({ code: 1, err: expect.stringContaining('listen-failed') })
  })
})

test.skipIf(!full)(
  '--trace shows the spans of a run at its end, and a replay of its session needs no trace',
  async () => {
    const { code, out, err } = await place.provost('run', desk, 'book it', '--session', 'traced', '--trace')
    expect({ code, out }).toEqual({ code: 0, out: 'Booked.\n' })
    const tree = err.slice(err.indexOf('invoke_agent')).replaceAll(/ \d+ ms/g, '')
    expect(tree).toBe(`invoke_agent desk  completed
├─ chat scripted-model  tool-calls
├─ execute_tool book
└─ chat scripted-model  stop
`)
    const replayed = await place.provost('replay', 'traced', deskFile)
    expect(replayed).toMatchObject({ code: 0, out: expect.stringMatching(/^Same/) })
  },
)

test.skipIf(!full)(
  'a session id with control characters is printed as an argument that a shell reads back',
  async (ctx) => {
    const id = "a\u001b[2J'\\u{41}\u{e0041}b"
    const { err } = await place.provost('run', desk, 'refund it', '--session', id, '--store', 'ids.db')
    expect(err).not.toMatch(/[^\P{C}\n]/u)
    const [, quoted = ''] = /provost approve (.*) \S+\n/.exec(err) ?? []
    const shell = spawnSync('bash', ['-c', `printf %s ${quoted}`], { env: { LC_ALL: 'C.UTF-8' }, encoding: 'utf8' })
    if (shell.error) ctx.skip('bash is not installed')
    expect(shell.stdout).toBe(id)
  },
)
