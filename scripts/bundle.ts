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
import type { Plugin } from 'rolldown'

interface Manifest {
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly publishConfig: { readonly exports: Readonly<Record<string, { readonly default: string }>> }
}

/** Finds `new URL(`./NAME${extension}`, here)`. */
const started = /new URL\(`\.\/(?<name>[\w./-]+)\$\{extension\}`, here\)/gu

/** Returns the sources that become files at their own paths, by name without the ending. */
function inputs({ publishConfig }: Manifest): Readonly<Record<string, string>> {
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

/**
 * Hides the imports of optional peers from the bundlers of users, who may not have them: such an import stays as it is,
 * and fails where it is used, with the error that names the package.
 */
function hidingPeers({ peerDependenciesMeta = {} }: Manifest): Plugin {
  const optional = new Set(Object.keys(peerDependenciesMeta))
  return {
    name: 'hide-optional-peers',
    renderChunk: (code) =>
      code.replaceAll(
        /\bimport\("(?<name>(?:@[^/"]+\/)?[^/"]+)(?<rest>[^"]*)"\)/gu,
        (whole, name: string, rest: string) =>
          optional.has(name) ? `import(/* webpackIgnore: true */ /* @vite-ignore */ String("${name}${rest}"))` : whole,
      ),
  }
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const sources = inputs(manifest)
const folders = new Map(Object.keys(sources).map((name) => [basename(name), dirname(name)]))
rmSync('dist', { recursive: true, force: true })
const bundle = await rolldown({
  input: sources,
  platform: 'node',
  plugins: [hidingPeers(manifest)],
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
