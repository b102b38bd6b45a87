import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import * as governance from '../../packages/provost/src/governance.ts'
import * as provost from '../../packages/provost/src/index.ts'
import * as memory from '../../packages/provost/src/memory.ts'
import * as sqlite from '../../packages/provost/src/sqlite.ts'
import * as testing from '../../packages/provost/src/testing.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const full = process.env['PROVOST_TEST_FULL'] === '1'
const folder = mkdtempSync(join(tmpdir(), 'readmes-'))

/** What code may leave to its reader: names, what follows from their types, and packages that are not Provost's. */
const leftOut = /error TS(?:2304|2552|2593|18004|7006|7031|2307: Cannot find module '(?!provost|@provost))/

const entries = {
  provost,
  'provost/governance': governance,
  'provost/memory': memory,
  'provost/sqlite': sqlite,
  'provost/testing': testing,
}

/** A block that imports nothing has what it uses of the everyday entries from above. */
function imported(code: string): string {
  if (/^import /m.test(code)) return code
  const imports = Object.entries(entries).map(([entry, module]) => {
    const names = Object.keys(module).filter((name) => new RegExp(`(?<!const )\\b${name}\\b`).test(code))
    return `import { ${names.join(', ')} } from '${entry}'; `
  })
  return imports.join('') + code
}

function write(name: string, content: string | object): void {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
}

test("the code in the packages' READMEs type-checks, but for what it leaves to its reader", ({ skip }) => {
  skip(!full, 'in full runs')
  write('package.json', { type: 'module' })
  write('tsconfig.json', {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      incremental: false,
      tsBuildInfoFile: null,
      typeRoots: [join(root, 'node_modules/@types')],
      paths: {
        provost: [join(root, 'packages/provost/src/index.ts')],
        'provost/*': [join(root, 'packages/provost/src/*.ts')],
        '@provost/sessions/*': [join(root, 'packages/sessions/src/*.ts')],
        '@provost/*': [join(root, 'packages/*/src/index.ts')],
      },
    },
    include: ['*.ts'],
    exclude: [],
  })
  for (const page of globSync('packages/*/README.md', { cwd: root })) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const { 1: code = '', index } of text.matchAll(/^```ts\n(.*?)^```$/gms))
      write(`${page.replaceAll(/\W/g, '-')}-${text.slice(0, index).split('\n').length}.ts`, imported(code))
  }
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  // Several threads take longer together.
  const args = [tsc, '-p', folder, '--pretty', 'false', '--singleThreaded']
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.split('\n').filter((line) => line.includes('error TS') && !leftOut.test(line))).toEqual([])
})

test("the first examples in the packages' READMEs print what their comments show", () => {
  const names = full ? ['client', 'code-mode', 'server', 'telemetry', 'testing'] : ['testing']
  // One process for all, because most of the time goes into its start. It finds the packages from the folder of the file.
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'packages/provost/node_modules/@provost'), join(folder, 'node_modules/@provost'))
  symlinkSync(join(root, 'packages/provost'), join(folder, 'node_modules/provost'))
  const shown = names.map((name) => {
    const text = readFileSync(join(root, `packages/${name}/README.md`), 'utf8')
    const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(text) ?? []
    write(`example-${name}.ts`, code)
    return [name, ...[...code.matchAll(/\/\/ → (.*)/g)].map(([, line]) => line)]
  })
  for (const lines of shown) expect(lines.length).toBeGreaterThan(1)
  write('examples.ts', names.map((name) => `console.log('${name}'); await import('./example-${name}.ts')\n`).join(''))
  const args = ['--conditions=@provost/source', '--no-warnings', join(folder, 'examples.ts')]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.trimEnd().split('\n')).toEqual(shown.flat())
})
