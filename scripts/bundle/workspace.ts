import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The root of the repository. */
export const root: string = join(import.meta.dirname, '../..')

/** The fields of a manifest that a build reads. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, { readonly '@provost/source': string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly publishConfig: {
    /** Where the published package lies, if it is not the folder itself: a part of `provost` has re-exports there. */
    readonly directory?: string
    readonly exports: Readonly<Record<string, { readonly types?: string; readonly default: string }>>
  }
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** A package that is published inside `provost`. */
export interface Part {
  /** Name of its folder, such as `core`. */
  readonly name: string
  readonly folder: string
  readonly manifest: Manifest
}

export function isPart({ publishConfig }: Manifest): boolean {
  return publishConfig.directory !== undefined
}

/** Returns the parts of `provost`, by name. */
export function readParts(): readonly Part[] {
  return globSync('packages/*/package.json', { cwd: root })
    .toSorted((a, b) => a.localeCompare(b))
    .map((path) => {
      const folder = join(root, dirname(path))
      return { name: dirname(path).slice('packages/'.length), folder, manifest: readManifest(folder) }
    })
    .filter(({ manifest }) => isPart(manifest))
}

/** Returns the entries of a package as paths below `src` and `dist`, without an ending: `index`, `kit`. */
export function entriesOf({ publishConfig }: Manifest): readonly string[] {
  return Object.values(publishConfig.exports).flatMap((entry) =>
    entry.default.includes('*') ? [] : [entry.default.replace(/^\.\/dist\/(.*)\.js$/u, '$1')],
  )
}

/** Returns the source of a package of the workspace, such as `@provost/core` or `@provost/sessions/kit`. */
export function sourceOf(specifier: string): string {
  const [, name = '', entry] = /^@provost\/([\w-]+)(?:\/(.*))?$/u.exec(specifier) ?? []
  const folder = join(root, 'packages', name)
  const target = readManifest(folder).exports[entry === undefined ? '.' : `./${entry}`]
  if (!target) throw new Error(`${specifier} is no entry of packages/${name}.`)
  return join(folder, target['@provost/source'])
}
