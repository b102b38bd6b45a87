import { spawn, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'create-provost-'))
const full = process.env['PROVOST_TEST_FULL'] === '1'
/** Most cases start a process: by default the first ones of each table. */
const some = <T>(rows: readonly T[], atMost: number): readonly T[] => (full ? rows : rows.slice(0, atMost))

interface Outcome {
  readonly out: string
  readonly err: string
  readonly code: number | null
}

async function run(cwd: string, given: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Outcome> {
  const { PROVOST_MODEL: _, NODE_OPTIONS: __, NODE_TEST_CONTEXT: ___, ...own } = process.env
  const env = { ...own, npm_config_user_agent: '', ...given }
  const child = spawn(process.execPath, ['--conditions=@provost/source', ...args], { cwd, env, stdio: 'pipe' })
  child.stdin.end()
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { out, err, code }
}

const templates = ['script', 'server', 'team', 'next']

const create = (...args: readonly string[]) => run(folder, {}, join(root, 'src/main.ts'), ...args)
const filesIn = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted()
const manifest = (project: string) => JSON.parse(readFileSync(join(folder, project, 'package.json'), 'utf8'))

describe.concurrent('a project', () => {
  test.each(some(templates, 1))('of the template %s has all its files, named and filled in', async (template) => {
    const name = `my-${template}`
    const { out, code } = await create(name, '--template', template, '--provider', 'openai', '--no-install', '--json')
    expect(code).toBe(0)
    const { files, installed } = JSON.parse(out)
    expect(installed).toBe(false)
    expect(filesIn(join(folder, name))).toEqual(files)
    expect(files).toEqual(expect.arrayContaining(['.env.example', '.gitignore', 'README.md', 'package.json']))
    for (const file of files) expect(readFileSync(join(folder, name, file), 'utf8')).not.toMatch(/\{\{\w+\}\}/)
    expect(readFileSync(join(folder, name, 'README.md'), 'utf8')).toMatch(new RegExp(`^# ${name}\n`))
    expect(readFileSync(join(folder, name, '.env.example'), 'utf8')).toMatch(/=openai\/.*\nOPENAI_API_KEY=$/m)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const made = manifest(name)
    expect(made.name).toBe(name)
    expect(made.dependencies).toMatchObject({ provost: `^${version}`, '@ai-sdk/openai': expect.any(String) })
    expect(Object.values(made.dependencies)).not.toContain('*')
  })

  test('without a provider installs none, and its README says which package to add', async () => {
    await create('--name', 'plain', '--template', 'script', '--no-install')
    expect(Object.keys(manifest('plain').dependencies)).toEqual(['provost', 'zod'])
    expect(readFileSync(join(folder, 'plain/README.md'), 'utf8')).toContain('npm install @ai-sdk/anthropic')
  })

  test.skipIf(!full)('has the defaults with --yes', async () => {
    const { out } = await create('--yes', '--no-install')
    expect(out).toContain('cd my-agent')
    expect(manifest('my-agent').name).toBe('my-agent')
  })

  test('may be in a deeper folder that does not exist yet, or in an empty one', async () => {
    mkdirSync(join(folder, 'empty'))
    for (const name of full ? ['empty', 'a/b/deep'] : ['a/b/deep'])
      expect(await create(name, '--template=script', '--no-install')).toMatchObject({ code: 0 })
    expect(manifest('a/b/deep').name).toBe('deep')
  })

  test('never overwrites: a folder with a file is rejected and unchanged', async () => {
    mkdirSync(join(folder, 'taken'))
    writeFileSync(join(folder, 'taken/.hidden'), 'mine')
    const { code, out } = await create('taken', '--template=script', '--no-install', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out).error.code).toBe('not-empty')
    expect(readdirSync(join(folder, 'taken'))).toEqual(['.hidden'])
  })

  test.skipIf(!full)('is rejected where a file has its name', async () => {
    writeFileSync(join(folder, 'file'), 'mine')
    const { code, err } = await create('file', '--template=script', '--no-install')
    expect(code).toBe(1)
    expect(err).toContain('not a folder')
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('mine')
  })

  test('whose name is no package name is rejected before its folder exists', async () => {
    for (const name of some(['My Agent', '.hidden', 'node_modules', 'x'.repeat(300)], 1)) {
      const { code, out } = await create('--name', name, '--template=script', '--no-install', '--json')
      expect(code).toBe(1)
      expect(JSON.parse(out).error.code).toBe('invalid-option')
    }
    expect(readdirSync(folder)).not.toContain('My Agent')
  })
})

describe.concurrent('invalid arguments end with exit code 2, and name what is wrong', () => {
  const rows: readonly (readonly [args: readonly string[], words: string])[] = [
    [['--template', 'nest'], 'script, server, team, next'],
    [[], 'no terminal to ask in'],
    [['x', '--template=script', '--provider', 'acme'], 'none, anthropic, openai'],
    [['--frozen'], '--frozen'],
    [['a', 'b'], 'More than one folder'],
    [['a', '--name', 'b'], 'More than one folder'],
  ]
  test.each(some(rows, 2))('%j', async (args, words) => {
    const { code, err } = await create(...args, '--no-install')
    expect(code).toBe(2)
    expect(err).toContain(words)
    expect(err).toMatch(/--help|--yes/)
  })
})

