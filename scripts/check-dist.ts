/**
 * Checks each package as registry users receive it: the content of `pnpm pack`, its manifest (publint), and that plain
 * Node imports every entry of the built code, without the condition that leads to the sources.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

interface Manifest {
  readonly name: string
  readonly publishConfig: { readonly exports: Readonly<Record<string, { readonly default: string }>> }
}

async function problemsOf(file: string): Promise<string[]> {
  const dir = dirname(file)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  const { messages, pkg } = await publint({ pkgDir: dir, pack: 'pnpm', strict: true })
  const problems = messages.flatMap((message) => formatMessage(message, pkg, { color: false }) ?? [])
  for (const [entry, target] of Object.entries(manifest.publishConfig.exports)) {
    try {
      await import(pathToFileURL(resolve(dir, target.default)).href)
    } catch (error) {
      problems.push(`${entry} cannot be imported: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return problems.map((problem) => `${manifest.name}: ${problem}`)
}

const problems = (await Promise.all(globSync('packages/*/package.json').map(problemsOf))).flat()
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
