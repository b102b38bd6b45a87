import { digits } from './plot.ts'
import { groupsOf, lossesOf, verdictsOf } from './results.ts'
import type { Results, Section } from './results.ts'
import { isMeasured } from './row.ts'
import type { Row } from './row.ts'
import { table } from './table.ts'

function cellsOf(row: Row): readonly string[] {
  if (!isMeasured(row)) return [row.name, '', '', row.missing, '']
  const { name, median, min, max, samples, ratio } = row
  const spread = samples > 1 ? `${digits(min)} – ${digits(max)}` : ''
  return [name, digits(median), spread, `${samples}`, ratio === undefined ? '' : digits(ratio)]
}

function groupTable(group: string, rows: readonly Row[]): string {
  const unit = rows.find(isMeasured)?.unit ?? ''
  return table([group, unit, 'lowest – highest', 'samples', 'ratio'], rows.map(cellsOf))
}

function sectionText(section: Section): string {
  const groups = groupsOf(section.rows).map(([group, rows]) => groupTable(group, rows))
  return [
    `## ${section.title}`,
    section.about,
    conditionsText(section),
    `![${section.title}](pictures/benchmarks/${section.name}.svg)`,
    ...groups,
    `\`npm run bench -- --only ${section.name}\``,
  ].join('\n\n')
}

function aimsText(results: Results): string {
  const rows = verdictsOf(results).map(({ section, row, of, atMost, measured, met }) => [
    `${row.name}, ${row.group}`,
    section,
    of === 'ratio' ? `at most ${digits(atMost)} of the baseline` : `at most ${digits(atMost)} ${row.unit}`,
    digits(measured),
    met ? 'met' : '**missed**',
  ])
  return rows.length === 0 ? 'None was measured.' : table(['what', 'section', 'aim', 'measured', ''], rows)
}

function lossesText(results: Results): string {
  const rows = lossesOf(results).map(({ section, group, ours, peer, times }) => [
    `${section}: ${group}`,
    peer.name,
    `${digits(peer.median)} ${peer.unit}`,
    `${digits(ours.median)} ${ours.unit} (${ours.name})`,
    `${digits(times)}×`,
  ])
  return rows.length === 0
    ? 'No peer is ahead in any group.'
    : table(['what', 'who is ahead', 'theirs', 'ours', 'ours is'], rows)
}

/** Under which conditions the figures of a section were taken. */
function conditionsText({ effort, date, load, loaded }: Section): string {
  const form = effort === 'short' ? 'a short form with few samples' : 'the full form'
  return loaded
    ? `_${date}, ${form}. **Loaded:** other programs used the machine (load ${load}). Ratios come from turns and suffer less than times._`
    : `_${date}, ${form}, on a quiet machine (load ${load})._`
}

function machineText({ machine, sections }: Results): string {
  const { cores, memoryGB, system, node } = machine
  const poor = sections.filter(({ effort, loaded }) => effort !== 'full' || loaded).length
  const where = `Machine: ${cores} cores, ${memoryGB} GB of memory, ${system}, Node ${node}.`
  if (poor === 0) return where
  return `${where} **${poor} of ${sections.length} sections are provisional**: they come from a loaded machine or from a short form of the run, as each says.`
}

/** The page, from the results of a run. */
export function pageOf(results: Results): string {
  const { versions } = results.machine
  return `${[
    '# Benchmarks',
    'Provost beside other runtimes, on the same script, in one run. `npm run bench` measures all of it and writes this page.',
    machineText(results),
    'Less is better in every table. A ratio below 1 is less than the baseline, which has the ratio 1. Samples of the contenders are taken in turn; the figure is their median. Two equal programs in one process differ by up to 5 %: treat such a difference as none.',
    '## Aims',
    aimsText(results),
    '## Where Provost loses',
    'Every group in which a peer needs less than the plain form of Provost, by more than 5 %:',
    lossesText(results),
    'pi-agent-core validates calls and keeps messages in memory. It writes no log, follows no data and asks no policy. Beside a model that answers in half a second, the difference of a step is not visible.',
    ...results.sections.map(sectionText),
    '## Versions',
    table(['package', 'version'], Object.entries(versions)),
    '## Run it',
    '```sh\nnpm run bench                    # all of it, 12 minutes on a quiet machine; writes this page\nnpm run bench -- --short         # fewer samples\nnpm run bench -- --only deltas   # one bench; writes nothing\nnpm run bench -- --quick         # a minute, to see that each bench runs; writes nothing\n```',
    'The first run installs the peers into `bench/peers`. All raw figures are in [benchmarks.json](benchmarks.json).',
  ].join('\n\n')}\n`
}
