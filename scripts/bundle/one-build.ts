import { globSync, readFileSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join } from 'node:path'

import { rolldown } from 'rolldown'
import type { InputOptions, OutputChunk } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'

import { inAscii } from './ascii.ts'
import { throughBarrels } from './barrels.ts'
import { hidingPeers } from './hidden-peers.ts'
import { inlineSandbox, isOfThreads } from './inline-sandbox.ts'
import { importOfNodeCheck, nodeCheck, oldNodeLinks, oldNodeParses } from './old-node.ts'
import { writeNotices } from './third-party.ts'
import type { Manifest, Part } from './workspace.ts'
import { entriesOf, readManifest, readParts, root } from './workspace.ts'

const folder = join(root, 'packages/provost')

/** Declarations have the other comments. */
const comments = { legal: true, annotation: true, jsdoc: false }

const threads = 'node:worker_threads'

/**
 * What is built in. A plugin leaves it outside, and makes the `require` of a CommonJS library an import of it: webpack
 * removes the `createRequire` that a `require` needs.
 */
const builtins = new Set(
  builtinModules.flatMap((name) => [name, `node:${name.replace('node:', '')}`]).filter((name) => name !== threads),
)

/** Finds `new URL(`./NAME${extension}`, here)`: programs that are started from files of their own. */
const started = /new URL\(`\.\/(?<name>[\w./-]+)\$\{extension\}`, here\)/gu

/** The entries of `provost`, those of its parts below `parts`, and programs that are started, with what starts them. */
function inputs(manifest: Manifest, parts: readonly Part[]): Readonly<Record<string, string>> {
  const own = entriesOf(manifest).map((entry) => [entry, join(folder, `src/${entry}.ts`)])
  const ofParts = parts.flatMap((part) =>
    [...new Set([...entriesOf(part.manifest), ...startedIn(part.folder)])].map((entry) => [
      `parts/${part.name}/${entry}`,
      join(part.folder, `src/${entry}.ts`),
    ]),
  )
  const check = [nodeCheck, join(folder, `src/${nodeCheck}.ts`)]
  return Object.fromEntries([...own, ...ofParts, check]) as Readonly<Record<string, string>>
}

function startedIn(part: string): readonly string[] {
  return globSync('**/*.ts', { cwd: join(part, 'src') }).flatMap((file) => {
    const programs = [...readFileSync(join(part, 'src', file), 'utf8').matchAll(started)]
    return programs.flatMap(({ groups }) => [file.replace(/\.ts$/u, ''), join(dirname(file), groups?.['name'] ?? '')])
  })
}

/** What stays an import: what `provost` installs or leaves to its users. Other libraries become part of the build. */
function isExternal(
  { dependencies, peerDependencies }: Manifest,
  parts: readonly Part[],
): (id: string, importer: string | undefined) => boolean {
  const installed = new Set([...Object.keys(dependencies ?? {}), ...Object.keys(peerDependencies ?? {})])
  const own = new Set(parts.map((part) => part.manifest.name))
  return (id, importer) => {
    if (id === threads) return !isOfThreads(id, importer)
    if (builtins.has(id)) return false
    const [, name = ''] = /^((?:@[^/]+\/)?[^/]+)/u.exec(id) ?? []
    return installed.has(name) || (name.startsWith('@provost/') && !own.has(name))
  }
}