describe.concurrent('the commands that a project names are those of the package manager that created it', () => {
  const rows = [
    ['npm', 'npm run dev', 'npm test', 'npx provost runs', ['npm', 'npx'], undefined],
    ['pnpm', 'pnpm dev', 'pnpm test', 'pnpm exec provost runs', ['pnpm'], 'pnpm-workspace.yaml'],
    ['yarn', 'yarn dev', 'yarn test', 'yarn provost runs', ['yarn'], '.yarnrc.yml'],
    // `bun test` is a test runner of its own.
    ['bun', 'bun run dev', 'bun run test', 'bunx provost runs', ['bun', 'bunx'], undefined],
  ] as const
  test.each(some(rows, 2))('%s', async (manager, develop, check, program, programs, settings) => {
    const args = [join(root, 'src/main.ts'), `by-${manager}`, '--template=next', '--no-install']
    const { out } = await run(folder, { npm_config_user_agent: `${manager}/1.2.3 node/v24.0.0` }, ...args)
    expect(out).toContain(`  cd by-${manager}\n  ${manager} install\n  ${develop}\n  ${check}\n`)
    const readme = readFileSync(join(folder, `by-${manager}`, 'README.md'), 'utf8')
    for (const command of [develop, check, program]) expect(readme).toContain(`\n${command} `)
    const columns = readme.match(/^.* # (?=then open|the tests|checks|for prod)/gm)?.map((line) => line.indexOf('#'))
    expect(new Set(columns).size).toBe(1)
    const own = ['pnpm-workspace.yaml', '.yarnrc.yml'].filter((file) =>
      filesIn(join(folder, `by-${manager}`)).includes(file),
    )
    expect(own).toEqual(settings === undefined ? [] : [settings])
    expect([...new Set(readme.match(/\b(?:npm|npx|pnpm|yarn|bun|bunx)(?= \w)/g))].toSorted()).toEqual(programs)
  })
})

test('Ctrl-C at a question creates nothing, and ends with exit code 130', async (ctx) => {
  if (spawnSync('script', ['--version']).error) ctx.skip('script of util-linux is not installed')
  const cwd = mkdtempSync(join(folder, 'cancelled-'))
  // A terminal without a width would have one character in a line.
  const command = `stty cols 80; "${process.execPath}" --conditions=@provost/source "${join(root, 'src/main.ts')}"; echo "code $?"`
  const env = { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm' }
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd, env, stdio: 'pipe' })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (out += piece))
  const closed = new Promise((resolve) => child.once('close', resolve))
  await expect.poll(() => out).toContain('Name of the folder?')
  child.stdin.write('\u0003')
  await closed
  expect(out).toContain('Cancelled. Nothing was created.')
  expect(out).toContain('code 130')
  expect(readdirSync(cwd)).toEqual([])
})

test('--help and --version answer', async () => {
  for (const [flag, shown] of [
    ['--help', expect.stringContaining('--template')],
    ['--version', expect.stringMatching(/^\d+\.\d+\.\d+\n$/)],
  ].slice(0, full ? 2 : 1))
    expect(await create(String(flag))).toMatchObject({ code: 0, out: shown })
})

// The templates themselves, in one process, whose packages are those of the workspace. A created project has the same code.
test('the templates pass their own tests', async () => {
  const files = globSync('*/*.test.ts', { cwd: join(root, 'templates') })
  expect(files.length).toBe(templates.length)
  const { out, code } = await run(
    join(root, 'templates'),
    {},
    '--test',
    '--test-isolation=none',
    '--test-reporter=tap',
    ...files,
  )
  expect([code, out.match(/^# fail .*$/m)?.[0]]).toEqual([0, '# fail 0'])
  expect(Number(/^# pass (\d+)$/m.exec(out)?.[1])).toBe(13)
})

test('the versions in templates are those of this repository', () => {
  const catalog = readFileSync(join(root, '../../pnpm-workspace.yaml'), 'utf8')
  const versionOf = (name: string) => new RegExp(`^  '?${name}'?: (\\S+)$`, 'm').exec(catalog)?.[1]
  const dependenciesOf = (...path: readonly string[]): Record<string, string> => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, ...path, 'package.json'), 'utf8'))
    return { ...dependencies, ...devDependencies }
  }
  // What only pages have: the matrix builds an application with it, and the client is tested with it.
  const ofPages = { ...dependenciesOf('../client'), ...dependenciesOf('../../bench/matrix/bundlers') }
  for (const template of templates) {
    const { provost: _, ...versions } = dependenciesOf('templates', template)
    for (const [name, version] of Object.entries(versions))
      expect([name, version]).toEqual([name, versionOf(name) ?? ofPages[name]])
  }
  const choices = readFileSync(join(root, 'src/choices.ts'), 'utf8')
  for (const [, name = '', version] of choices.matchAll(/package: '([^']+)',\s+version: '([^']+)'/g))
    expect([name, version]).toEqual([name, versionOf(name)])
})
