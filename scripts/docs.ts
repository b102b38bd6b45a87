/**
 * node scripts/docs.ts [--serve] [--port N]
 *
 * Builds the documentation as a site in `docs/site/dist`, from the pages of the repository, the examples they link to, and
 * the doc comments of the sources. Ends with exit code 1 if a link leads nowhere. `--serve` shows it on this machine.
 * `scripts/check-site.ts` then looks at each page in a browser.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { deadLinks } from './docs/built-links.ts'
import { llmsFullText, llmsText } from './docs/llms.ts'
import { sections } from './docs/navigation.ts'
import { writePages } from './docs/pages.ts'
import { tidyReference } from './docs/reference.ts'

const { values } = parseArgs({ options: { serve: { type: 'boolean' }, port: { type: 'string', default: '4173' } } })
const site = join(import.meta.dirname, '../docs/site')
const pagesFolder = join(site, 'pages')
const built = join(site, 'dist')

function run(program: string, ...args: readonly string[]): void {
  execFileSync(join(site, 'node_modules/.bin', program), args, { cwd: site, stdio: ['ignore', 'ignore', 'inherit'] })
}

if (!existsSync(join(site, 'node_modules/.modules.yaml')))
  execFileSync('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], { cwd: site, stdio: 'inherit' })

console.log('Reading the pages and their links.')
rmSync(pagesFolder, { recursive: true, force: true })
mkdirSync(join(pagesFolder, 'public'), { recursive: true })
const pages = writePages(pagesFolder)

console.log('Reading the doc comments.')
run('typedoc')
tidyReference(join(pagesFolder, 'reference'))

writeFileSync(join(pagesFolder, 'public/llms.txt'), llmsText(pages))
writeFileSync(join(pagesFolder, 'public/llms-full.txt'), llmsFullText(pages))

console.log('Building the site.')
run('vitepress', 'build')
const missing = sections
  .flatMap((section) => section.pages)
  .filter(({ path }) => !existsSync(join(built, `${path.endsWith('/') ? `${path}index` : path}.html`)))
const dead = [...missing.map(({ path }) => `navigation → ${path}`), ...deadLinks(built)]
for (const link of dead) console.error(`Leads nowhere: ${link}`)
console.log(`${globSync('**/*.html', { cwd: built }).length} pages in docs/site/dist, ${dead.length} dead links.`)
if (dead.length > 0) process.exitCode = 1
else if (values.serve === true) {
  const args = ['preview', '--port', values.port]
  spawn(join(site, 'node_modules/.bin/vitepress'), args, { cwd: site, stdio: 'inherit' })
}
