import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

import { isRecord, ProvostError } from '@provost/core'

import type { ProviderName, TemplateName } from './choices.ts'
import { anthropic, providers } from './choices.ts'
import type { Manager } from './manager.ts'
import { commandsIn, settings } from './manager.ts'

/** What a user wants. */
export interface Answers {
  /** Folder of the project: it does not exist yet, or is empty. Its last part is the name of the package. */
  readonly directory: string
  readonly template: TemplateName
  /** Whose package the project installs. With `none`, a scripted model answers. */
  readonly provider: ProviderName
}

/** Answers, and the package manager whose commands the README of the project has, and whose settings. Default `npm`. */
export interface ProjectOptions extends Answers {
  readonly manager?: Manager
}

/** A project that was created. */
export interface CreatedProject {
  /** Absolute path. */
  readonly directory: string
  /** Name of the package. */
  readonly name: string
  readonly template: TemplateName
  readonly provider: ProviderName
  /** Paths inside the project, sorted. */
  readonly files: readonly string[]
}

/** npm removes or renames these in a package, so a template has them under another name. */
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore', '_env.example': '.env.example' }

const packageRoot = join(import.meta.dirname, '..')

/**
 * Creates a project from a template, without installing it. Existing files are never overwritten.
 *
 * @throws ProvostError `invalid-option` for a folder whose name is no package name; `not-empty` if the folder has files.
 *
 * @example
 * const { files } = await createProject({ directory: 'my-agent', template: 'server', provider: 'anthropic' })
 */
export async function createProject(options: ProjectOptions): Promise<CreatedProject> {
  const { directory: given, template, provider, manager = 'npm' } = options
  const directory = resolve(given)
  const name = packageName(directory)
  await makeEmpty(directory)

  const source = join(packageRoot, 'templates', template)
  const files = await filesOf(source)
  for (const { from, to } of files) {
    const text = await readFile(join(source, from), 'utf8')
    const target = join(directory, to)
    await mkdir(dirname(target), { recursive: true })
    const written = to.endsWith('.md') ? commandsIn(text, manager) : text
    const content = to === 'package.json' ? await manifestOf(text, name, provider) : filled(written, name, provider)
    await writeFile(target, content, { flag: 'wx' })
  }
  const own = settings[manager]
  if (own) await writeFile(join(directory, own.file), own.text, { flag: 'wx' })
  const paths = [...files.map(({ to }) => to), ...(own ? [own.file] : [])]
  return { directory, name, template, provider, files: paths.toSorted() }
}

/** @throws ProvostError `invalid-option` */
function packageName(directory: string): string {
  const name = basename(directory)
  if (name.length <= 214 && /^[a-z0-9][a-z0-9._-]*$/.test(name) && name !== 'node_modules') return name
  throw new ProvostError('invalid-option', `"${name.slice(0, 100)}" is not a package name.`, {
    hint: 'Name the folder with lower-case letters, digits, "-", "_" and ".", such as my-agent.',
  })
}

/** @throws ProvostError `not-empty` */
async function makeEmpty(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
    if ((await readdir(directory)).length === 0) return
  } catch (cause) {
    throw new ProvostError('not-empty', `${directory} is not a folder that can be created.`, {
      hint: 'Name another folder.',
      cause,
    })
  }
  throw new ProvostError('not-empty', `${directory} is not empty.`, { hint: 'Name a new folder, or empty this one.' })
}

/** What an installation, a build or a run in a template leaves behind is not of the template. */
const leftBehind = /(?:^|[/\\])(?:node_modules|\.next|next-env\.d\.ts|[^/\\]*\.(?:db.*|tsbuildinfo))(?:$|[/\\])/

/** The files of a template and its folders, and their names in a project. */
async function filesOf(source: string): Promise<readonly { from: string; to: string }[]> {
  const paths = await pathsIn(source)
  return paths.filter((path) => !leftBehind.test(path)).map((path) => ({ from: path, to: renamed[path] ?? path }))
}

/** Yarn runs this program from an archive, where a recursive `readdir` does not know the folders of its entries. */
async function pathsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const paths = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory()) return [entry.name]
      const inside = await pathsIn(join(folder, entry.name))
      return inside.map((path) => join(entry.name, path))
    }),
  )
  return paths.flat()
}

/** The packages of Provost have one version, that of this package. */
async function manifestOf(text: string, name: string, provider: ProviderName): Promise<string> {
  const own: unknown = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'))
  const manifest: unknown = JSON.parse(text)
  if (!isRecord(own) || !isRecord(manifest) || !isRecord(manifest['dependencies'])) {
    throw new ProvostError('internal', 'A manifest of create-provost cannot be read.', { hint: 'Install it again.' })
  }
  const added = libraryOf(provider)
  const dependencies = Object.entries(manifest['dependencies']).map(([key, version]): [string, unknown] => [
    key,
    key === 'provost' || key.startsWith('@provost/') ? `^${String(own['version'])}` : version,
  ])
  if (added) dependencies.push([added.package, added.version])
  dependencies.sort(([a], [b]) => (a < b ? -1 : 1))
  return `${JSON.stringify({ ...manifest, name, dependencies: Object.fromEntries(dependencies) }, null, 2)}\n`
}

function libraryOf(provider: ProviderName): (typeof providers)[number]['library'] {
  return providers.find(({ name }) => name === provider)?.library
}

function filled(text: string, name: string, provider: ProviderName): string {
  const { model, key, package: library } = libraryOf(provider) ?? anthropic
  const values: Readonly<Record<string, string>> = { name, model, key, package: library }
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, slot: string) => values[slot] ?? whole)
}
