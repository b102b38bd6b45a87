/**
 * Compiles an application that imports every entry, without `skipLibCheck`: once without the optional peers, and once in
 * a folder that has them, where the entries for these peers are imported, too.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'

/** Each needs a package that its importer has: the AI SDK, PostgreSQL, pino. */
const withPeers = new Set([
  ...['provost/client/ai', 'provost/logger', 'provost/postgres', 'provost/server/ai'],
  ...['@provost/client/ai', '@provost/server/ai', '@provost/sessions/postgres', '@provost/telemetry/logger'],
])
const require = createRequire(import.meta.url)
const { dependencies } = require('./package.json')
const hasPeers = 'ai' in dependencies
const check = `types of every entry, without skipLibCheck${hasPeers ? ', with all peers' : ''}`
const names = Object.keys(dependencies).filter((name) => /^(@provost\/|provost$)/u.test(name))
const entries = names.flatMap((name) => {
  const { exports } = require(join(import.meta.dirname, 'node_modules', name, 'package.json'))
  return Object.keys(exports).flatMap((entry) =>
    entry.endsWith('.json') || entry.includes('*') ? [] : [join(name, entry)],
  )
})
const tested = entries.filter((entry) => (hasPeers || !withPeers.has(entry)) && !entry.endsWith('/internal'))
writeFileSync('app.ts', tested.map((entry, n) => `export * as part${n} from '${entry}'\n`).join(''))
const compilerOptions = {
  strict: true,
  skipLibCheck: false,
  module: 'nodenext',
  target: 'esnext',
  noEmit: true,
  types: ['node'],
}
writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions, files: ['app.ts'] }))
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
let seen
try {
  execFileSync(process.execPath, [tsc, '-p', '.'], { encoding: 'utf8' })
} catch (error) {
  seen = String(error.stdout || error.message).slice(0, 500)
}
console.log(JSON.stringify({ check, ok: seen === undefined, ...(seen && { seen }) }))
process.exitCode = seen ? 1 : 0
