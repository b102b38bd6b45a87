/**
 * node scripts/check-site.ts [--only TEXT] [--pictures FOLDER]
 *
 * Opens each page of the site that `npm run docs` built in Chromium, in both themes and at the widths of a phone and of a
 * desk, and uses its search. Pages that show a file as it is are opened once. Ends with exit code 1 and a line for each fault: an error or a warning in the console, a
 * request to another host, a page that scrolls sideways, a picture that does not load, code without colours, a page
 * without a title or without exactly one heading, a search that does not find its page, a page that no other links to.
 *
 * `--only` takes the pages whose path contains a text, and no search. `--pictures` keeps a picture of each page.
 */
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { browse, type Look, type Search } from './docs/browse.ts'
import { unlinkedPages } from './docs/built-links.ts'
import { serveBuilt } from './docs/serve-built.ts'

const { values } = parseArgs({ options: { only: { type: 'string' }, pictures: { type: 'string' } } })
const built = join(import.meta.dirname, '../docs/site/dist')

const looks: readonly Look[] = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 1280 },
  { theme: 'light', width: 390 },
  { theme: 'dark', width: 390 },
]

/** What readers type who do not know the names of this project yet. */
const searches: readonly Search[] = [
  { words: 'approval', page: '/guide/approvals.html' },
  { words: 'human in the loop', page: '/guide/approvals.html' },
  { words: 'resume', page: '/guide/sessions.html' },
  { words: 'sqlite', page: '/guide/stores.html' },
  { words: 'abort', page: '/guide/sessions.html' },
  { words: 'prompt injection', page: '/guide/governance.html' },
  { words: 'cost', page: '/guide/models.html' },
  { words: 'budget', page: '/guide/governance.html' },
  { words: 'streaming', page: '/guide/events.html' },
  { words: 'guardrails', page: '/guide/governance.html' },
  { words: 'subagent', page: '/guide/teams.html' },
  { words: 'retry', page: '/guide/models.html' },
  { words: 'docker', page: '/guide/recipes.html' },
  { words: 'mcp', page: '/packages/tools.html' },
  { words: 'api key', page: '/guide/secrets.html' },
  { words: 'gdpr', page: '/guide/stores.html' },
  { words: 'structured output', page: '/guide/models.html' },
  { words: 'opentelemetry', page: '/guide/telemetry.html' },
  { words: 'timeouts', page: '/guide/production.html' },
  { words: 'multi agent', page: '/guide/teams.html' },
  { words: 'next.js', page: '/guide/recipes.html' },
  { words: 'vitest', page: '/guide/evaluations.html' },
  { words: 'policy not allowed error', page: '/guide/errors.html' },
]

if (!existsSync(join(built, 'index.html'))) {
  console.error('The site is not built. Run `npm run docs` first.')
  process.exit(1)
}
const pages = globSync('**/*.html', { cwd: built })
  .filter((page) => page !== '404.html')
  .toSorted((a, b) => a.localeCompare(b))
  .map((page) => `/${page}`)
const chosen = pages.filter((page) => values.only === undefined || page.includes(values.only))
const isFile = (page: string): boolean => page.startsWith('/source/')
const { url, close } = await serveBuilt(built)
const { pictures } = values
const faults = [
  ...unlinkedPages(built).map((page) => `/${page}: no other page links to it`),
  ...(await browse({
    ...{ url, looks, pictures },
    pages: chosen.filter((page) => !isFile(page)),
    searches: values.only === undefined ? searches : [],
  })),
  ...(await browse({ ...{ url, pictures }, pages: chosen.filter(isFile), looks: looks.slice(2, 3), searches: [] })),
]
close()
for (const fault of faults) console.error(fault)
console.log(`${chosen.length} pages, ${looks.length} looks, ${faults.length} faults.`)
if (faults.length > 0) process.exitCode = 1
