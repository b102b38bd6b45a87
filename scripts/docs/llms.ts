import { sections } from './navigation.ts'
import type { Page } from './pages.ts'

/** The list of all pages says what each page has. */
const listOfPages = 'contents.md'

/** Returns what a page has, in a sentence, by its path without an ending. */
function descriptionsOf(pages: readonly Page[]): ReadonlyMap<string, string> {
  const list = pages.find(({ path }) => path === listOfPages)?.text ?? ''
  const rows = Array.from(
    list.matchAll(/^- \[[^\]]+\]\(\.\/([^)]+)\.md\): (.+)$/gmu),
    ([, path = '', text = '']) => [path.replace(/(?<=\/)index$/u, ''), text] as const,
  )
  const summaries = pages.map(({ path, summary }) => {
    // A page that begins with a table or a list has no summary.
    const [first = ''] = /^(?![|-]).*?[.:](?= |$)/u.exec(summary) ?? []
    return [path.replace(/(?:index)?\.md$/u, ''), first.replace(/:$/u, '.')] as const
  })
  return new Map([...summaries, ...rows])
}

/** Returns the content of `llms.txt`: what the site has, for readers that are models. */
export function llmsText(pages: readonly Page[]): string {
  const known = descriptionsOf(pages)
  const lists = sections.map(({ title, pages: items }) => {
    const lines = items.map(({ text, path }) => {
      const description = known.get(path) ?? ''
      return `- [${text}](/${path.endsWith('/') ? `${path}index` : path}.html)${description && `: ${description}`}`
    })
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  const opening =
    '# Provost\n\n> A TypeScript runtime for agents that act, on the AI SDK: one log, labels on data, policies, approvals, durable runs.\n\nThe whole guide in one file is [llms-full.txt](/llms-full.txt).\n'
  return [opening, ...lists].join('\n')
}

/** Returns the pages of the guide as one text. */
export function llmsFullText(pages: readonly Page[]): string {
  return pages
    .filter(({ path }) =>
      /^(?:start|guide)\/|^(?:overview|security|features|runtimes|packages\/tools)\.md$/u.test(path),
    )
    .map(({ path, text }) => `<!-- ${path} -->\n\n${text.trim()}\n`)
    .join('\n')
}
