import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { anchorOf } from './anchor.ts'
import { referenceEntries } from './navigation.ts'

/** The page of TypeDoc for `provost` itself, and the one that lists all of them. */
const [main, list] = ['index.md', 'modules.md']

interface Part {
  readonly file: string
  readonly title: string
  readonly text: string
}

/**
 * Makes pages of the site from those of TypeDoc: named after the entries that users import, and that of `provost`
 * divided by kind, since it has several hundred names.
 *
 * @param folder with one page for each entry.
 */
export function tidyReference(folder: string): void {
  const files = globSync('*.md', { cwd: folder }).filter((file) => file !== list)
  const parts = files.flatMap((file) => partsOf(file, readFileSync(join(folder, file), 'utf8')))
  // Where each exported name has its heading, by the page and anchor of TypeDoc.
  const places = new Map<string, string>()
  for (const { file, text } of parts) {
    const origin = file.startsWith('provost') ? main : file
    for (const [, name = ''] of text.matchAll(/^### (.+)$/gmu)) {
      const anchor = anchorOf(name.replaceAll('\\', ''))
      if (!places.has(`${origin}#${anchor}`)) places.set(`${origin}#${anchor}`, `./${file}#${anchor}`)
    }
  }
  for (const file of [...files, list]) rmSync(join(folder, file))
  const entries = new Set(referenceEntries.map(({ path }) => `${basename(path)}.md`))
  // Files that no user imports are modules of TypeDoc too.
  for (const { file, title, text } of parts.filter((part) => entries.has(part.file))) {
    const origin = file.startsWith('provost') ? main : file
    const linked = text.replaceAll(
      /\[(?<words>[^\][\n]+)\]\((?<page>[\w-]+\.md)?#(?<anchor>[^)]+)\)/gu,
      (_, words: string, page: string | undefined, anchor: string) => {
        const place = places.get(`${page ?? origin}#${anchor}`)
        return place === undefined ? words : `[${words}](${place})`
      },
    )
    // TypeDoc writes a list in a cell of a table as one line.
    const listed = linked.replaceAll(/^\|.*$/gmu, (row) => row.replaceAll(/ - (?=`)/gu, '<br>• '))
    writeFileSync(join(folder, file), `---\noutline: [2, 3]\n---\n\n# ${title}\n\n${listed.trim()}\n`)
  }
  const pages = referenceEntries.map(({ text, path }) => {
    const page = `${basename(path)}.md`
    const functions = parts.filter(({ file }) => file === page).flatMap((part) => functionsIn(part.text))
    const links = functions.map((name) => `[\`${name}\`](./${page}#${anchorOf(name)})`)
    return { link: `[\`${text}\`](./${page})`, links }
  })
  const rows = pages
    .filter(({ links }) => links.length > 0)
    .map(({ link, links }) => `| ${link} | ${links.join(', ')} |`)
  const others = pages.filter(({ links }) => links.length === 0).map(({ link }) => link)
  writeFileSync(
    join(folder, 'index.md'),
    `# Reference\n\nMade from the doc comments of the sources: what a function returns or does, its parameters with units and defaults, its errors.\n\n| import from | functions |\n| --- | --- |\n${rows.join('\n')}\n\nTypes have pages of their own: ${others.join(', ')}.\n\nEvents, hooks and errors have pages with tables: [Events](../guide/events.md), [Hooks](../guide/hooks.md), [Errors](../guide/errors.md).\n`,
  )
}

/** The names of the functions of a page; types that can be called are not among them. */
function functionsIn(page: string): readonly string[] {
  const [, functions = ''] = /^## Functions\n((?:(?!^## )[^])*)/mu.exec(page) ?? []
  return Array.from(functions.matchAll(/^### (.+)\(\)$/gmu), ([, name = '']) => name)
}

function partsOf(file: string, text: string): readonly Part[] {
  const body = text.replace(/^# .+\n/u, '')
  if (file !== main) return [{ file, title: `provost/${file.replace('.md', '').replace('-ai', '/ai')}`, text: body }]
  return body
    .split(/^(?=## )/mu)
    .filter((group) => group.startsWith('## '))
    .map((group) => {
      const [, kind = ''] = /^## (.+)$/mu.exec(group) ?? []
      const name = kind === 'Functions' ? 'provost' : `provost-${anchorOf(kind)}`
      const title = kind === 'Functions' ? 'provost' : `provost: ${kind.toLowerCase()}`
      return { file: `${name}.md`, title, text: group }
    })
}
