import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The name of the file, in `dist` of a package whose build has code of libraries. */
export const thirdParty = 'THIRD-PARTY.txt'

/** The folder of the library that a file belongs to; of nested ones the innermost. */
const inLibrary = /^(?<folder>.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//u
/** Files that a licence asks to pass on. */
const notice = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/iu

/** Their packages have no licence text; their manifests name the licence. A new one fails the build, so that it is looked at. */
const withoutText = new Set(['@cfworker/json-schema'])

/** A library whose code is part of a build. */
interface Library {
  readonly name: string
  readonly version: string
  readonly license: string
  /** Its licence and notices, as it has them. */
  readonly text: string
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly author?: string | { readonly name: string }
}

/** Writes the licences of the libraries that files of a build belong to into its folder, if there are any. */
export function writeNotices(folder: string, files: Iterable<string>): void {
  const libraries = librariesOf(files)
  if (libraries.length > 0) writeFileSync(join(folder, thirdParty), noticesOf(libraries))
}

/** Returns the libraries that files belong to, by name. Fails where one has no licence text. */
function librariesOf(files: Iterable<string>): readonly Library[] {
  const folders = new Set(
    [...files].flatMap((file) => inLibrary.exec(file.replace(/^\0/u, ''))?.groups?.['folder'] ?? []),
  )
  return [...folders]
    .map(libraryAt)
    .toSorted((a, b) => `${a.name}@${a.version}`.localeCompare(`${b.name}@${b.version}`))
}

function libraryAt(folder: string): Library {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const texts = readdirSync(folder)
    .filter((file) => notice.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
  if (texts.length === 0) {
    if (!withoutText.has(name)) throw new Error(`${name} ${version} becomes part of a build, and has no licence text.`)
    const by = typeof author === 'string' ? author : author?.name
    texts.push(
      `The package has no licence text. Its manifest names the licence ${license}${by ? ` and the author ${by}` : ''}.`,
    )
  }
  return { name, version, license, text: texts.join('\n\n') }
}

/** The file that passes on the licences of libraries. */
function noticesOf(libraries: readonly Library[]): string {
  const parts = libraries.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`)
  return [`This package contains code of ${libraries.length} libraries.\n`, ...parts].join(`\n${'-'.repeat(80)}\n\n`)
}
