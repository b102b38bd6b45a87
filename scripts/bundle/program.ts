import { rmSync } from 'node:fs'

import { rolldown } from 'rolldown'

import { throughBarrels } from './barrels.ts'
import { writeNotices } from './third-party.ts'
import type { Manifest } from './workspace.ts'

/** Bundles a package that is only a program, `src/main.ts`: what it uses of this repository becomes part of it, and so do libraries of that. */
export async function buildProgram({ dependencies = {} }: Manifest): Promise<void> {
  rmSync('dist', { recursive: true, force: true })
  const bundle = await rolldown({
    input: 'src/main.ts',
    platform: 'node',
    plugins: [throughBarrels()],
    external: (id) => id.startsWith('node:') || Object.hasOwn(dependencies, id),
    // What cannot be resolved would be an import that users do not have.
    onLog(_level, { message }) {
      throw new Error(message)
    },
  })
  const { output } = await bundle.write({ dir: 'dist', format: 'es', chunkFileNames: '[name].js' })
  await bundle.close()
  writeNotices(
    'dist',
    output.flatMap((one) => (one.type === 'chunk' ? Object.keys(one.modules) : [])),
  )
}
