/**
 * node scripts/check-release.ts [--sbom FILE]
 *
 * Checks what a release brings to its users: the licences of all packages that they install, and of the libraries that are
 * part of `provost`; the types of each packed package, as each way of importing it finds them; and known vulnerabilities,
 * where the registry answers that question. Builds anew. `--sbom` writes the bill of materials (CycloneDX). Publishes nothing.
 */
import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

import { thirdParty } from './bundle/third-party.ts'
import { packAll } from './pack.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Licences that put no condition on the program that uses the package, besides a notice. */
const accepted = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
])

const manifestAt = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** Returns the folder of a package as another one finds it; undefined if it is not installed there. */
function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    try {
      return realpathSync(join(folder, 'node_modules', name))
    } catch {
      if (dirname(folder) === folder) return undefined
    }
  }
}

/** Returns all packages that the published ones install, by their folders. */
function installedPackages(): ReadonlyMap<string, Manifest> {
  const found = new Map<string, Manifest>()
  const open = globSync('packages/*/package.json', { cwd: root }).map((path) => join(root, dirname(path)))
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (found.has(folder)) continue
    const manifest = manifestAt(folder)
    found.set(folder, manifest)
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const next = findPackage(name, folder)
      if (next === undefined) throw new Error(`${name}, which ${manifest.name} needs, is not installed.`)
      open.push(next)
    }
  }
  return found
}

/** Whether an SPDX expression offers a licence that is accepted, or requires only such ones. */
function isAccepted(expression: string): boolean {
  const plain = expression.replaceAll(/[()]/gu, '')
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => accepted.has(licence.trim())))
}

/** Returns the libraries whose licences a packed file passes on, with their licences. Most packages have no such library. */
async function passedOn(tarball: string): Promise<readonly (readonly [string, string])[]> {
  const { stdout: files } = await run('tar', ['-tzf', tarball])
  if (!files.split('\n').includes(`package/dist/${thirdParty}`)) return []
  const { stdout } = await run('tar', ['-xOzf', tarball, `package/dist/${thirdParty}`])
  const found = [...stdout.matchAll(/^(?<library>(?:@[\w.-]+\/)?[\w.-]+ \d\S*) \((?<license>.+)\)$/gmu)]
  const [, stated] = /^This package contains code of (\d+) libraries\.$/mu.exec(stdout) ?? []
  if (found.length === 0 || found.length !== Number(stated)) throw new Error(`${thirdParty} is incomplete.`)
  return found.map(({ groups }) => [groups?.['library'] ?? '', groups?.['license'] ?? ''] as const)
}

/**
 * Returns what is wrong with the types of packed files, in modules of Node and in bundlers. Two old ways of importing are left
 * out: `require` of Node before 22.12, which loads no module, and resolution without `exports`.
 */
async function wrongTypes(tarballs: readonly string[]): Promise<readonly string[]> {
  const tool = join(root, 'scripts/release')
  await run('pnpm', ['install', '--dir', tool, '--frozen-lockfile', '--prefer-offline'])
  const wrong: string[] = []
  for (const tarball of tarballs) {
    const options = ['--profile', 'esm-only', '--format', 'table', '--no-emoji', '--no-color']
    await run(join(tool, 'node_modules/.bin/attw'), [tarball, ...options]).catch(
      (failed: { readonly stdout: string; readonly stderr: string }) =>
        wrong.push(`${basename(tarball)}: ${failed.stdout}${failed.stderr}`),
    )
  }
  return wrong
}

/** Returns how the registry answered about vulnerabilities: the serious ones, or why it gave no answer. */
async function vulnerabilities(): Promise<{ readonly found: readonly string[] } | { readonly skipped: string }> {
  const { stdout, stderr } = await run('pnpm', ['audit', '--prod', '--json'], { cwd: root }).catch(
    (failed: { readonly stdout: string; readonly stderr: string }) => failed,
  )
  try {
    const { advisories } = JSON.parse(stdout) as {
      advisories: Readonly<Record<string, { module_name: string; severity: string; title: string }>>
    }
    const serious = Object.values(advisories).filter(({ severity }) => severity === 'high' || severity === 'critical')
    return { found: serious.map(({ module_name, severity, title }) => `${module_name} (${severity}): ${title}`) }
  } catch {
    const [reason = ''] = /responded with \d+|ERR_PNPM_\w+/u.exec(`${stdout} ${stderr}`) ?? []
    return { skipped: reason || 'no answer' }
  }
}

const { values } = parseArgs({ options: { sbom: { type: 'string' } } })
const packages = [...installedPackages().values()]
const refused = packages.filter(({ license }) => license === undefined || !isAccepted(license))
console.log(`Licences: ${packages.length} packages, ${refused.length} not accepted.`)
for (const { name, version, license } of refused) console.error(`${name} ${version}: ${license ?? 'no licence'}`)
const folder = mkdtempSync(join(tmpdir(), 'provost-release-'))
const faults: string[] = []
try {
  const packed = await packAll(folder)
  const tarballs = Object.values(packed)
  const unfit: (readonly [string, string])[] = []
  for (const [name, tarball] of Object.entries(packed)) {
    const libraries = await passedOn(tarball)
    const refusedHere = libraries.filter(([, license]) => !isAccepted(license))
    unfit.push(...refusedHere)
    if (libraries.length > 0)
      console.log(`Libraries in ${name}: ${libraries.length}, licences passed on; ${refusedHere.length} not accepted.`)
  }
  const wrong = await wrongTypes(tarballs)
  console.log(`Types: ${tarballs.length} packed packages, ${wrong.length} with problems.`)
  faults.push(...unfit.map((library) => library.join(': ')), ...wrong)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const fault of faults) console.error(fault)
const known = await vulnerabilities()
if ('skipped' in known)
  console.log(`Vulnerabilities: not checked, because the registry gave no answer (${known.skipped}).`)
else {
  console.log(`Vulnerabilities: ${known.found.length} high or critical.`)
  for (const line of known.found) console.error(line)
}
if (values.sbom !== undefined) {
  await run('pnpm', ['sbom', '--sbom-format', 'cyclonedx', '--prod', '--lockfile-only', '--out', values.sbom], {
    cwd: root,
  })
  console.log(`Bill of materials: ${values.sbom}`)
}
process.exitCode = refused.length > 0 || faults.length > 0 || ('found' in known && known.found.length > 0) ? 1 : 0
