import { spawn } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'

import { afterAll, expect, onTestFinished, test } from 'vitest'

/** A project of its own: the runner installs, and other tests must not find this one's dependencies half linked. */
const project = mkdtempSync(join(tmpdir(), 'provost-project-'))
afterAll(() => rmSync(project, { recursive: true }))
const runner = join(project, 'scripts/run.mjs')
mkdirSync(join(project, 'scripts'))
copyFileSync(new URL('../run.mjs', import.meta.url), runner)
const { toolchain }: { toolchain: object } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)
writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, toolchain }))
writeFileSync(join(project, 'pnpm-workspace.yaml'), 'packages: []\npmOnFail: ignore\n')

interface Run {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly onOutput?: (kill: (signal: NodeJS.Signals) => void) => void
}

async function run({ args, env, onOutput }: Run) {
  const child = spawn(process.execPath, [runner, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: 'pipe',
  })
  child.stdout.once('data', () => onOutput?.((signal) => child.kill(signal)))
  const closed = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { stdout, stderr, ...end }
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'provost-run-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A machine with Node and npm, an empty cache and nothing else. */
function bareMachine(): { cache: string; env: Record<string, string> } {
  const folder = temporaryFolder()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, join(bin, 'node'))
  symlinkSync(realpathSync(onPath('npm')), join(bin, 'npm'))
  return { cache: join(folder, 'provost'), env: { PATH: bin, XDG_CACHE_HOME: folder, npm_execpath: '' } }
}

function onPath(program: string): string {
  const folder = (process.env.PATH ?? '').split(delimiter).find((candidate) => contains(candidate, program))
  if (folder === undefined) throw new Error(`${program} is not on PATH`)
  return join(folder, program)
}

function contains(folder: string, name: string): boolean {
  try {
    return readdirSync(folder).includes(name)
  } catch {
    return false
  }
}

const script = (code: string) => ['--', 'node', '-e', code]

test('the command gets its arguments, stdout is its own, its exit code comes back', async () => {
  const code = 'console.log(JSON.stringify(process.argv.slice(1))); process.exit(3)'
  const { stdout, code: exit } = await run({ args: [...script(code), '--', '--json', 'two words', '--'] })
  expect(stdout).toBe('["--json","two words","--"]\n')
  expect(exit).toBe(3)
})

test('a signal sent to the runner reaches the command, which may end in its own way', async () => {
  const code = `process.on('SIGTERM', () => { console.log('bye'); process.exit(5) }); console.log('up'); setInterval(() => {}, 1000)`
  const { stdout, code: exit } = await run({ args: script(code), onOutput: (kill) => kill('SIGTERM') })
  expect(stdout).toBe('up\nbye\n')
  expect(exit).toBe(5)
})

test('a command that a signal ended ends the runner by the same signal', async () => {
  const { signal } = await run({ args: script(`process.kill(process.pid, 'SIGKILL')`) })
  expect(signal).toBe('SIGKILL')
})

test('what comes after a script that failed is named and not run', async () => {
  const { stdout, stderr, code } = await run({ args: ['no-such-script', 'build', ...script('console.log("ran")')] })
  expect(code).not.toBe(0)
  expect(stdout).toBe('')
  expect(stderr).toContain('"no-such-script" failed')
  expect(stderr).toContain('was not run: build, node')
})

test('settings of npm do not reach the command, but a registry set in the environment reaches pnpm too', async () => {
  const code = 'console.log(JSON.stringify([process.env.npm_lifecycle_event, process.env.pnpm_config_registry]))'
  const env = { npm_lifecycle_event: 'test', npm_config_registry: 'http://127.0.0.1:1/' }
  const { stdout } = await run({ args: script(code), env })
  expect(JSON.parse(stdout)).toEqual([null, 'http://127.0.0.1:1/'])
})

test('a machine that no npm package serves is told what to install', async () => {
  const { env } = bareMachine()
  const otherArch = `data:text/javascript,Object.defineProperty(process, 'arch', { value: 'mips' })`
  const { stderr, code } = await run({
    args: script(''),
    env: { ...env, NODE_OPTIONS: `--import=${otherArch.replaceAll(' ', '%20')}` },
  })
  expect(stderr).toMatch(/No npm package brings pnpm to this machine \(\w+-mips\)/)
  expect(stderr).toMatch(/→ .*install Node ≥ 24\.\d+\.\d+ and pnpm ≥ 12\.\d+\.\d+/)
  expect(code).toBe(1)
})

test('a registry that cannot be reached is named with a remedy, and leaves no half tool behind', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const { cache, env } = bareMachine()
  const { stderr, code } = await run({ args: script(''), env: { ...env, npm_config_registry: 'http://127.0.0.1:1/' } })
  expect(stderr).toContain('ECONNREFUSED')
  expect(stderr).toContain('→ Does npm reach its registry?')
  expect(code).toBe(1)
  expect(readdirSync(cache)).toEqual([])
})
