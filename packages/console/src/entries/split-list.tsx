import { useVirtualizer } from '@tanstack/react-virtual'
import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { hueStyle } from './hue-style.ts'

import './listed.css'

/** A row of a list whose detail is shown beside it. */
export interface SplitRow {
  readonly key: string
  readonly agent: string
  readonly content: ReactNode
}

/** A list with one selected row. `j` and `k` go through it. */
export function SplitList({
  title,
  rows,
  at,
  onSelect,
}: {
  readonly title: string
  readonly rows: readonly SplitRow[]
  readonly at: number
  readonly onSelect: (at: number) => void
}): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (n) => rows[n]?.key ?? n,
    overscan: 8,
  })
  useEffect(() => virtual.scrollToIndex(at), [virtual, at])
  const go = (to: number): void => onSelect(Math.min(rows.length - 1, Math.max(0, to)))
  useKeys(title, [
    { key: 'j', also: ['ArrowDown'], does: 'next row', run: () => go(at + 1) },
    { key: 'k', also: ['ArrowUp'], does: 'previous row', run: () => go(at - 1) },
  ])
  return (
    <div ref={box} className="listed-rows">
      <ol aria-label={title} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index]
          return (
            row && (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                style={hueStyle(row.agent, { transform: `translateY(${start}px)` })}
              >
                <button type="button" aria-current={index === at ? 'true' : undefined} onClick={() => onSelect(index)}>
                  {row.content}
                </button>
              </li>
            )
          )
        })}
      </ol>
    </div>
  )
}

const rowHeight = 55
