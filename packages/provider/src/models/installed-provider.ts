import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { isRecord } from '@provost/core'

/** The export of a provider package that creates models: `openai('gpt-5')` or `openai.languageModel('gpt-5')`. */
export interface ModelMaker {
  languageModel(modelId: string): unknown
}

/** Names by which a provider goes elsewhere than in its package. */
const packages: Readonly<Record<string, string>> = { bedrock: 'amazon-bedrock', vertex: 'google-vertex' }

/** Returns the npm package of a provider, such as `@ai-sdk/openai`. */
export function packageOf(provider: string): string {
  return `@ai-sdk/${Object.hasOwn(packages, provider) ? packages[provider] : provider}`
}

/**
 * Loads a package of the application. It is resolved from the working directory, from the started script and from here,
 * in this order, since a strict package manager hides packages that are no dependencies.
 *
 * @returns its exports, or `undefined` when it is not installed.
 */
export async function loadInstalled(name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const script = process.argv[1]
  const from = [process.cwd(), ...(script ? [dirname(resolve(script))] : []), dirname(fileURLToPath(import.meta.url))]
  for (const folder of from) {
    const manifest = manifestOf(name, folder)
    if (!manifest) continue
    const entry = entryOf(await readFile(manifest, 'utf8'))
    const file = pathToFileURL(resolve(dirname(manifest), entry)).href
    const exports: unknown = await import(/* webpackIgnore: true */ /* @vite-ignore */ file)
    return isRecord(exports) ? exports : {}
  }
  return undefined
}

/** Looks in `node_modules` of the folder and of all above it. Not every runtime has `findPackageJSON` of Node. */
function manifestOf(name: string, folder: string): string | undefined {
  const manifest = join(folder, 'node_modules', name, 'package.json')
  if (existsSync(manifest)) return manifest
  const above = dirname(folder)
  return above === folder ? undefined : manifestOf(name, above)
}

/**
 * Returns the file that `import` would load. `import.meta.resolve` resolves from its own module only.
 */
function entryOf(manifest: string): string {
  const parsed: unknown = JSON.parse(manifest)
  if (!isRecord(parsed)) return 'index.js'
  const { exports, module, main } = parsed
  const root = isRecord(exports) && '.' in exports ? exports['.'] : exports
  for (const entry of [conditional(root), module, main]) if (typeof entry === 'string') return entry
  return 'index.js'
}

const conditions: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

function conditional(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  if (!isRecord(target)) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    const entry = conditions.has(condition) ? conditional(inner) : undefined
    if (entry !== undefined) return entry
  }
  return undefined
}

/**
 * Returns the default provider among the exports of a package: the one with its name, else any that creates language
 * models.
 */
export function makerIn(exports: Readonly<Record<string, unknown>>, provider: string): ModelMaker | undefined {
  const named = provider.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
  for (const value of [exports[named], ...Object.values(exports)]) if (isMaker(value)) return value
  return undefined
}

function isMaker(value: unknown): value is ModelMaker {
  return (
    (typeof value === 'function' || (typeof value === 'object' && value !== null)) &&
    'languageModel' in value &&
    typeof value.languageModel === 'function'
  )
}
