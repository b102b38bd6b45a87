import type { ConsoleWait } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { waitsQuery } from '../wire/queries.ts'
import { CaseView } from './case-view.tsx'
import { useDecisions } from './decisions.ts'
import { InboxRow } from './inbox-row.tsx'
import { keyOf, useInboxRows } from './inbox-rows.ts'

/** Reads the selected case from the address. */
export function readInboxSearch(search: Readonly<Record<string, unknown>>): { readonly case?: string | undefined } {
  return { case: typeof search['case'] === 'string' ? search['case'] : undefined }
}

/** What waits for a decision in any session: a list, and the selected case beside it. */
export function Inbox(): ReactNode {
  const { case: chosen } = useSearch({ from: '/inbox' })
  const navigate = useNavigate()
  const { data, error, isPending } = useQuery(waitsQuery)
  const { open, ended } = useInboxRows(data)
  const { held } = useDecisions()
  const list = useRef<HTMLUListElement>(null)
  const rows = [...open, ...ended]
  const shown = rows.find((wait) => keyOf(wait) === chosen) ?? open.find((wait) => !(keyOf(wait) in held)) ?? open[0]
  const select = (wait: ConsoleWait | undefined): void => {
    if (wait) void navigate({ to: '/inbox', search: { case: keyOf(wait) }, replace: true })
  }
  const move = (by: number): void => {
    const at = shown ? rows.indexOf(shown) : -1
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    select(rows[next])
    list.current?.querySelectorAll<HTMLElement>('button')[next]?.focus()
  }
  useKeys('Inbox', [
    { key: 'j', also: ['ArrowDown'], does: 'next case', run: () => move(1) },
    { key: 'k', also: ['ArrowUp'], does: 'previous case', run: () => move(-1) },
  ])
  /** Goes to the next case that is not decided, also to one that is still to come. */
  const decided = (): void => {
    const next = open.find((wait) => wait !== shown && !(keyOf(wait) in held))
    void navigate({ to: '/inbox', search: { case: next && keyOf(next) }, replace: true })
  }
  return (
    <main id="main" tabIndex={-1} className="inbox">
      <section className="cases" aria-label="Cases">
        <h1>Inbox</h1>
        {error && <Failure error={error} />}
        {isPending && <Loading height={64} />}
        <ul ref={list}>
          {rows.map((wait, at) => (
            <InboxRow
              key={keyOf(wait)}
              wait={wait}
              isOpen={at < open.length}
              isShown={wait === shown}
              select={() => select(wait)}
            />
          ))}
        </ul>
      </section>
      {shown && <CaseView key={keyOf(shown)} wait={shown} isOpen={open.includes(shown)} decided={decided} />}
      {data && !shown && (
        <Empty title="Nothing waits for a decision.">
          <p className="dim">What agents ask appears here at once.</p>
        </Empty>
      )}
    </main>
  )
}
