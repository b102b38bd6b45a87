import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { rolldown } from 'rolldown'

const entries = ['index', 'postgres', 'server', 'sqlite', 'testing']
/** Optional peers: who uses one has installed it. */
const peers =
  /^(?:@a2a-js\/|@copilotkit\/|@modelcontextprotocol\/|@opentelemetry\/|@vercel\/sandbox|ai$|fast-check|just-bash|kysely|pg$|pino|sqlite-vec|vitest)/u

/**
 * Writes the package `provost` into a folder, made of the sources of this repository: the entries that a service uses, with
 * all libraries that the real package would install.
 */
export async function writeProvost(folder: string): Promise<void> {
  const source = (entry: string): string => fileURLToPath(import.meta.resolve(`../../provost/src/${entry}.ts`))
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, source(entry)])),
    platform: 'node',
    external: peers,
    resolve: { conditionNames: ['@provost/source', 'import', 'node', 'default'] },
  })
  await bundle.write({ dir: join(folder, 'dist'), format: 'esm' })
  await bundle.close()
  const exports = Object.fromEntries(
    entries.map((entry) => [entry === 'index' ? '.' : `./${entry}`, `./dist/${entry}.js`]),
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'provost', version: '0.1.0', type: 'module', exports }),
  )
}
