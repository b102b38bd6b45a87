import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { apiUrl } from '../wire/connection.ts'
import type { SessionFilter } from '../wire/console-api.ts'
import { sessionsQuery } from '../wire/queries.ts'
import { FilterBar } from './session-filter.tsx'
import { SessionRow } from './session-row.tsx'

/** Height of a row until it is measured. */
const rowHeight = 57
/** Rows before the end at which the next page is read. */
const ahead = 30

/** All sessions that the principal may see, the last changed first. */
export function SessionList(): ReactNode {
  const filter = useSearch({ from: '/sessions' })
  const navigate = useNavigate()
  const box = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const found = useInfiniteQuery(sessionsQuery(filter))
  const rows = found.data?.pages.flatMap(({ sessions }) => sessions) ?? []
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (at) => rows[at]?.id ?? at,
    overscan: 8,
  })
  const shown = virtual.getVirtualItems()
  const lastShown = shown.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastShown >= rows.length - ahead) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, lastShown, rows.length])
  // The row to focus may not be in the page yet.
  const [current, setCurrent] = useState<string | undefined>()
  const takesFocus = useRef(false)
  const move = (by: number): void => {
    const at = rows.findIndex(({ id }) => id === current)
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    takesFocus.current = true
    virtual.scrollToIndex(next)
    setCurrent(rows[next]?.id)
  }
  useKeys('Sessions', [
    { key: 'j', also: ['ArrowDown'], does: 'next session', run: () => move(1) },
    { key: 'k', also: ['ArrowUp'], does: 'previous session', run: () => move(-1) },
    { key: '/', does: 'search', run: () => field.current?.focus() },
  ])
  return (
    <main id="main" tabIndex={-1} className="page list">
      <FilterBar
        filter={filter}
        field={field}
        change={(part) => void navigate({ to: '/sessions', search: { ...filter, ...part }, replace: true })}
      />
      {found.error && <Failure error={found.error} />}
      {found.isPending && <Loading height={56} />}
      {found.data && rows.length === 0 && (isFiltered(filter) ? <NoMatch /> : <NoSessions />)}
      <div className="rows-box" ref={box}>
        <ul className="rows" aria-label="Sessions, the last changed first" style={{ height: virtual.getTotalSize() }}>
          {shown.map(({ index, key, start }) => {
            const session = rows[index]
            return (
              session && (
                <li
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  aria-setsize={hasNextPage ? -1 : rows.length}
                  aria-posinset={index + 1}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <SessionRow
                    session={session}
                    takesFocus={() => takesFocus.current && session.id === current}
                    focused={() => {
                      takesFocus.current = false
                      setCurrent(session.id)
                    }}
                  />
                </li>
              )
            )
          })}
        </ul>
      </div>
    </main>
  )
}

function isFiltered(filter: SessionFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

function NoMatch(): ReactNode {
  return <Empty title="No session matches this search." />
}

function NoSessions(): ReactNode {
  return (
    <Empty title="This server has no sessions yet.">
      <p>Start a run, and it appears here:</p>
      <pre
        className="block"
        tabIndex={0}
        role="region"
        aria-label="A command that starts a run"
      >{`curl ${apiUrl}/api/agent/execute \\
  -H 'content-type: application/json' \\
  -H 'authorization: Bearer TOKEN' \\
  -d '{"input":"Hello"}'`}</pre>
    </Empty>
  )
}
