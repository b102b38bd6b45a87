import { checkOptions } from '@provost/core'
import type { KnownKeys } from '@provost/core'

import type { CollectedSpan } from './collect-spans.ts'
import { duration, shown } from './print-spans.ts'
import type { TreeLine } from './span-tree.ts'
import { spanTree, treeLines } from './span-tree.ts'

/** Options of {@link drawSpans}. */
export interface DrawOptions {
  readonly title?: string
  /**
   * Shows attributes, one to a line, without those that equal the parent's. `true`: for every span. `first`: each
   * attribute only in the first span of an operation that has it. Default `false`.
   */
  readonly attributes?: boolean | 'first'
  /** Width of the picture in pixels. Default 1,000. */
  readonly width?: number
}

const row = 20
const indent = 7.3

const optionKeys = {
  title: true,
  attributes: true,
  width: true,
} satisfies KnownKeys<DrawOptions>

/** Draws spans as an SVG picture: the tree, and when each span was open. */
export function drawSpans(spans: readonly CollectedSpan[], options: DrawOptions = {}): string {
  checkOptions(options, optionKeys, 'drawSpans')
  const { title = 'Spans', attributes = false, width = 1000 } = options
  const lines = treeLines(spanTree(spans))
  const start = Math.min(...spans.map((span) => span.start))
  const end = Math.max(...spans.map((span) => span.end ?? span.start))
  const bars = { left: width * 0.72, width: width * 0.2, start, scale: 1 / Math.max(1e-6, end - start) }
  const rows: string[] = []
  const seen = new Set<string>()
  let y = 40
  for (const line of lines) {
    rows.push(drawLine(line, y, bars, width))
    y += row
    if (attributes === false || line.kind === 'event') continue
    const lead = line.branch.replace(/├─ $/, '│  ').replace(/└─ $/, '   ')
    const operation = line.span.attributes['gen_ai.operation.name']
    const drawn = line.attributes.filter(([key]) => {
      const known = `${String(operation)} ${key}`
      return attributes === true || (!seen.has(known) && seen.add(known))
    })
    for (const [key, value] of drawn) {
      const text = `${shown(key, 60)} = ${shown(value, 70)}`
      if (lead.trim() !== '') rows.push(`<text x="16" y="${y}" class="b">${lead.replaceAll(' ', '\u00a0')}</text>`)
      rows.push(`<text x="${16 + (line.branch.length + 3) * indent}" y="${y}" class="a">${escaped(text)}</text>`)
      y += row - 4
    }
    if (drawn.length > 0) y += 4
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="${escaped(title)}">
<style>
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.t { font-weight: 600; font-size: 13px } .b { fill: #8c959f } .f { fill: #59636e } .a { fill: #59636e; font-size: 11px }
.e { fill: #9a6700 } .x { fill: #cf222e } .s { font-weight: 600 } .bg { fill: #ffffff }
.chat { fill: #8250df } .tool { fill: #1a7f37 } .agent { fill: #0969da } .other { fill: #bf8700 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .bg { fill: #0d1117 } .b, .f, .a { fill: #9198a1 } .e { fill: #d29922 } .x { fill: #f85149 }
}
</style>
<rect class="bg" width="100%" height="100%"/>
<text x="16" y="20" class="t">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`
}

interface Bars {
  readonly left: number
  readonly width: number
  readonly start: number
  readonly scale: number
}

function drawLine({ branch, kind, name, facts, span, failed }: TreeLine, y: number, bars: Bars, width: number): string {
  const x = 16 + branch.length * indent
  const title = shown(kind === 'event' ? `· ${name}` : name, 48)
  const room = Math.floor((bars.left - x) / indent) - title.length - 3
  const summary = facts.map((fact) => shown(fact, 60)).join(' · ')
  const rest = room > 3 && summary !== '' ? `<tspan class="f" dx="10">${escaped(shown(summary, room))}</tspan>` : ''
  const style = kind === 'event' ? 'e' : failed ? 's x' : 's'
  const text = `<text x="16" y="${y}" class="b">${branch.replaceAll(' ', '\u00a0')}</text><text x="${x}" y="${y}"><tspan class="${style}">${escaped(title)}</tspan>${rest}</text>`
  if (kind === 'event') return text
  const from = bars.left + (span.start - bars.start) * bars.scale * bars.width
  const long = Math.max(2, ((span.end ?? span.start) - span.start) * bars.scale * bars.width)
  const bar = `<rect x="${from.toFixed(1)}" y="${y - 10}" width="${long.toFixed(1)}" height="10" rx="2" class="${colourOf(span)}"/>`
  return `${text}${bar}<text x="${width - 16}" y="${y}" text-anchor="end" class="f">${duration(span)}</text>`
}

function colourOf({ attributes }: CollectedSpan): string {
  switch (attributes['gen_ai.operation.name']) {
    case 'chat':
      return 'chat'
    case 'execute_tool':
    case 'retrieval':
      return 'tool'
    case 'invoke_agent':
      return 'agent'
    default:
      return 'other'
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
