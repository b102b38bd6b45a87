/**
 * node scripts/api-report.ts [--write]
 *
 * Compares the public API with `docs/api`: one file per published entry, every exported name with its declaration. So a
 * change of the API shows in a review. Exits with 1 where they differ. `--write` writes the files. Needs a build.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { API, SymbolFlags } from 'typescript/unstable/sync'
import type { Checker, Symbol as Declared, Project } from 'typescript/unstable/sync'

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly types?: string }>>
}

/** A published entry: the name that users import, its built declarations, and the folder of its package. */
interface Entry {
  readonly name: string
  readonly file: string
  readonly folder: string
}

const root = join(import.meta.dirname, '..')
const reports = join(root, 'docs/api')

function publicEntries(): readonly Entry[] {
  return globSync('packages/*/package.json', { cwd: root })
    .toSorted((a, b) => a.localeCompare(b))
    .flatMap((path) => {
      const { name, exports } = JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest
      const folder = join(root, dirname(path))
      return Object.entries(exports).flatMap(([entry, { types }]) =>
        types === undefined || entry === './internal'
          ? []
          : [{ name: join(name, entry), file: join(folder, types), folder }],
      )
    })
}

/** Opens all entries as one program, in a project of its own outside of the repository. */
function openEntries(api: API, entries: readonly Entry[]): Project {
  const folder = mkdtempSync(join(tmpdir(), 'provost-api-'))
  try {
    const config = join(folder, 'tsconfig.json')
    const compilerOptions = { module: 'nodenext', target: 'esnext', types: [], skipLibCheck: true, noEmit: true }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: entries.map(({ file }) => file) }))
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects()
    if (!project) throw new Error('The compiler did not open the project.')
    return project
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function reportOf({ program, checker }: Project, { name, file, folder }: Entry): string {
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) throw new Error(`${file} is missing: run \`pnpm build\` first.`)
  const names = checker
    .getExportsOfModule(module)
    .map((symbol) => declarationOf(checker, symbol, folder))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `// The public API of ${name}, made by scripts/api-report.ts.\n\n${names.map(([, text]) => `${text}\n`).join('')}`
}

/** Returns a name and its declaration. The report of another package has what that one declares. */
function declarationOf(checker: Checker, symbol: Declared, folder: string): readonly [name: string, text: string] {
  const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const texts = target.declarations.flatMap((handle) => {
    const node = handle.resolve()
    const file = node?.getSourceFile().fileName ?? ''
    return node && file.startsWith(folder) ? [withoutComments(node.getText())] : []
  })
  const name = symbol.name
  return texts.length > 0
    ? [name, [...new Set(texts.map((text) => (name === target.name ? text : `// as ${name}\n${text}`)))].join('\n')]
    : [name, `export { ${name} } from '${packageOf(target.declarations[0]?.path ?? '')}'`]
}

function packageOf(path: string): string {
  const own = /packages\/([^/]+)\/dist\//u.exec(path)?.[1]
  return own === undefined ? (/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(path)?.[1] ?? '?') : `@provost/${own}`
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*\*[^]*?\*\/\s*/gu, '').replaceAll(/^ {4,}/gmu, (space) => ' '.repeat(space.length / 2))
}

const write = process.argv.includes('--write')
const api = new API({ cwd: root })
try {
  const entries = publicEntries()
  const project = openEntries(api, entries)
  const made = new Map(entries.map((entry) => [`${entry.name.replaceAll('/', '-')}.txt`, reportOf(project, entry)]))
  const stale = new Set(globSync('*.txt', { cwd: reports }))
  const changed: string[] = []
  mkdirSync(reports, { recursive: true })
  for (const [name, report] of made) {
    const known = stale.delete(name) ? readFileSync(join(reports, name), 'utf8') : undefined
    if (known === report) continue
    changed.push(name)
    if (write) writeFileSync(join(reports, name), report)
  }
  for (const name of stale) if (write) rmSync(join(reports, name))
  if (!write && changed.length + stale.size > 0) {
    process.stderr.write(
      `The public API differs from docs/api: ${[...changed, ...stale].join(', ')}.\nRun \`pnpm build && pnpm api --write\`, and review the change.\n`,
    )
    process.exitCode = 1
  }
} finally {
  api.close()
}
