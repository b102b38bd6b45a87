/**
 * node scripts/pack.ts FOLDER
 *
 * Builds the packages from emptied folders, and packs them into a folder as the registry gets them. A build that comes from
 * turbo's cache is laid over the files that are there, so a folder that is not emptied keeps chunks of earlier builds.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, globSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '..')

/** How to pack. */
export interface PackOptions {
  /** Takes the build that is there, as CI does after its own. Default: false, which builds from emptied folders. */
  readonly built?: boolean
  /** Default: this repository. */
  readonly root?: string
}

/** Packs all packages into a folder. @returns the paths of the archives, by the names of the packages. */
export async function packAll(
  folder: string,
  { built = false, root = repository }: PackOptions = {},
): Promise<Readonly<Record<string, string>>> {
  if (!built) await buildAnew(root)
  // The folder of a part of provost is made by its build, without the page that the registry shows.
  for (const part of globSync('packages/*/publish', { cwd: root }))
    copyFileSync(join(root, dirname(part), 'README.md'), join(root, part, 'README.md'))
  const target = resolve(folder)
  await run('pnpm', ['--filter', './packages/*', '-r', 'pack', '--pack-destination', target], { cwd: root })
  return Object.fromEntries(
    globSync('packages/*/package.json', { cwd: root }).map((path) => {
      const { name, version } = JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<'name' | 'version', string>
      return [name, join(target, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)] as const
    }),
  )
}

async function buildAnew(root: string): Promise<void> {
  for (const output of globSync('packages/*/{dist,publish}', { cwd: root }))
    rmSync(join(root, output), { recursive: true, force: true })
  const PATH = `${join(repository, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`
  await run('turbo', ['run', 'build', '--output-logs=errors-only'], { cwd: root, env: { ...process.env, PATH } })
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) {
    process.stderr.write('Usage: node scripts/pack.ts FOLDER\n')
    process.exitCode = 2
  } else {
    for (const file of Object.values(await packAll(folder))) process.stdout.write(`${file}\n`)
  }
}
