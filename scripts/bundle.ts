/**
 * node ../../scripts/bundle.ts, in the folder of a package
 *
 * Bundles the sources of a package into one file per published entry, with shared chunks: an import costs by the number
 * of files more than by their size. Other packages stay imports, so nothing exists twice. Programs that a package starts
 * as threads or processes, and the modules that start them, keep files of their own at their own paths.
 */
import { globSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'

import { rolldown } from 'rolldown'

interface Manifest {
  readonly publishConfig: { readonly exports: Readonly<Record<string, { readonly default: string }>> }
}

/** Finds `new URL(`./NAME${extension}`, import.meta.url)`. */
const started = /new URL\(`\.\/(?<name>[\w./-]+)\$\{extension\}`, import\.meta\.url\)/gu

/** Returns the sources that become files at their own paths, by name without the ending. */
function inputs(): Readonly<Record<string, string>> {
  const { publishConfig } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
  const names = Object.values(publishConfig.exports).map((entry) =>
    entry.default.replace(/^\.\/dist\/(.*)\.js$/u, '$1'),
  )
  for (const file of globSync('src/**/*.ts')) {
    for (const { groups } of readFileSync(file, 'utf8').matchAll(started)) {
      const starter = file.replace(/^src[/\\](.*)\.ts$/u, '$1')
      names.push(starter, join(dirname(starter), groups?.['name'] ?? ''))
    }
  }
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]))
}

const sources = inputs()
const folders = new Map(Object.keys(sources).map((name) => [basename(name), dirname(name)]))
rmSync('dist', { recursive: true, force: true })
const bundle = await rolldown({
  input: sources,
  platform: 'node',
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
})
await bundle.write({
  dir: 'dist',
  format: 'es',
  sourcemap: true,
  // What starts a program beside it stays beside it.
  chunkFileNames: ({ name }) => `${folders.get(name) ?? 'chunks'}/[name]-[hash].js`,
})
await bundle.close()
