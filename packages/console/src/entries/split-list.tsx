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
  const current = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    // In braces: some browsers return a promise, which is no clean-up of an effect.
    current.current?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const go = (to: number): void => onSelect(Math.min(rows.length - 1, Math.max(0, to)))
  useKeys(title, [
    { key: 'j', also: ['ArrowDown'], does: 'next row', run: () => go(at + 1) },
    { key: 'k', also: ['ArrowUp'], does: 'previous row', run: () => go(at - 1) },
  ])
  return (
    <ol className="listed-rows" aria-label={title}>
      {rows.map(({ key, agent, content }, n) => (
        <li key={key} style={hueStyle(agent)}>
          <button
            ref={n === at ? current : undefined}
            type="button"
            aria-current={n === at ? 'true' : undefined}
            onClick={() => onSelect(n)}
          >
            {content}
          </button>
        </li>
      ))}
    </ol>
  )
}
