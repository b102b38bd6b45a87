import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, expect, test } from 'vitest'

import { packAll } from '../pack.ts'

const run = promisify(execFile)
const project = mkdtempSync(join(tmpdir(), 'provost-pack-'))
afterAll(() => rmSync(project, { recursive: true }))

const write = (path: string, content: string): void => {
  const file = join(project, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

const bin = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url))
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`, TURBO_FORCE: 'false' }
const build = () => run('turbo', ['run', 'build'], { cwd: project, env })
const chunks = () => readdirSync(join(project, 'packages/one/dist')).toSorted()

test('a packed file has the files of one build, also where the cache laid a build over another', async (ctx) => {
  if (process.env['PROVOST_TEST_FULL'] !== '1') ctx.skip('PROVOST_TEST_FULL is not set')
  write('package.json', JSON.stringify({ name: 'project', private: true, packageManager: 'pnpm@12.21.0' }))
  write('pnpm-workspace.yaml', 'packages: [packages/*]\npmOnFail: ignore\nverifyDepsBeforeRun: false\n')
  write('pnpm-lock.yaml', "lockfileVersion: '9.0'\nimporters:\n  .: {}\n  packages/one: {}\n  packages/two: {}\n")
  write('turbo.json', JSON.stringify({ tasks: { build: { inputs: ['src/**'], outputs: ['dist/**', 'publish/**'] } } }))
  const scripts = { build: 'node ../../build.mjs' }
  write('packages/one/package.json', JSON.stringify({ name: 'one', version: '1.2.3', files: ['dist'], scripts }))
  write('packages/two/README.md', '# two')
  const publishConfig = { directory: 'publish', linkDirectory: false }
  const built = { build: 'mkdir -p publish && cp manifest.json publish/package.json' }
  write('packages/two/manifest.json', JSON.stringify({ name: 'two', version: '1.2.3', files: ['dist'] }))
  write('packages/two/package.json', JSON.stringify({ name: 'two', version: '1.2.3', publishConfig, scripts: built }))
  write(
    'build.mjs',
    `import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
    rmSync('dist', { recursive: true, force: true })
    mkdirSync('dist')
    writeFileSync(\`dist/chunk-\${readFileSync('src/hash', 'utf8')}.js\`, '')`,
  )
  for (const hash of ['one', 'two', 'one']) {
    write('packages/one/src/hash', hash)
    await build()
  }
  expect(chunks()).toEqual(['chunk-one.js', 'chunk-two.js'])

  const { one, two } = await packAll(join(project, 'packed'), { root: project })
  const filesIn = async (archive = '') => (await run('tar', ['-tzf', archive])).stdout.trim().split('\n').toSorted()
  expect(await filesIn(one)).toEqual(['package/dist/chunk-one.js', 'package/package.json'])
  expect(await filesIn(two)).toEqual(['package/README.md', 'package/package.json'])
})
