/** Builds an application into one program with each bundler, and runs it where no package is installed. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

const application = `import { createAgent, tool, z } from 'provost'; import { scriptedModel } from 'provost/testing'
const input = z.object({ a: z.number(), b: z.number() })
const add = tool({ name: 'add', effect: 'read', input, execute: ({ a, b }) => a + b })
const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, { text: 'three' }])
console.log((await createAgent({ name: 'desk', model, tools: [add] }).run('Add.')).text)
`
writeFileSync('app.mjs', application)

/** Each writes a program into a folder, and gives its path. */
const bundlers = {
  async esbuild(folder) {
    const { build } = await import('esbuild')
    const outfile = join(folder, 'app.mjs')
    const banner = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`
    const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'silent', banner: { js: banner } }
    await build({ ...options, entryPoints: ['app.mjs'], outfile })
    return outfile
  },
  async Vite(folder) {
    const { build } = await import('vite')
    const options = { ssr: 'app.mjs', outDir: folder, emptyOutDir: true }
    await build({ configFile: false, logLevel: 'silent', build: options, ssr: { noExternal: true } })
    return join(folder, 'app.js')
  },
  async webpack(folder) {
    const { default: webpack } = await import('webpack')
    const output = { path: folder, filename: 'app.mjs', module: true, chunkFormat: 'module' }
    const options = {
      mode: 'production',
      target: 'node22',
      entry: './app.mjs',
      experiments: { outputModule: true },
      output,
    }
    const stats = await new Promise((resolve, reject) =>
      webpack(options, (error, done) => (error ? reject(error) : resolve(done))),
    )
    assert.equal(stats.hasErrors(), false, stats.toString({ all: false, errors: true }))
    return join(folder, 'app.mjs')
  },
}

for (const [name, build] of Object.entries(bundlers)) {
  const check = `an agent built with ${name}`
  const folder = mkdtempSync(join(tmpdir(), 'provost-bundle-'))
  try {
    const file = await build(folder)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    assert.equal(execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' }), 'three\n')
    console.log(JSON.stringify({ check, ok: true }))
  } catch (error) {
    console.log(JSON.stringify({ check, ok: false, seen: String(error?.message ?? error).slice(0, 300) }))
    process.exitCode = 1
  }
  rmSync(folder, { recursive: true, force: true })
}
