import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What npm would put on a disk. */
export interface Installed {
  readonly bytes: number
  readonly packages: number
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** What comes with a package: peers that are not optional too, as npm installs them. */
function comesWith({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: Manifest): string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta?.[name]?.optional !== true)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** The folder of a package as another one finds it. */
export function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(path)) return realpathSync(path)
    if (dirname(folder) === folder) return undefined
  }
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .map((entry) => join(folder, entry.name))
    .reduce((sum, path) => sum + (lstatSync(path).isDirectory() ? bytesIn(path) : lstatSync(path).size), 0)
}

/**
 * Sizes of packages with everything that comes with them, each once.
 *
 * @param own bytes of packages whose folder has more than what is published.
 */
export function installed(folders: readonly string[], own: Readonly<Record<string, number>> = {}): Installed {
  const seen = new Set<string>()
  const open = [...folders]
  let bytes = 0
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (seen.has(folder)) continue
    seen.add(folder)
    bytes += own[folder] ?? bytesIn(folder)
    for (const name of comesWith(manifestOf(folder))) {
      // One for another system is not there.
      const found = findPackage(name, folder)
      if (found !== undefined) open.push(found)
    }
  }
  return { bytes, packages: seen.size }
}
