/** Tags that end a line of text. */
const breaks = new Set(
  'address article blockquote br div dl dt dd fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul'.split(
    ' ',
  ),
)
/** Elements whose content is not text. */
const silent = new Set(['script', 'style', 'template', 'title'])

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  euro: '€',
  pound: '£',
  copy: '©',
  reg: '®',
  trade: '™',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  bull: '•',
  middot: '·',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  agrave: 'à',
  aacute: 'á',
  egrave: 'è',
  eacute: 'é',
  ecirc: 'ê',
  ccedil: 'ç',
  ntilde: 'ñ',
  oslash: 'ø',
  aring: 'å',
}

/**
 * Returns the text of an HTML mail, in one pass. Styles are ignored, so that hidden text (white on white, one pixel
 * high) is included. The model receives it, and the desk must not assume that the text is visible.
 */
export function textOfHtml(html: string): string {
  // ASCII only: other characters may change their length, and positions are shared with `html`.
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  let text = ''
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) break
    text += html.slice(at, open)
    const tag = /^<(\/?[a-z][a-z0-9]*|!--|[!?])/.exec(lower.slice(open, open + 24))?.[1]
    if (tag === undefined) {
      // Not a tag, as in "a < b".
      text += '<'
      at = open + 1
      continue
    }
    at = after(html, tag === '!--' ? '-->' : '>', open)
    if (silent.has(tag)) at = after(html, '>', indexOr(lower, `</${tag}`, at))
    else if (breaks.has(tag) || breaks.has(tag.slice(1))) text += '\n'
  }
  return tidy(decodeEntities(text + html.slice(at)))
}

/** Skips to the end of an unclosed element, as browsers do, so that no part of the mail is read twice. */
function after(text: string, mark: string, from: number): number {
  const at = indexOr(text, mark, from)
  return Math.min(text.length, at + mark.length)
}

function indexOr(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at < 0 ? text.length : at
}

function decodeEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{2,8});/gi, (whole, body: string) => {
    if (!body.startsWith('#')) return entities[body] ?? entities[body.toLowerCase()] ?? whole
    const code = /^#x/i.test(body) ? Number.parseInt(body.slice(2), 16) : Number(body.slice(1))
    const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return valid ? String.fromCodePoint(code) : '�'
  })
}

function tidy(text: string): string {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const clean = line.replace(/[ \t\r\f\u00a0]+/g, ' ').trim()
    if (clean || (lines.at(-1) ?? '') !== '') lines.push(clean)
  }
  return lines.join('\n').trim()
}
