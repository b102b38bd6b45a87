import { longestGapMs } from './limit.ts'
import type { Visit } from './visit.ts'

/** A row of figures that is read by people. */
export function rowOf(visit: Visit): string {
  const { name, outcome, figures, logged, second } = visit
  const mark = faultsOf(visit).length === 0 ? ' ' : '!'
  const cells = [
    figures ? figures.gapMs.toFixed(0) : '-',
    figures ? figures.gapCpuMs.toFixed(0) : '-',
    figures ? figures.cpuMs.toFixed(0) : '-',
    figures ? figures.rssMb.toFixed(0) : '-',
    (logged / 2 ** 20).toFixed(2),
  ].map((cell) => cell.padStart(7))
  const after = second ? ` | ${second.outcome} (${second.gapMs.toFixed(0)} ms)` : ''
  return `${mark} ${cells.join('')}  ${name.padEnd(60)} ${outcome}${after}`
}

/** What the columns of {@link rowOf} are. */
export const columns: string = ['gap ms', 'of CPU', 'CPU ms', 'RSS MB', 'log MB']
  .map((cell) => cell.padStart(7))
  .join('')

/** Why an input does not hold; nothing where it does. */
export function faultsOf({ outcome, holds, figures, second }: Visit): readonly string[] {
  const faults: string[] = []
  if (!holds) faults.push(outcome)
  // The clock of a busy machine counts what others did: only CPU of this thread is a fault of ours.
  if (figures && figures.gapCpuMs > longestGapMs) faults.push(`gap ${figures.gapCpuMs.toFixed(0)} ms`)
  if (second && !second.outcome.startsWith('read ')) faults.push(`second process: ${second.outcome}`)
  else if (second && second.gapCpuMs > longestGapMs) faults.push(`second process: gap ${second.gapCpuMs.toFixed(0)} ms`)
  return faults
}

/** The figures as a page of the documentation. */
export function pageOf(visits: readonly Visit[], { node, date }: { node: string; date: string }): string {
  const bad = visits.filter((visit) => faultsOf(visit).length > 0)
  const categories = [...new Set(visits.map(({ category }) => category))]
  const most = (list: readonly Visit[], of: (visit: Visit) => number): string => Math.max(0, ...list.map(of)).toFixed(0)
  const rows = categories.map((category) => {
    const list = visits.filter((visit) => visit.category === category)
    const open = list.filter((visit) => faultsOf(visit).length > 0)
    const cells = [
      list.length,
      list.length - open.length,
      most(list, ({ figures }) => figures?.gapCpuMs ?? 0),
      most(list, ({ second }) => second?.gapCpuMs ?? 0),
      most(list, ({ figures }) => figures?.cpuMs ?? 0),
      most(list, ({ figures }) => figures?.rssMb ?? 0),
      (Math.max(0, ...list.map(({ logged }) => logged || 0)) / 2 ** 20).toFixed(1),
    ]
    return `| ${category} | ${list[0]?.door ?? ''} | ${cells.join(' | ')} |`
  })
  const slowest = visits
    .toSorted((a, b) => (b.figures?.gapCpuMs ?? Infinity) - (a.figures?.gapCpuMs ?? Infinity))
    .slice(0, 20)
    .map((visit) => {
      const { name, outcome, figures } = visit
      return `| ${cellOf(name)} | ${cellOf(outcome)} | ${figures ? figures.gapCpuMs.toFixed(0) : 'hang'} | ${figures ? figures.cpuMs.toFixed(0) : ''} |`
    })
  return `# Hostile inputs: figures

${visits.length} hostile inputs of up to 1 MB pass through public doors, ${visits.length - bad.length} of them within the limits. Each has an expected
outcome, and a longest event-loop gap of ${longestGapMs} ms. What an input leaves in a store is opened by a second process.

\`node --conditions=@provost/source bench/hostile.ts --markdown > docs/hostile-figures.md\` writes this page. Measured with Node ${node} on ${date}.
Gaps are CPU time of the main thread between two turns of the event loop.

| category | door | inputs | hold | longest gap, ms | of the second process | most CPU, ms | most memory, MB | most log, MB |
| --- | --- | --: | --: | --: | --: | --: | --: | --: |
${rows.join('\n')}

## The longest gaps

| input | outcome | gap, ms | CPU, ms |
| --- | --- | --: | --: |
${slowest.join('\n')}

## Inputs that do not hold

${bad.length === 0 ? 'None.' : `| input | why |\n| --- | --- |\n${bad.map((visit) => `| ${cellOf(visit.name)} | ${cellOf(faultsOf(visit).join('; '))} |`).join('\n')}`}
`
}

function cellOf(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').slice(0, 120)
}
