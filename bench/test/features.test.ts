import { describe, expect, test } from 'vitest'

import { allChecks, knownMissing, newFaults, tryCheck } from '../features/check.ts'

const full = process.env['PROVOST_TEST_FULL'] === '1'

const rows = await allChecks()
/** Every tenth one by default. */
const asked = rows.filter(({ row }, n) => (full || n % 10 === 0) && !(row in knownMissing))

describe('a row of the feature tables works', () => {
  test.each(asked.map((row) => [`${row.row} ${row.title}`, row] as const))('%s', async (_, row) => {
    expect(newFaults(await tryCheck(row, 60_000))).toEqual([])
  })
})

test('each row has a name of its own', () => {
  expect(new Set(rows.map(({ row }) => row)).size).toBe(rows.length)
})

test('a row of which some claims fail works partly, and says which', async () => {
  const row = {
    row: 'X1',
    title: 'two claims',
    async run({ claim }: Parameters<(typeof rows)[number]['run']>[0]) {
      await claim('the first', () => {})
      await claim('the second', () => {
        throw new Error('does not hold')
      })
      return 'one held'
    },
  }
  expect(await tryCheck(row, 1_000)).toMatchObject({
    verdict: 'partly',
    faults: ['the second: does not hold'],
    seen: 'one held',
  })
  const late = { row: 'X2', title: 'no end', run: async () => new Promise<string>(() => {}) }
  expect(await tryCheck(late, 10)).toMatchObject({ verdict: 'missing', faults: ['row: no end within 0.01 s'] })
})
