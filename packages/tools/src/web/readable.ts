import { Tokenizer } from 'htmlparser2'

import { createProse } from './prose.ts'

/** The readable parts of a page. */
export interface Readable {
  readonly title: string
  readonly text: string
  /** There is more. */
  readonly truncated: boolean
}

/** Elements whose content is not readable text. */
const unread = new Set(['script', 'style', 'template', 'svg', 'math', 'iframe', 'object', 'canvas', 'audio', 'video'])
const lines = new Set(['br', 'tr', 'dt', 'dd', 'option', 'figcaption', 'summary', 'caption', 'legend', 'address'])
const blocks = new Set(
  'p div section article main header footer nav aside form fieldset ul ol dl table blockquote figure details hr h1 h2 h3 h4 h5 h6 pre'.split(
    ' ',
  ),
)
const empty = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
const maxAltCharacters = 300
const maxTitleCharacters = 300
const maxValueCharacters = 1_000
/** Further links are shown without their address. */
const maxLinks = 5_000

/**
 * Returns HTML as readable text: headings, lists, links and table rows are marked as in Markdown; scripts, styles and
 * hidden elements are omitted.
 *
 * It reads tokens and builds no tree, so it takes time in proportion to the page, however deeply or badly that nests.
 *
 * @param base what relative links start from.
 * @param maxCharacters the text ends soon after this many.
 */
export function readableText(html: string, base: URL, maxCharacters: number): Readable {
  const prose = createProse()
  let title = ''
  let titled = false
  let name = ''
  let attribute = ''
  let attributes: Record<string, string> = {}
  let href: string | undefined
  let links = 0
  /** The skipped element, and how many elements of its name are open. */
  let skipped: { readonly name: string; depth: number } | undefined

  const endLink = (): void => {
    if (href !== undefined) prose.glue(`](${href})`)
    href = undefined
  }
  const open = (): void => {
    if (skipped) {
      if (skipped.name === name) skipped.depth++
      return
    }
    if (!empty.has(name) && (unread.has(name) || isHidden(attributes))) {
      skipped = { name, depth: 1 }
      return
    }
    if (blocks.has(name)) prose.lineBreak(2)
    else if (lines.has(name)) prose.lineBreak(1)
    switch (name) {
      case 'li':
        prose.lineBreak(1)
        return prose.mark('- ')
      case 'td':
      case 'th':
        return prose.mark(' | ')
      case 'h1':
      case 'h2':
      case 'h3':
      case 'h4':
      case 'h5':
      case 'h6':
        return prose.mark(`${'#'.repeat(Number(name[1]))} `)
      case 'pre':
        return prose.verbatim(true)
      case 'img':
        if (attributes['alt']?.trim()) prose.text(`[image: ${attributes['alt'].slice(0, maxAltCharacters)}]`)
        return
      case 'a': {
        endLink()
        href = ++links > maxLinks ? undefined : linkOf(attributes['href'], base)
        if (href !== undefined) prose.mark('[')
        return
      }
      default:
    }
  }
  const close = (closed: string): void => {
    if (skipped) {
      if (skipped.name === closed && --skipped.depth === 0) skipped = undefined
      return
    }
    if (closed === 'a') endLink()
    if (closed === 'pre') prose.verbatim(false)
    if (closed === 'title') titled ||= title !== ''
    if (blocks.has(closed)) prose.lineBreak(2)
    else if (lines.has(closed) || closed === 'li') prose.lineBreak(1)
  }
  const say = (text: string): void => {
    if (skipped) return
    if (name === 'title' && !titled) title = (title + text).slice(0, maxTitleCharacters)
    else if (name !== 'title') prose.text(text)
    if (prose.length > maxCharacters) tokenizer.pause()
  }

  const extend = (more: string): void => {
    const value = attributes[attribute]
    if (value !== undefined) attributes[attribute] = (value + more).slice(0, maxValueCharacters)
  }

  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (from, to) => say(html.slice(from, to)),
      ontextentity: (code) => say(String.fromCodePoint(code)),
      onopentagname: (from, to) => {
        name = html.slice(from, to).toLowerCase()
        attributes = {}
      },
      onattribname: (from, to) => {
        attribute = html.slice(from, to).toLowerCase()
        if (wanted.has(attribute)) attributes[attribute] = ''
      },
      onattribdata: (from, to) => extend(html.slice(from, to)),
      onattribentity: (code) => extend(String.fromCodePoint(code)),
      onattribend: () => undefined,
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (from, to) => {
        close(html.slice(from, to).toLowerCase())
        name = ''
      },
      oncdata: () => undefined,
      oncomment: () => undefined,
      ondeclaration: () => undefined,
      onprocessinginstruction: () => undefined,
      onend: () => undefined,
    },
  )
  tokenizer.write(html)
  const truncated = !tokenizer.running
  if (!truncated) tokenizer.end()
  endLink()
  return { title: title.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(), text: prose.end(), truncated }
}

const wanted = new Set(['href', 'alt', 'hidden', 'style', 'aria-hidden'])

function isHidden(attributes: Readonly<Record<string, string>>): boolean {
  if (attributes['hidden'] !== undefined || attributes['aria-hidden'] === 'true') return true
  return /(?:display\s?:\s?none|visibility\s?:\s?hidden)/i.test(attributes['style'] ?? '')
}

/** Returns the absolute URL of a link; undefined for a fragment of the same page and for a truncated link. */
function linkOf(href: string | undefined, base: URL): string | undefined {
  if (href === undefined || href.startsWith('#') || href.length === maxValueCharacters) return undefined
  const url = URL.parse(href, base)
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}
