import { plainForm, withoutEscapes } from '../text/plain-form.ts'
import { urlsIn } from './address.ts'

/** An address to which a rendered text leads. */
export interface LinkTarget {
  /** As a browser reads it: without escapes and line breaks, with its scheme and slashes. */
  readonly address: string
  /** As it stands in the text; undefined if it shows only once the text is decoded. */
  readonly raw?: string
}

/** Where Markdown and HTML have addresses: `](…)`, `]: …`, `<…:…>`, attributes of tags, and `url(…)` of styles. */
const places: readonly RegExp[] = [
  /\]\(\s*(<[^>]{0,5000}>?|[^\s)]{1,5000})/g,
  /\]:\s*(<[^>]{0,5000}>?|\S{1,5000})/g,
  /<([a-z][a-z\d+.-]{0,30}:[^>\s]{1,5000})/gi,
  /=\s*("[^"]{0,5000}"?|'[^']{0,5000}'?|[^\s>"']{1,5000})/g,
  /\burl\(\s*([^)]{1,5000})/gi,
]

/**
 * Returns the addresses to which a text leads as plain text, Markdown or HTML. Addresses within a site are left out.
 *
 * @param most the search ends behind this many.
 */
export function linkTargets(text: string, most: number): readonly LinkTarget[] {
  const found = new Map<string, LinkTarget>()
  const add = (raw: string, address: string): void => {
    if (address !== '' && found.size <= most && !found.has(raw))
      found.set(raw, { address, ...(text.includes(raw) && { raw }) })
  }
  for (const place of places) {
    for (const [, given = ''] of text.matchAll(place)) {
      const raw = given.replace(/^[<"'\s]+/, '').replace(/[>"'\s]+$/, '')
      // `srcset` has several addresses.
      for (const one of raw.split(/\s*,\s+|\s+\d+[wx]\b,?/)) if (one.trim() !== '') add(one.trim(), targetOf(one))
    }
  }
  const plain = plainForm(text)
  for (const form of new Set([text, plain, withoutEscapes(plain)?.text ?? '']))
    for (const url of urlsIn(form)) add(url, url)
  return [...found.values()]
}

/** Returns an address as a browser reads it, or an empty text for one within the site. */
function targetOf(raw: string): string {
  const plain = withoutEntities(plainForm(raw)).replaceAll(/[\t\r\n]/g, '')
  // Markdown escapes punctuation with a backslash; elsewhere browsers read the backslash as a slash.
  for (const form of [plain.replaceAll('\\', '/'), plain.replaceAll(/\\(?=[!-/:-@[-`{-~])/g, '')]) {
    const address = form.trim()
    const web = /^(?:(https?|wss?|ftp):\/{0,5}|\/{2,5})([^\s/].*)$/is.exec(address)
    if (web) return `${web[1]?.toLowerCase() ?? 'https'}://${web[2] ?? ''}`
    if (/^[a-z][a-z\d+.-]{0,30}:\S/i.test(address)) return address
    const [url] = urlsIn(address)
    if (url !== undefined && address.startsWith(url)) return url
  }
  return ''
}

/** Entities that matter in an address; the others decode to no character of one. */
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  colon: ':',
  sol: '/',
  bsol: '\\',
  period: '.',
  quest: '?',
  num: '#',
  equals: '=',
  percnt: '%',
  commat: '@',
  tab: '\t',
  newline: '\n',
}

function withoutEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{3,7}));?/gi, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return entities[name.toLowerCase()] ?? whole
    const point = typeof decimal === 'string' ? Number(decimal) : Number.parseInt(String(hex), 16)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : ''
  })
}
