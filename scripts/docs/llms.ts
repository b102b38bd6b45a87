import { sections } from './navigation.ts'
import type { Page } from './pages.ts'

/** Returns the content of `llms.txt`: what the site has, for readers that are models. */
export function llmsText(pages: readonly Page[]): string {
  const known = new Map(pages.map((page) => [page.path.replace(/(?:index)?\.md$/u, ''), page]))
  const lists = sections.map(({ title, pages: items }) => {
    const lines = items.map(({ text, path }) => {
      const summary = known.get(path)?.summary ?? ''
      const [first = ''] = /^.*?[.:](?= |$)/u.exec(summary) ?? []
      return `- [${text}](/${path.endsWith('/') ? `${path}index` : path}.html)${first && `: ${first}`}`
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
    .filter(({ path }) => /^(?:start|guide)\/|^(?:overview|security|features)\.md$/u.test(path))
    .map(({ path, text }) => `<!-- ${path} -->\n\n${text.trim()}\n`)
    .join('\n')
}
