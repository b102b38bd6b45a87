import { rmSync } from 'node:fs'
import { isAbsolute } from 'node:path'

import { rolldown } from 'rolldown'

import { hidingPeers } from './hidden-peers.ts'
import type { Manifest } from './workspace.ts'
import { entriesOf } from './workspace.ts'

/** Bundles a package that is published by itself, in its folder. Other packages stay imports. */
export async function buildOne(manifest: Manifest): Promise<void> {
  rmSync('dist', { recursive: true, force: true })
  const bundle = await rolldown({
    input: Object.fromEntries(entriesOf(manifest).map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    plugins: [hidingPeers(manifest)],
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
  })
  await bundle.write({ dir: 'dist', format: 'es', sourcemap: true, chunkFileNames: 'chunks/[name]-[hash].js' })
  await bundle.close()
}
