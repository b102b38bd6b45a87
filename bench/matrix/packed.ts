import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { packAll } from '../../scripts/pack.ts'

const run = promisify(execFile)

/** What came of one check on one runtime. */
export interface Outcome {
  readonly check: string
  readonly ok: boolean
  readonly seen?: string
}

/** A runtime: its name in the table, its program and the arguments before the file. */
export interface Runtime {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

/** Tries something on a runtime. */
export type Try = (runtime: Runtime) => Promise<readonly Outcome[]>

/** Tarballs of the packages of this repository, by name: `file:` specifiers. */
export type Tarballs = Readonly<Record<string, string>>

/** Packs the packages as for the registry. @param built whether the build that is there is taken. */
export async function pack(folder: string, built: boolean): Promise<Tarballs> {
  const packed = await packAll(folder, { built })
  return Object.fromEntries(Object.entries(packed).map(([name, file]) => [name, `file:${file}`]))
}

/** Packages that would build something when they are installed. What is tried here needs none of it. */
const built = ['esbuild', 'sharp', 'workerd', '@mongodb-js/zstd', 'node-liblzma']

/** The content of a `pnpm-workspace.yaml` under which the packages of this repository are the packed ones. */
export function packedSettings(tarballs: Tarballs): string {
  return JSON.stringify({
    overrides: tarballs,
    nodeLinker: 'hoisted',
    pmOnFail: 'ignore',
    permissions: Object.fromEntries(built.map((name) => [name, { build: false }])),
  })
}

/** Installs with the packed packages in a folder. @param manifest its `package.json`, unless it has one. */
export async function installPacked(folder: string, tarballs: Tarballs, manifest?: object): Promise<void> {
  if (manifest) writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), packedSettings(tarballs))
  await run('pnpm', ['install', '--prefer-offline'], { cwd: folder })
}
