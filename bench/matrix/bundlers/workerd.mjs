/** node workerd.mjs: builds `worker.mjs` with esbuild and asks it in workerd. Prints what it answers. */
import process from 'node:process'

import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

const { outputFiles } = await build({
  entryPoints: ['worker.mjs'],
  bundle: true,
  write: false,
  format: 'esm',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['node:*', 'cloudflare:*'],
  logLevel: 'silent',
})
const workerd = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.mjs', contents: outputFiles[0].text }],
  // From here on workerd has node:child_process, which is imported and not used.
  compatibilityDate: '2026-04-01',
  compatibilityFlags: ['nodejs_compat'],
})
const response = await workerd.dispatchFetch('http://localhost/')
console.log(await response.text())
await workerd.dispose()
process.exitCode = response.ok ? 0 : 1
