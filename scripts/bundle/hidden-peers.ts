import type { Plugin } from 'rolldown'

import type { Manifest } from './workspace.ts'

/** An application that imports the entry for PostgreSQL has these, so its bundler may take them along. */
const found = new Set(['pg', 'kysely'])

/**
 * Hides the imports of optional peers from the bundlers of users, who may not have them: such an import stays as it is,
 * and fails where it is used, with the error that names the package.
 */
export function hidingPeers({ peerDependenciesMeta = {} }: Manifest): Plugin {
  const optional = new Set(Object.keys(peerDependenciesMeta).filter((name) => !found.has(name)))
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