function options(
  manifest: Manifest,
  parts: readonly Part[],
  input: Readonly<Record<string, string>>,
  taken = new Set<string>(),
): InputOptions {
  return {
    cwd: root,
    input,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    plugins: [
      inlineSandbox(taken),
      esmExternalRequirePlugin({ external: [...builtins] }),
      throughBarrels(),
      hidingPeers(manifest),
      inAscii(),
      oldNodeLinks(),
    ],
    transform: { target: oldNodeParses },
    resolve: { conditionNames: ['@provost/source', 'import', 'node', 'default'] },
    external: isExternal(manifest, parts),
    treeshake: {
      moduleSideEffects: [
        { test: /\/packages\/[\w-]+\/src\//u, sideEffects: false },
        { test: /^node:/u, sideEffects: false },
      ],
    },
  }
}

/** Bundles one entry of `provost` alone. */
async function buildEntry(manifest: Manifest, parts: readonly Part[], entry: string): Promise<readonly OutputChunk[]> {
  const bundle = await rolldown(options(manifest, parts, { entry: join(folder, `src/${entry}.ts`) }))
  const { output } = await bundle.generate({ format: 'es', comments })
  await bundle.close()
  return output.filter((one) => one.type === 'chunk')
}

/** Returns the files that an entry loads when it is imported. */
async function reachedBy(manifest: Manifest, parts: readonly Part[], entry: string): Promise<ReadonlySet<string>> {
  const chunks = await buildEntry(manifest, parts, entry)
  const loaded = chunks.filter(({ isEntry, fileName }) => isEntry || chunks[0]?.imports.includes(fileName))
  return new Set(loaded.flatMap(({ modules }) => Object.keys(modules)))
}

/** What an entry leads to. */
export interface EntryGraph {
  /** Folders of the packages whose code it loads. */
  readonly packages: readonly string[]
  readonly bytes: number
  readonly libraries: { readonly loaded: readonly string[]; readonly later: readonly string[] }
  readonly builtins: readonly string[]
}

/** Returns what an entry of `provost`, such as `index`, loads when it is imported, and the libraries it may load later. */
export async function graphOf(entry: string): Promise<EntryGraph> {
  const chunks = await buildEntry(readManifest(folder), readParts(), entry)
  const first = chunks.filter(({ isEntry, fileName }) => isEntry || chunks[0]?.imports.includes(fileName))
  const names = new Set(chunks.map(({ fileName }) => fileName))
  const outside = (list: readonly string[]): string[] => list.filter((name) => !names.has(name))
  const loaded = new Set(outside(first.flatMap(({ imports }) => imports)))
  const all = new Set(outside(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])))
  const isBuiltin = (name: string): boolean => name.startsWith('node:')
  const files = first.flatMap(({ modules }) => Object.keys(modules))
  return {
    packages: [...new Set(files.flatMap((file) => /\/packages\/([\w-]+)\/src\//u.exec(file)?.[1] ?? []))],
    bytes: first.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0),
    libraries: {
      loaded: [...loaded].filter((name) => !isBuiltin(name)).toSorted(),
      later: [...all].filter((name) => !loaded.has(name) && !isBuiltin(name)).toSorted(),
    },
    builtins: [...loaded].filter(isBuiltin),
  }
}

/**
 * Bundles `provost` with all of its parts into `packages/provost/dist`. Nothing exists twice there: `provost`, its
 * entries and the packages `@provost/*`, which re-export from it, share the same chunks. The licences of libraries that
 * became part of it lie beside them.
 *
 * @returns the chunks.
 */
export async function buildAll(): Promise<readonly OutputChunk[]> {
  const manifest = readManifest(folder)
  const parts = readParts()
  const sources = inputs(manifest, parts)
  // What the client loads runs in a browser; the rest of a plain agent is one chunk more.
  const [client, agent] = await Promise.all([reachedBy(manifest, parts, 'client'), reachedBy(manifest, parts, 'index')])
  const starters = new Map(
    parts.flatMap((part) =>
      startedIn(part.folder).map((path) => [basename(path), `parts/${part.name}/${dirname(path)}`] as const),
    ),
  )
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const taken = new Set<string>()
  const bundle = await rolldown(options(manifest, parts, sources, taken))
  const { output } = await bundle.write({
    dir: join(folder, 'dist'),
    format: 'es',
    comments,
    banner: importOfNodeCheck,
    // What starts a program beside it stays beside it.
    chunkFileNames: ({ name }) => `${starters.get(name) ?? 'chunks'}/[name]-[hash].js`,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: 'client', test: (id) => client.has(id), priority: 2 },
        { name: 'agent', test: (id) => agent.has(id), priority: 1 },
      ],
    },
  })
  await bundle.close()
  const chunks = output.filter((one) => one.type === 'chunk')
  for (const { modules } of chunks) for (const file of Object.keys(modules)) taken.add(file)
  writeNotices(join(folder, 'dist'), taken)
  const ofClient = chunks.find(({ fileName }) => fileName.startsWith('chunks/client-'))
  const circular = ofClient?.imports.find((file) => file.startsWith('chunks/agent-'))
  if (circular)
    throw new Error(
      'The chunk of the client imports that of the agent, which is loaded after it. Move what the client needs to files of its own.',
    )
  return chunks
}
