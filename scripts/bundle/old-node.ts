import { dirname, relative } from 'node:path'

import type { Plugin, RenderedChunk } from 'rolldown'

/** The entry that fails where Node is too old. */
export const nodeCheck = 'supported-node'

/**
 * The target of the build. Node reads and links all files of an import before it runs the first one, so an old version has
 * to get that far to say what is wrong.
 */
export const oldNodeParses = 'node18'

/** Functions of modules that Node 18 has, and that came later. */
const later: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': ['hash'],
  'node:fs': ['globSync'],
  'node:util': ['styleText'],
}

/** Takes the functions that Node 18 lacks from the default export, because an import of a name that is missing does not link. */
export function oldNodeLinks(): Plugin {
  return {
    name: 'old-node-links',
    renderChunk(code) {
      const changed = code.replaceAll(
        /^import \{ (?<names>[^}]*) \} from "(?<module>node:[\w/]+)";$/gmu,
        (whole, names: string, module: string) => {
          const all = names.split(', ')
          const missing = all.filter((name) => later[module]?.includes(name.split(' as ')[0] ?? ''))
          if (missing.length === 0) return whole
          const found = all.filter((name) => !missing.includes(name))
          const object = `${module.replace(/\W/gu, '_')}_all`
          const taken = missing.map((name) => name.replace(' as ', ': ')).join(', ')
          const named = found.length > 0 ? `, { ${found.join(', ')} }` : ''
          return `import ${object}${named} from "${module}";\nconst { ${taken} } = ${object};`
        },
      )
      return changed === code ? null : { code: changed }
    },
  }
}

/** What tells a build's entry from its other files. */
type EntryOfBuild = Pick<RenderedChunk, 'isEntry' | 'fileName' | 'facadeModuleId'>

/** Returns the first import of an entry: the check. Entries for browsers and programs that are started have none. */
export function importOfNodeCheck({ isEntry, fileName, facadeModuleId }: EntryOfBuild): string {
  const isChecked = isEntry && /\/packages\/[\w-]+\/src\/[\w-]+\.ts$/u.test(facadeModuleId ?? '')
  if (!isChecked || fileName === `${nodeCheck}.js` || /^(?:parts\/)?client\b/u.test(fileName)) return ''
  const way = relative(dirname(fileName), `${nodeCheck}.js`)
  return `import "${way.startsWith('.') ? way : `./${way}`}";`
}
