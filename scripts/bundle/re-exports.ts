import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

import type { Manifest } from './workspace.ts'
import { entriesOf, readManifest, root } from './workspace.ts'

const provost = join(root, 'packages/provost')

/**
 * Writes what a part of `provost` consists of outside of it: re-exports of what `provost` has. `dist` serves the
 * workspace, `publish` is the package that is published.
 */
export function writeReExports(folder: string, manifest: Manifest): void {
  const name = manifest.name.replace('@provost/', '')
  const publish = join(folder, 'publish')
  rmSync(publish, { recursive: true, force: true })
  for (const entry of entriesOf(manifest)) {
    const built = join(folder, 'dist', `${entry}.js`)
    const way = relative(dirname(built), join(provost, `dist/parts/${name}/${entry}.js`)).replaceAll(sep, '/')
    write(built, `export * from '${way}'\n`)
    const published = `export * from 'provost/parts/${name}/${entry}'\n`
    write(join(publish, 'dist', `${entry}.js`), published)
    write(join(publish, 'dist', `${entry}.d.ts`), published)
  }
  write(join(publish, 'package.json'), `${JSON.stringify(publishedManifest(folder, manifest), null, 2)}\n`)
}

/** Its only dependency is `provost` of the same version; packages that its users bring stay peers of it. */
function publishedManifest(folder: string, manifest: Manifest): object {
  const { publishConfig, peerDependencies = {}, peerDependenciesMeta = {}, ...rest } = manifest
  const { exports } = publishConfig
  const peers = Object.keys(peerDependencies).filter((name) => !name.startsWith('@provost/'))
  const { version } = readManifest(provost)
  const dropped = new Set(['exports', 'scripts', 'dependencies', 'devDependencies', 'files'])
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !dropped.has(name))),
    files: ['dist'],
    exports,
    publishConfig: { access: 'public' },
    dependencies: { provost: version },
    peerDependencies: pick(peerDependencies, peers),
    peerDependenciesMeta: pick(peerDependenciesMeta, peers),
  }
}

function pick<T>(from: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
