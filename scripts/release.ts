import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const help = `Prepares a release: the address of the repository in each manifest, the version and the changelog of each package,
the date in CHANGELOG.md, and the lock file. Nothing is published, committed or sent.

Usage: npm run release -- [options]

  --repository URL  https://HOST/OWNER/NAME. It is not guessed: without one here or in the manifests, nothing is written
  --help            this text

docs/release.md has the checks before and after it.
`

/** What npm shows beside a package, and compares with the workflow that publishes it. */
export interface RepositoryFields {
  readonly homepage: string
  readonly bugs: { readonly url: string }
  readonly repository: { readonly type: 'git'; readonly url: string; readonly directory: string }
}

/**
 * Returns the fields of a manifest that name the repository.
 *
 * @param address of the repository in a browser: `https://HOST/OWNER/NAME`. `.git` and a slash at its end are left out.
 * @param directory of the package, such as `packages/core`.
 * @throws Error if the address is not one of these.
 */
export function repositoryFields(address: string, directory: string): RepositoryFields {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const [, path] = /^\/(.+\/[^/]+?)(?:\.git)?\/?$/u.exec(url?.pathname ?? '') ?? []
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.search === '' && url.hash === ''
  if (url === undefined || path === undefined || !isPlain)
    throw new Error(`The address ${address} is not https://HOST/OWNER/NAME. Give the address that a browser shows.`)
  const page = `${url.origin}/${path}`
  return {
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
    repository: { type: 'git', url: `git+${page}.git`, directory },
  }
}

/**
 * Returns the changelog with the date of its newest version.
 *
 * @throws Error if the newest heading is another version, or has a date already.
 */
export function datedChangelog(text: string, version: string, date: string): string {
  const [, heading = ''] = /^## (.*)$/mu.exec(text) ?? []
  if (heading !== `${version} (unreleased)`)
    throw new Error(`CHANGELOG.md begins with "${heading}". Write its part "## ${version} (unreleased)" first.`)
  return text.replace(`## ${heading}\n`, `## ${version} (${date})\n`)
}

interface Manifest {
  readonly version: string
  readonly repository?: unknown
}

const manifestIn = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest

/**
 * Prepares a release in a repository.
 *
 * @throws Error before anything is written, if there is no address.
 */
export function prepareRelease(root: string, address: string | undefined): void {
  const files = globSync('packages/*/package.json', { cwd: root }).toSorted()
  const lacking = files.filter((file) => manifestIn(join(root, file)).repository === undefined)
  if (address === undefined && lacking.length > 0)
    throw new Error(
      `${lacking.length} manifests have no repository, which npm needs for provenance. Name it: npm run release -- --repository https://HOST/OWNER/NAME`,
    )
  if (address !== undefined) {
    const written = files.map((file) => [file, repositoryFields(address, dirname(file))] as const)
    for (const [file, fields] of written) {
      const path = join(root, file)
      writeFileSync(path, `${JSON.stringify({ ...manifestIn(path), ...fields }, undefined, 2)}\n`)
    }
  }
  const run = (program: string, ...args: readonly string[]): void =>
    void execFileSync(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  run('pnpm', 'exec', 'changeset', 'version')
  run('pnpm', 'install', '--lockfile-only')
  const { version } = manifestIn(join(root, 'packages/provost/package.json'))
  const changelog = join(root, 'CHANGELOG.md')
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(changelog, datedChangelog(readFileSync(changelog, 'utf8'), version, today))
  // Sorts the new fields of the manifests.
  run('pnpm', 'exec', 'oxfmt', 'CHANGELOG.md', 'packages/*/package.json', 'packages/*/CHANGELOG.md')
  process.stdout.write(`${files.length} packages are ${version}. Review the changes; docs/release.md has the checks.\n`)
}

if (import.meta.main) {
  try {
    const { values } = parseArgs({ options: { repository: { type: 'string' }, help: { type: 'boolean' } } })
    if (values.help) process.stdout.write(help)
    else prepareRelease(join(import.meta.dirname, '..'), values.repository)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 2
  }
}
