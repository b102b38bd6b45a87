import { renderMermaidSVG } from 'beautiful-mermaid'
import { defineConfig } from 'vitepress'
import type { MarkdownOptions } from 'vitepress'

import { anchorOf } from '../../../scripts/docs/anchor.ts'
import { sections } from '../../../scripts/docs/navigation.ts'

type MarkdownIt = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/** Draws diagrams when the site is built: a page needs no script for them. Their colours are in theme/style.css. */
function drawDiagrams(md: MarkdownIt): void {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    // The highlighter does not know these.
    if (token && ['cedar', 'gitignore'].includes(token.info)) token.info = 'text'
    if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, options, env, self) ?? ''
    const svg = renderMermaidSVG(token.content, { transparent: true }).replace(/<style>.*?<\/style>/su, '')
    // The arrows of each diagram have ids of their own.
    const own = svg.replaceAll(/(?<= id="|url\(#)(?=arrowhead)/gu, `d${index}-`)
    // A wide one scrolls, so that its words can be read.
    const [, width = '0'] = /<svg[^>]*? width="([\d.]+)/u.exec(own) ?? []
    const style = ` style="min-width:${Math.round(Number(width) * 0.72)}px"`
    return `<figure v-pre class="diagram">${own.replace(/ style="[^"]*"/u, style)}</figure>\n`
  }
}

/** Lets names break after a separator, so that narrow cells of tables do not break them elsewhere. */
function breakNames(md: MarkdownIt): void {
  const inline = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...given) =>
    (inline?.(...given) ?? '').replace(/(?<=>).*(?=<\/code>)/su, (name) =>
      name.replaceAll(/(?<=\w[/._(:-]+|[/{])(?=[\w{])/gu, '<wbr>'),
    )
}

const listed = new Set(sections.flatMap(({ pages }) => pages.map(({ path }) => path)))

export default defineConfig({
  title: 'Provost',
  description: 'Agents that act, with proof of on whose words.',
  lang: 'en',
  srcDir: 'pages',
  outDir: 'dist',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The build checks links itself, with those to headings.
  ignoreDeadLinks: true,
  // A page outside the sidebar has no page before and after it.
  transformPageData({ relativePath, frontmatter }) {
    const inSidebar = listed.has(relativePath.replace(/(?:index)?\.md$/u, ''))
    return inSidebar ? undefined : { frontmatter: { prev: false, next: false, ...frontmatter } }
  },
  markdown: {
    config(md) {
      drawDiagrams(md)
      breakNames(md)
    },
    anchor: { slugify: anchorOf },
    toc: { slugify: anchorOf },
    headers: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: {
            // Of “human in the loop” two words count.
            processTerm: (term: string) =>
              /^(?:a|an|the|in|of|to|is|and|or|for|how|do|i|my|with|what)$/i.test(term) ? null : term.toLowerCase(),
          },
          searchOptions: {
            // Guides explain; the reference and records of changes are for readers who know the names.
            boostDocument: (id: string) =>
              /^\/(?:guide\/|start\/|packages\/tools)/.test(id)
                ? 2
                : /^\/(?:reference|decisions|changelog|contributing|features|examples\/seeds|packages\/provost)/.test(
                      id,
                    )
                  ? 0.5
                  : 1,
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start/script' },
      { text: 'Guide', link: '/guide/concepts' },
      { text: 'Recipes', link: '/guide/problems' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Security', link: '/security' },
    ],
    sidebar: sections.map(({ title, pages, collapsed }) => ({
      text: title,
      collapsed: collapsed ?? false,
      items: pages.map(({ text, path }) => ({ text, link: `/${path}` })),
    })),
    footer: { message: 'MIT licence. Code on these pages comes from programs that the tests run.' },
  },
})
