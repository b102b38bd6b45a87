/**
 * Tries the first example in the README of each installed package of this repository: what it prints, where its comments show
 * that, otherwise its types. One line of JSON per check on stdout: `{ check, ok, seen? }`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'

const require = createRequire(import.meta.url)
const { dependencies } = require('./package.json')
const names = Object.keys(dependencies).filter((name) => /^(@provost\/|provost$)/u.test(name))
/** What an example may leave to its reader: names, and what follows from their types. */
const leftOut = /error TS(?:2304|2552|18004|7006|7031)/u

const examples = names.flatMap((name) => {
  const readme = readFileSync(join(import.meta.dirname, 'node_modules', name, 'README.md'), 'utf8')
  const [, code] = /^```ts\n(.*?)^```$/msu.exec(readme) ?? []
  // A page for two ways to begin imports in the text.
  if (code === undefined || !/^import /mu.test(code)) return []
  const file = `readme-${name.replaceAll(/\W/gu, '-')}.ts`
  writeFileSync(file, code)
  return [{ name, file, shown: [...code.matchAll(/\/\/ → (.*)/gu)].map(([, line]) => line) }]
})

const compilerOptions = { strict: true, module: 'nodenext', target: 'esnext', noEmit: true, types: ['node'] }
writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions, files: examples.map(({ file }) => file) }))
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const compiled = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], { encoding: 'utf8' })
const wrong = compiled.stdout.split('\n').filter((line) => line.includes('error TS') && !leftOut.test(line))

function faultOf({ file, shown }) {
  const types = wrong.filter((line) => line.startsWith(file)).join('\n')
  if (types !== '' || shown.length === 0) return types
  const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 })
  return stdout.trimEnd() === shown.join('\n') ? '' : `It printed ${stdout} ${stderr}`
}

const faults = examples.map((example) => ({ ...example, fault: faultOf(example) })).filter(({ fault }) => fault !== '')
const seen = faults.map(({ name, fault }) => `${name}: ${fault}`).join('\n')
const check = 'the first example of each README'
// Fewer would be a page whose example is not found.
const ok = faults.length === 0 && examples.length >= 17
console.log(JSON.stringify({ check, ok, ...(!ok && { seen: `${examples.length} examples. ${seen}`.slice(0, 2_000) }) }))
process.exitCode = ok ? 0 : 1
