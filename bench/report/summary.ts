import { digits } from './plot.ts'
import type { Results } from './results.ts'
import { isMeasured } from './row.ts'
import { table } from './table.ts'

/** Columns, and the names that rows of them have. */
const columns: Readonly<Record<string, readonly string[]>> = {
  Provost: ['provost', 'provost, sqlite'],
  'AI SDK': ['ai', 'ToolLoopAgent.stream'],
  'OpenAI Agents': ['@openai/agents'],
  'LangGraph.js': ['LangGraph.js', 'LangGraph.js, SqliteSaver'],
  Mastra: ['Mastra', 'Mastra, LibSQL'],
  pi: ['pi-agent-core'],
}

/** What the README shows of all sections. */
const shown: readonly (readonly [title: string, section: string, group: string])[] = [
  ['import and first run in a fresh process', 'states', 'cold: import and first run'],
  ['a run of 100 steps, warm', 'loop', '100 steps'],
  ['a text delta', 'deltas', 'one delta'],
  ['ten steps, each stored on the disk', 'durable', 'ten steps'],
  ['memory after a run of 100 steps', 'loop-memory', '100 steps'],
  ['installed', 'install-size', 'on the disk'],
  ['installed packages', 'install-size', 'packages'],
]

/** The table of the README: one row for each figure that was measured. */
export function summaryOf({ sections }: Results): string {
  const rows = shown.flatMap(([title, name, wanted]) => {
    const all = sections.find((section) => section.name === name)?.rows ?? []
    const measured = all.filter(isMeasured).filter(({ group }) => group === wanted)
    const [first] = measured
    if (!first) return []
    const cells = Object.values(columns).map((names) => {
      const found = names.flatMap((each) => measured.find((row) => row.name === each) ?? [])[0]
      return found ? digits(found.median) : '–'
    })
    const unit = first.unit === 'packages' ? '' : `, ${first.unit}`
    return [[`${title}${unit}`, ...cells]]
  })
  return table(['less is better', ...Object.keys(columns)], rows)
}

const [begin, end] = ['<!-- Written by npm run bench. -->', '<!-- End. -->']

/** A page with its table replaced. @throws Error if the page has no place for it. */
export function withSummary(page: string, results: Results): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`README.md has no table between ${begin} and ${end}.`)
  return `${page.slice(0, from)}${begin}\n\n${summaryOf(results)}\n\n${page.slice(to)}`
}
