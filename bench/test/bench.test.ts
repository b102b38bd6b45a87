import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { describe, expect, test } from 'vitest'

import { benches } from '../benches.ts'
import { pageOf } from '../report/page.ts'
import { plotOf } from '../report/plot.ts'
import { lossesOf, verdictsOf } from '../report/results.ts'
import type { Results } from '../report/results.ts'
import { isMeasured, rowsOf } from '../report/row.ts'
import type { Values } from '../report/row.ts'
import { withSummary } from '../report/summary.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const subjects: readonly Values[] = [
  { name: 'provost', side: 'ours', values: [4, 2, 3] },
  { name: 'ai', side: 'peer', values: [10, 12, 11] },
  { name: 'swift', side: 'peer', values: [1, 1, 1] },
  { name: 'equal', side: 'peer', values: [2.9] },
  { name: 'by hand', side: 'bound', values: [0.5] },
]
const results: Results = {
  bench: 'all',
  machine: {
    cores: 2,
    memoryGB: 8,
    system: 'linux x64',
    node: '24.0.0',
    versions: { ai: '7.0.0' },
  },
  sections: [
    {
      name: 'example',
      title: 'An example',
      about: 'Counted by hand.',
      date: '2030-01-02',
      load: 9,
      loaded: true,
      effort: 'short',
      seconds: 1,
      rows: [
        ...rowsOf(subjects, {
          group: 'a step',
          unit: 'ms',
          baseline: 'ai',
          aims: { provost: { of: 'ratio', atMost: 0.3 }, ai: { of: 'median', atMost: 10 } },
        }),
        { group: 'a step', name: 'slow', side: 'peer', missing: 'left out: about 9 s a run' },
      ],
    },
  ],
}

describe('a report', () => {
  test('has medians, spreads and ratios to the baseline', () => {
    const [first] = results.sections[0]?.rows ?? []
    expect(first).toMatchObject({ samples: 3, min: 2, median: 3, max: 4, ratio: 3 / 11 })
  })

  test('says which aims are met and which are missed', () => {
    expect(verdictsOf(results).map(({ row, met }) => [row.name, met])).toEqual([
      ['provost', true],
      ['ai', false],
    ])
  })

  test('names each peer that is ahead by more than noise, and no bound', () => {
    expect(lossesOf(results).map(({ peer, times }) => [peer.name, times])).toEqual([['swift', 3]])
  })

  test('is a page that tells losses, missed aims, missing figures and other load', () => {
    const page = pageOf(results)
    expect(page).toContain('| An example: a step | swift')
    expect(page).toContain('**missed**')
    expect(page).toContain('left out: about 9 s a run')
    expect(page).toContain('**Loaded:**')
    expect(page).toContain('**1 of 1 sections are provisional**')
    expect(page).toContain('2 – 4')
  })

  test('replaces the table of the README, with a dash for what was not measured', () => {
    const [section] = results.sections
    if (!section) throw new Error('There is no section.')
    const rows = rowsOf(subjects, { group: 'one delta', unit: 'µs CPU' })
    const page = ['before', '<!-- Written by npm run bench. -->', 'old', '<!-- End. -->', 'after'].join('\n')
    const written = withSummary(page, { ...results, sections: [{ ...section, name: 'deltas', rows }] })
    expect(written).toMatch(/^before\n[^]*\| a text delta, µs CPU \| 3 +\| 11 +\| – [^]*after$/u)
    expect(written).not.toContain('old')
    expect(() => withSummary('no place', results)).toThrow('README.md has no table')
  })

  test('has a plot of each measured row, by orders of magnitude only where they differ by much', () => {
    const [section] = results.sections
    if (!section) throw new Error('There is no section.')
    const plot = plotOf(section) ?? ''
    for (const { name } of subjects) expect(plot).toContain(`>${name}</text>`)
    expect(plot).not.toContain('logarithmic')
    const [first] = section.rows
    if (!first || !isMeasured(first)) throw new Error('There is no row.')
    expect(plotOf({ ...section, rows: [...section.rows, { ...first, median: 1_000 }] })).toContain('logarithmic')
  })
})

test('docs/benchmarks.md and the table of the README are what the command wrote', () => {
  const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
  const measured: Results = JSON.parse(read('docs/benchmarks.json'))
  expect(read('docs/benchmarks.md')).toBe(pageOf(measured))
  expect(read('README.md')).toBe(withSummary(read('README.md'), measured))
  for (const section of measured.sections)
    expect(read(`docs/pictures/benchmarks/${section.name}.svg`)).toBe(plotOf(section))
})

/** Cheap ones; full runs have all. */
const asked = full ? benches.map(({ name }) => name) : ['deltas', 'first-event', 'install-size']

test('the command answers rows of finite figures for each bench, and writes nothing', async () => {
  const driver = join(import.meta.dirname, '../bench.ts')
  const args = ['--conditions=@provost/source', driver, '--quick', '--json', '--only', asked.join()]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const told: Results = JSON.parse(stdout)
  expect(told.sections.map(({ name }) => name)).toEqual(asked)
  for (const { name, rows } of told.sections) {
    expect({ name, rows: rows.length }).not.toEqual({ name, rows: 0 })
    for (const row of rows.filter(isMeasured)) {
      expect(row.median).toBeGreaterThanOrEqual(row.min)
      expect(row.median).toBeLessThanOrEqual(row.max)
      expect(row.min).toBeGreaterThan(0)
    }
  }
})

test('a bench that is unknown is an error that names the flag', async () => {
  const driver = join(import.meta.dirname, '../bench.ts')
  const run = promisify(execFile)(process.execPath, ['--conditions=@provost/source', driver, '--only', 'nothing'])
  await expect(run).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--only knows no bench 'nothing'"),
  })
})
