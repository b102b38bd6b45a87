import { groupsOf } from './results.ts'
import type { Section } from './results.ts'
import { isMeasured } from './row.ts'
import type { Measured, Side } from './row.ts'

const colours: Readonly<Record<Side, string>> = { ours: '#0b7285', peer: '#868e96', bound: '#ced4da' }
const font = 'font-family="system-ui, sans-serif" font-size="13"'
const width = 760
const left = 250
const right = 110
const line = 24

/** Three digits that count. */
export function digits(value: number): string {
  if (value === 0) return '0'
  const shown = value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3))
  return shown.toLocaleString('en', { maximumFractionDigits: 6 })
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Positions from 0 to 1. By orders of magnitude where bars would otherwise be too short to see. */
function scaleOf(values: readonly number[]): { readonly at: (value: number) => number; readonly log: boolean } {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (low > 0 && high / low > 30) {
    const start = 10 ** Math.floor(Math.log10(low) - 0.001)
    return { at: (value) => Math.max(0, Math.log10(value / start) / Math.log10(high / start)), log: true }
  }
  return { at: (value) => (high === 0 ? 0 : value / high), log: false }
}

function barsOf(rows: readonly Measured[], top: number): string {
  const { at } = scaleOf(rows.map(({ median }) => median))
  const x = (value: number): string => (left + Math.min(1.03, at(value)) * (width - left - right)).toFixed(1)
  return rows
    .map(({ name, side, min, median, max }, n) => {
      const y = top + n * line
      const whole = Number(x(median)) - left
      return [
        `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
        `<rect x="${left}" y="${y + 3}" width="${Math.max(1, whole).toFixed(1)}" height="16" fill="${colours[side]}"/>`,
        `<line x1="${x(min)}" x2="${x(max)}" y1="${y + 11}" y2="${y + 11}" stroke="#212529"/>`,
        `<text x="${width - right + 24}" y="${y + 15}">${digits(median)}</text>`,
      ].join('\n')
    })
    .join('\n')
}

/** Bars of all groups of a section, one below the other, with a line from the lowest to the highest sample. */
export function plotOf({ title, rows }: Section): string | undefined {
  const parts: string[] = []
  let top = 12
  for (const [group, all] of groupsOf(rows)) {
    const measured = all.filter(isMeasured)
    const [first] = measured
    if (!first) continue
    const { log } = scaleOf(measured.map(({ median }) => median))
    const heading = `${group}, ${first.unit}${log ? ', logarithmic' : ''}`
    parts.push(`<text x="8" y="${top + 14}" font-weight="600">${escape(heading)}</text>`, barsOf(measured, top + line))
    top += line * (measured.length + 1) + 14
  }
  if (parts.length === 0) return undefined
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" role="img" ${font} fill="#212529">
<title>${escape(title)}</title>
<rect width="${width}" height="${top}" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`
}
