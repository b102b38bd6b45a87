import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, extname, join, normalize, relative, matchesGlob } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Pages whose path in the site is another one than in the repository. */
const renamed: Readonly<Record<string, string>> = {
  'README.md': 'overview.md',
  'SECURITY.md': 'security.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'docs/index.md': 'contents.md',
  'docs/site/home.md': 'index.md',
}

/** A page of the site that comes from a page of the repository. */
export interface Page {
  /** Its file in the site, such as `guide/concepts.md`. */
  readonly path: string
  readonly title: string
  /** Its first sentences. */
  readonly summary: string
  readonly text: string
}

/** Returns where a file of the repository is in the site. */
export function siteOf(file: string): string {
  const known = renamed[file]
  if (known !== undefined) return known
  if (/^(?:packages|apps)\/[\w-]+\/README\.md$/u.test(file)) return file.replace('/README.md', '.md')
  if (file.endsWith('README.md') && isPage(file))
    return file.replace(/README\.md$/u, 'index.md').replace(/^docs\//u, '')
  if (isPage(file) || isPicture(file)) return file.replace(/^docs\//u, '')
  // The site has no files and folders whose names begin with a dot, and takes brackets for parameters.
  const name = file.replaceAll(/[[\]]/gu, '').replaceAll(/(?<=^|\/)\.+/gu, '')
  return statSync(join(root, file)).isDirectory() ? `source/${name}/index.md` : `source/${name}.md`
}

const pagePatterns = ['*.md', 'docs/**/*.md', 'examples/**/README.md', 'packages/*/README.md', 'apps/*/README.md']

/** Whether a file of the repository is a page. Others are shown as they are where a page links to them. */
const isPage = (file: string): boolean => pagePatterns.some((pattern) => matchesGlob(file, pattern))

const isPicture = (file: string): boolean => ['.svg', '.png'].includes(extname(file))

const links = /(?<open>\]\()(?!\w+:|#)(?<target>[^)#\s]+)(?<anchor>#[^)\s]*)?\)/gu

/** Applies a change to the text of a page outside its blocks of code. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^```.*?^```$)/gmsu)
    .map((part) => (part.startsWith('```') ? part : change(part)))
    .join('')
}

/**
 * Writes the pages of the site: those of the repository, with links between them, and a page for each file of code that
 * one of them links to.
 *
 * @param folder where they are written.
 */
export function writePages(folder: string): readonly Page[] {
  const found = globSync(pagePatterns, {
    cwd: root,
    exclude: (path) => path.includes('node_modules') || path === join('docs', 'site'),
  })
  const files = [...found, join('docs', 'site', 'home.md')].toSorted((a, b) => a.localeCompare(b))
  const code = new Set<string>()
  const write = (path: string, text: string): void => {
    const place = join(folder, path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, text)
  }
  const pages = files.map((file): Page => {
    const path = siteOf(file)
    const text = outsideCode(readFileSync(join(root, file), 'utf8'), (part) =>
      part.replaceAll(links, (link, open: string, target: string, anchor = '') => {
        const to = normalize(join(dirname(file), target)).replace(/\/$/u, '')
        if (!existsSync(join(root, to))) throw new Error(`${file} links to ${target}, which is not there.`)
        const home = existsSync(join(root, to, 'README.md')) ? join(to, 'README.md') : to
        if (isPicture(home)) copy(home, join(folder, siteOf(home)))
        else if (siteOf(home).startsWith('source/')) code.add(home)
        return `${open}${pathFrom(path, siteOf(home))}${anchor})`
      }),
    )
    write(path, text)
    const [, title = path] = /^# (.+)$/mu.exec(text) ?? []
    const [, summary = ''] = /^# .+\n+((?:(?!\n\n)[^])*)/mu.exec(text) ?? []
    return { path, title, summary: plain(summary), text }
  })
  for (const file of code) for (const one of [file, ...filesIn(file)]) write(siteOf(one), sourcePage(one))
  return pages
}

function copy(file: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(join(root, file), to)
}

function pathFrom(page: string, target: string): string {
  const path = relative(dirname(page), target)
  return path.startsWith('.') ? path : `./${path}`
}

/** Text without links and emphasis. */
function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, '$1')
    .replaceAll(/[*_]{2}/gu, '')
    .replaceAll('\n', ' ')
    .trim()
}

/** The files of a folder that a page links to, or none for a file. */
function filesIn(path: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return []
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/node_modules|pnpm-lock|\.next/u.test(join(entry.parentPath, entry.name)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted((a, b) => a.localeCompare(b))
}

const languages: Readonly<Record<string, string>> = {
  '.mjs': 'js',
  '.service': 'ini',
  '.cedar': 'text',
  '.jsonc': 'json',
  '': 'text',
}

/** A page that shows a file or lists a folder. The search leaves it out. */
function sourcePage(path: string): string {
  const head = '---\nsearch: false\noutline: false\npageClass: source-page\nprev: false\nnext: false\n---\n\n'
  const list = filesIn(path)
  if (statSync(join(root, path)).isDirectory())
    return `${head}# ${path}\n\n${list.map((file) => `- [${relative(path, file)}](${pathFrom(siteOf(path), siteOf(file))})`).join('\n')}\n`
  const text = readFileSync(join(root, path), 'utf8')
  const extension = extname(path)
  const language = path.endsWith('Dockerfile') ? 'docker' : (languages[extension] ?? extension.slice(1))
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/gu)].map(([ticks]) => ticks.length + 1)))
  const start = /^examples\/(?:seeds\/[\w-]+\/)?[\w-]+\.ts$/u.test(path)
    ? `Run it from the root of the repository:\n\n\`\`\`sh\nnode --conditions=@provost/source ${path}\n\`\`\`\n\n`
    : ''
  return `${head}# ${path}\n\n${start}${fence}${language}\n${text.trimEnd()}\n${fence}\n`
}
