/**
 * node build.mjs FOLDER [NAME...]
 *
 * Builds each part with each bundler into `FOLDER/BUNDLER/PART/app.mjs`, where no package is installed, and the Next
 * application here; with names of bundlers or parts, only these. One line of JSON for each that fails: `{ build, part, seen }`.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'

import { fileName, parts, programOf } from './parts.mjs'

const [, , target, ...only] = process.argv
const outside = ['pg-native', 'cloudflare:sockets']

/** Each writes `app.mjs` into a folder. */
const bundlers = {
  async esbuild(entry, folder) {
    const { build } = await import('esbuild')
    const banner = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`
    const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'silent', banner: { js: banner } }
    await build({ ...options, external: outside, entryPoints: [entry], outfile: join(folder, 'app.mjs') })
  },
  async 'Vite SSR'(entry, folder) {
    const { build } = await import('vite')
    const output = { entryFileNames: 'app.mjs' }
    const options = { ssr: entry, outDir: folder, emptyOutDir: true, rolldownOptions: { output, external: outside } }
    await build({ configFile: false, logLevel: 'silent', build: options, ssr: { noExternal: true } })
  },
  async webpack(entry, folder) {
    const { default: webpack } = await import('webpack')
    const output = { path: folder, filename: 'app.mjs', module: true, chunkFormat: 'module' }
    const options = { mode: 'production', target: 'node22', experiments: { outputModule: true } }
    const externals = Object.fromEntries(outside.map((name) => [name, `import ${name}`]))
    const stats = await new Promise((resolve, reject) =>
      webpack({ ...options, entry: `./${entry}`, output, externals }, (error, done) =>
        error ? reject(error) : resolve(done),
      ),
    )
    assert.equal(stats.hasErrors(), false, stats.toString({ all: false, errors: true }))
  },
}

async function attempt(build, part, work) {
  try {
    await work()
  } catch (error) {
    const seen = `${error?.message ?? error} ${error?.stderr ?? ''}`.slice(0, 1_000)
    console.log(JSON.stringify({ build, part, seen }))
  }
}

const isWanted = (build) => only.length === 0 || only.includes(build)
const named = Object.keys(parts).filter((part) => only.includes(part))
const wantedParts = named.length > 0 ? named : Object.keys(parts)

for (const [part, program] of Object.entries(parts)) writeFileSync(`${fileName(part)}.mjs`, programOf(program))
for (const [build, bundle] of Object.entries(bundlers)) {
  if (!isWanted(build)) continue
  for (const part of wantedParts) {
    const folder = join(target, build.replace(' ', '-'), fileName(part))
    await attempt(build, part, async () => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      await bundle(`${fileName(part)}.mjs`, folder)
    })
  }
}
if (isWanted('Next')) {
  const next = ['node_modules/next/dist/bin/next', 'build']
  const env = { ...process.env, CI: '1', NEXT_TELEMETRY_DISABLED: '1' }
  await attempt('Next', 'all', () => promisify(execFile)(process.execPath, next, { env }))
}
