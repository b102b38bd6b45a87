import { createServer } from '@provost/server'
import type { IndexAnswer } from '@provost/server/console'
import { indexAnswer } from '@provost/server/console'
import { memoryStore } from '@provost/sessions'
import { expect, test } from 'vitest'

import type { SessionIndex } from '../src/entries/indexed-log.ts'
import { withPage } from '../src/entries/indexed-log.ts'
import { axisOf, marksOf } from '../src/timeline/axis.ts'
import type { TimelineRow } from '../src/timeline/layout.ts'
import { flatRows, layoutOf } from '../src/timeline/layout.ts'
import { moved, zoomed } from '../src/timeline/window.ts'
import { busyDesk, deskWith } from './recorded.ts'

async function indexOf(make: typeof deskWith, input: string): Promise<SessionIndex> {
  const store = memoryStore()
  const agent = make(store)
  const { sessionId } = await agent.run(input)
  const server = createServer({ agents: [agent], store })
  let index: SessionIndex = new Map()
  let after: string | undefined
  do {
    const query = after === undefined ? '' : `&after=${after}`
    const url = `http://localhost/api/console/session/${sessionId}/index?limit=10${query}`
    const page: IndexAnswer = indexAnswer.parse(await (await server.fetch(new Request(url))).json())
    index = withPage(index, page)
    after = page.next
  } while (after !== undefined)
  await server.close()
  return index
}

function outline(rows: readonly TimelineRow[], depth = 0): readonly string[] {
  return rows.flatMap((row) => [
    `${'  '.repeat(depth)}${row.kind} ${row.name}${row.untrusted ? ` ${row.untrusted}` : ''}`,
    ...outline(row.rows, depth + 1),
  ])
}

test('the rows of a session are its steps with their calls, children and waits below them', async () => {
  const layout = layoutOf(await indexOf(deskWith, 'Handle mail 15.'))
  expect(outline(layout.rows)).toMatchInlineSnapshot(`
    [
      "input input",
      "step step 1",
      "  call read_mail enters",
      "  call vault",
      "  call find_order enters",
      "step step 2 inherits",
      "  call transfer_to_billing",
      "    handoff hands over to billing inherits",
      "input input",
      "step step 3 inherits",
      "  call write_letter enters",
      "    child writer inherits",
      "      input input inherits",
      "      step step 1 inherits",
      "      end run completed",
      "  call write_letter enters",
      "    child writer inherits",
      "      input input inherits",
      "      step step 1 inherits",
      "      end run completed",
      "step step 4 inherits",
      "  call pay",
      "    wait waits for an approval inherits",
    ]
  `)
  expect(layout.agents).toEqual(['triage', 'billing', 'writer'])
  const flat = flatRows(layout, new Set())
  expect(flat).toHaveLength(layout.count)
  const wait = flat.find(({ row }) => row.kind === 'wait')?.row
  expect(wait?.to).toBeUndefined()
  const closed = new Set(layout.rows.map(({ id }) => id))
  expect(flatRows(layout, closed)).toHaveLength(layout.rows.length)
})

test('looks at each entry a fixed number of times', async () => {
  const reads = async (steps: number): Promise<number> => {
    const index = await indexOf((store) => busyDesk(store, steps), 'go')
    let count = 0
    const counted = new Map(
      [...index].map(([name, log]) => {
        const entries = log.entries.map(
          (entry) => new Proxy(entry, { get: (at, key) => (count++, Reflect.get(at, key)) }),
        )
        return [name, { ...log, entries }] as const
      }),
    )
    layoutOf(counted)
    return count
  }
  const [few, many] = [await reads(20), await reads(80)]
  expect(many / few).toBeGreaterThan(3)
  expect(many / few).toBeLessThan(4.5)
})

test('the axis folds long gaps, and keeps the order of times', () => {
  const hour = 3_600_000
  const work = [
    [0, 200],
    [220, 400],
    [hour, hour + 100],
  ] as const
  const axis = axisOf(work, 0, hour + 100)
  expect(axis.workMs).toBe(480)
  expect(axis.parts.map(({ isGap }) => isGap)).toEqual([false, true, false])
  expect(axis.place(0)).toBe(0)
  expect(axis.place(hour + 100)).toBeCloseTo(1)
  expect(axis.place(hour) - axis.place(400)).toBeCloseTo(0.16)
  const places = [0, 100, 400, 1_000, hour / 2, hour, hour + 50].map((at) => axis.place(at))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(axis.timeAt(axis.place(100))).toBeCloseTo(100)
  const marks = marksOf(axis, [0, 1], 6)
  expect(marks.filter(({ isGap }) => isGap)).toEqual([{ place: expect.any(Number), ms: hour - 400, isGap: true }])
  expect(marksOf(axis, [0, 0.001], 6).length).toBeLessThan(20)
})

test('an axis of one moment, or of none, has places', () => {
  expect(axisOf([], 5, 5).place(5)).toBe(0)
  expect(axisOf([[0, 0]], 0, 0).place(0)).toBe(0)
})

test('a window stays within the axis, however it is zoomed and moved', () => {
  expect(zoomed([0, 1], 2, 0.5)).toEqual([0.25, 0.75])
  expect(zoomed([0.25, 0.75], 0.1, 0.5)).toEqual([0, 1])
  expect(moved([0.5, 1], 1)).toEqual([0.5, 1])
  expect(moved([0.5, 1], -2)).toEqual([0, 0.5])
})
