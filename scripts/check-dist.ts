/**
 * Checks each package as registry users receive it: the content of `pnpm pack`, its manifest (publint), that plain Node
 * imports every entry of the built code, without the condition that leads to the sources, and what an import of `provost`
 * loads.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

import { readManifest } from './bundle/workspace.ts'

/** What a plain agent may load: see decision 0061. Two of the files are the check of Node. */
const most = { files: 6, bytes: 1_160_000 }
/** Libraries that it may load at the first use of a feature. */
const later = new Set(['@ai-sdk/gateway', '@ai-sdk/provider-utils'])

async function problemsOf(file: string): Promise<string[]> {
  const dir = dirname(file)
  const { name, publishConfig } = readManifest(dir)
  const pkgDir = join(dir, publishConfig.directory ?? '.')
  const { messages, pkg } = await publint({ pkgDir, pack: 'pnpm', strict: true })
  const problems = messages.flatMap((message) => formatMessage(message, pkg, { color: false }) ?? [])
  for (const [entry, target] of Object.entries(publishConfig.exports)) {
    if (entry.includes('*')) continue
    try {
      await import(pathToFileURL(resolve(dir, target.default)).href)
    } catch (error) {
      problems.push(`${entry} cannot be imported: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return problems.map((problem) => `${name}: ${problem}`)
}

/** What a built file imports: by statement, which loads it, or by a call, which loads it later. */
function importsOf(text: string, kind: 'loaded' | 'later'): readonly string[] {
  const pattern =
    kind === 'loaded' ? /^(?:import|export)\b[^"';]*?(?:\bfrom )?"([^"]+)";$/gmu : /\bimport\("([^"]+)"\)/gu
  return [...text.matchAll(pattern)].map(([, specifier = '']) => specifier)
}

/** Returns the built files that an entry leads to, and the libraries. */
function reachedFrom(
  entry: string,
  kinds: readonly ('loaded' | 'later')[],
): { files: Set<string>; libraries: Set<string> } {
  const files = new Set([entry])
  const libraries = new Set<string>()
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    for (const specifier of kinds.flatMap((kind) => importsOf(text, kind))) {
      if (specifier.startsWith('.')) files.add(join(dirname(file), specifier))
      else if (!specifier.startsWith('node:')) libraries.add(specifier)
    }
  }
  return { files, libraries }
}

function rootProblems(): string[] {
  const entry = 'packages/provost/dist/index.js'
  const loaded = reachedFrom(entry, ['loaded'])
  const bytes = [...loaded.files].reduce((sum, file) => sum + readFileSync(file).length, 0)
  const { libraries } = reachedFrom(entry, ['loaded', 'later'])
  return [
    ...(loaded.files.size > most.files ? [`provost loads ${loaded.files.size} files, at most ${most.files}.`] : []),
    ...(bytes > most.bytes ? [`provost loads ${bytes} bytes, at most ${most.bytes}.`] : []),
    ...[...loaded.libraries].filter((name) => name !== 'zod').map((name) => `provost loads ${name}.`),
    ...[...libraries].filter((name) => name !== 'zod' && !later.has(name)).map((name) => `provost leads to ${name}.`),
  ]
}

/** What the entries and the packages share exists once. */
async function twins(): Promise<string[]> {
  const built = (path: string): Promise<{ ProvostError?: unknown }> =>
    import(pathToFileURL(resolve(path)).href) as Promise<{ ProvostError?: unknown }>
  const { ProvostError } = await built('packages/provost/dist/index.js')
  const core = await built('packages/core/dist/index.js')
  return ProvostError === core.ProvostError ? [] : ['provost and @provost/core have two ProvostErrors.']
}

const checked = await Promise.all(globSync('packages/*/package.json').map(problemsOf))
const problems = [...checked.flat(), ...rootProblems(), ...(await twins())]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
