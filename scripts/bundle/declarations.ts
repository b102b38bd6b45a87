import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

import type { Manifest, Part } from './workspace.ts'
import { entriesOf, root } from './workspace.ts'

const folder = join(root, 'packages/provost')
const to = join(folder, 'dist/types')

/** Finds what a declaration imports, `from '…'` and `import('…')`, in lines that are no comments. */
const imported = /(?<before>^(?! *\*).*?\bfrom |\bimport\()(?<quote>['"])(?<specifier>[^'"\n]+)\k<quote>/gmu

/**
 * Writes the declarations of `provost` and its parts into `packages/provost/dist/types`, as far as an entry leads to
 * them. They import each other by path, so that they need no other package of this repository. Each package has built
 * its own.
 */
export function writeDeclarations(manifest: Manifest, parts: readonly Part[]): void {
  const packages = new Map([...parts, { name: 'provost', folder, manifest }].map((part) => [part.name, part]))
  const written = new Set<string>()

  function write(name: string, path: string): void {
    const target = join(to, name, path)
    if (written.has(target)) return
    written.add(target)
    const part = packages.get(name)
    if (!part) throw new Error(`The declarations of provost import ${name}, which is no part of it.`)
    const text = readFileSync(join(part.folder, 'dist', path), 'utf8')
    const changed = text
      .replaceAll(/^\/\/# sourceMappingURL=.*$/gmu, '')
      .replaceAll(imported, (whole, before: string, quote: string, specifier: string) => {
        const found = follow(part, path, specifier)
        if (!found) return whole
        write(found.name, found.path)
        const way = relative(dirname(target), join(to, found.name, found.path)).replaceAll(sep, '/')
        return `${before}${quote}${(way.startsWith('.') ? way : `./${way}`).replace(/\.d\.ts$/u, '.js')}${quote}`
      })
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, changed)
  }

  for (const part of packages.values()) for (const entry of entriesOf(part.manifest)) write(part.name, `${entry}.d.ts`)
}

/** Returns the declaration that an import leads to; none for other libraries. */
function follow(part: Part, path: string, specifier: string): { name: string; path: string } | undefined {
  if (specifier.startsWith('.'))
    return { name: part.name, path: join(dirname(path), specifier).replace(/\.[jt]s$/u, '.d.ts') }
  const [, name, entry = 'index'] = /^@provost\/([\w-]+)(?:\/(.*))?$/u.exec(specifier) ?? []
  return name === undefined ? undefined : { name, path: `${entry}.d.ts` }
}
