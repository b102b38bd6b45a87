/**
 * node ../../scripts/bundle.ts, in the folder of a package
 *
 * Builds the JavaScript of a package: see decision 0061.
 *
 * - `provost`: one build of it and all of its parts, so that nothing exists twice.
 * - A part, whose manifest has `publishConfig.directory`: re-exports of that build.
 * - A package without entries: its program, with what it uses of this repository.
 * - Any other package: one file per published entry, with shared chunks.
 */
import { rmSync } from 'node:fs'
import process from 'node:process'

import { writeDeclarations } from './bundle/declarations.ts'
import { buildAll } from './bundle/one-build.ts'
import { buildOne } from './bundle/one-package.ts'
import { buildProgram } from './bundle/program.ts'
import { writeReExports } from './bundle/re-exports.ts'
import { entriesOf, isPart, readManifest, readParts } from './bundle/workspace.ts'

const folder = process.cwd()
const manifest = readManifest(folder)

if (process.argv[2] === 'types') {
  if (manifest.name === 'provost') writeDeclarations(manifest, readParts())
} else if (manifest.name === 'provost') {
  await buildAll()
} else if (isPart(manifest)) {
  rmSync('dist', { recursive: true, force: true })
  writeReExports(folder, manifest)
} else if (entriesOf(manifest).length === 0) {
  await buildProgram(manifest)
} else {
  await buildOne(manifest)
}
