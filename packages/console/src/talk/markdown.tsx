import { displayText } from '@provost/core'
import type { ReactNode } from 'react'

/**
 * The safe part of Markdown: headings, lists, quotes, code and emphasis. No HTML, no images and no links: loading an image or
 * opening a link would tell an outsider what the model read. The address of a link is shown as text.
 */
export function Markdown({ children }: { readonly children: string }): ReactNode {
  const lines = displayText(children, { lines: true }).split('\n')
  return <div className="prose">{blocks(lines)}</div>
}

function blocks(lines: readonly string[]): readonly ReactNode[] {
  const out: ReactNode[] = []
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? ''
    const [, fence] = /^\s*(`{3,}|~{3,})/u.exec(line) ?? []
    if (fence !== undefined) {
      const end = lines.findIndex((one, index) => index > at && one.trim().startsWith(fence))
      const stop = end < 0 ? lines.length : end
      out.push(
        <pre key={at} className="block" tabIndex={0} role="region" aria-label="Code">
          {lines.slice(at + 1, stop).join('\n')}
        </pre>,
      )
      at = stop + 1
      continue
    }
    const [, hashes, title] = /^(#{1,6})\s+(.*)$/u.exec(line) ?? []
    if (hashes !== undefined && title !== undefined) {
      out.push(
        <p key={at} className="heading">
          {inline(title)}
        </p>,
      )
      at++
      continue
    }
    const kind = kindOf(line)
    const from = at
    while (at < lines.length && kindOf(lines[at] ?? '') === kind && !(at > from && startsBlock(lines[at] ?? ''))) at++
    if (kind !== 'blank') out.push(block(kind, lines.slice(from, at), from))
  }
  return out
}

type Kind = 'blank' | 'bullets' | 'numbers' | 'quote' | 'table' | 'text'

function kindOf(line: string): Kind {
  if (line.trim() === '') return 'blank'
  if (/^\s*[-*+]\s/u.test(line)) return 'bullets'
  if (/^\s*\d{1,9}[.)]\s/u.test(line)) return 'numbers'
  if (line.startsWith('>')) return 'quote'
  return line.trimStart().startsWith('|') ? 'table' : 'text'
}

function startsBlock(line: string): boolean {
  return /^(?:\s*(?:`{3,}|~{3,})|#{1,6}\s)/u.test(line)
}

function block(kind: Kind, lines: readonly string[], key: number): ReactNode {
  const items = (marker: RegExp): readonly ReactNode[] =>
    lines.map((line, index) => <li key={index}>{inline(line.replace(marker, ''))}</li>)
  switch (kind) {
    case 'bullets':
      return <ul key={key}>{items(/^\s*[-*+]\s+/u)}</ul>
    case 'numbers':
      return <ol key={key}>{items(/^\s*\d{1,9}[.)]\s+/u)}</ol>
    case 'quote':
      return <blockquote key={key}>{inline(lines.map((line) => line.replace(/^>\s?/u, '')).join('\n'))}</blockquote>
    case 'table':
      return (
        <pre key={key} className="block" tabIndex={0} role="region" aria-label="Table">
          {lines.join('\n')}
        </pre>
      )
    case 'text':
    case 'blank':
      return <p key={key}>{inline(lines.join('\n'))}</p>
  }
}

/** Code, emphasis and links: none of these spans contains another. Each has a bounded length, so that the search stays linear. */
const span =
  /`(?<code>[^`\n]{1,500})`|\*\*(?<strong>[^*\n]{1,500})\*\*|(?<!\w)[*_](?<em>[^*_\n]{1,500})[*_](?!\w)|!?\[(?<name>[^[\]\n]{0,300})\]\((?<url>[^()\s]{1,2000})\)/gu

function inline(text: string): readonly ReactNode[] {
  const out: ReactNode[] = []
  let from = 0
  for (const match of text.matchAll(span)) {
    if (match.index > from) out.push(text.slice(from, match.index))
    const { code, strong, em, name, url } = match.groups ?? {}
    const key = match.index
    if (code !== undefined) out.push(<code key={key}>{code}</code>)
    else if (strong !== undefined) out.push(<strong key={key}>{strong}</strong>)
    else if (em !== undefined) out.push(<em key={key}>{em}</em>)
    else {
      out.push(
        <span key={key} title="An address in text of the model. It is not a link.">
          {name} <code>{url}</code>
        </span>,
      )
    }
    from = match.index + match[0].length
  }
  if (from < text.length) out.push(text.slice(from))
  return out
}
