import type { ReactNode } from 'react'
import { memo } from 'react'

import { Icon } from '../look/icon.tsx'
import type { IconName } from '../look/icon.tsx'
import { brief, dollars, duration } from '../look/measures.ts'
import { Words } from '../look/words.tsx'
import type { Axis } from './axis.ts'
import type { RowKind, TimelineRow } from './layout.ts'
import type { AxisWindow } from './window.ts'
import { percent } from './window.ts'

const icons: Readonly<Record<RowKind, IconName>> = {
  input: 'message',
  step: 'step',
  call: 'tool',
  child: 'child',
  wait: 'pause',
  verdict: 'flag',
  handoff: 'handoff',
  view: 'fold',
  end: 'end',
}

/** What a row of the timeline receives. */
interface RowProps {
  readonly row: TimelineRow
  readonly level: number
  readonly isClosed: boolean
  readonly axis: Axis
  readonly shown: AxisWindow
  /** The present end of the axis, for what is not over. */
  readonly end: number
  toggle(id: string): void
}

export const RowView = memo(function RowView({ row, level, isClosed, axis, shown, end, toggle }: RowProps): ReactNode {
  return (
    <>
      <span className="sr">{nameOf(row, end)}</span>
      <span className="tl-name" aria-hidden style={{ paddingLeft: Math.min(level - 1, 12) * 14 }}>
        {row.rows.length > 0 ? (
          <button
            type="button"
            className="quiet tl-fold"
            tabIndex={-1}
            onClick={(event) => {
              event.stopPropagation()
              toggle(row.id)
            }}
          >
            <Icon name={isClosed ? 'right' : 'down'} />
          </button>
        ) : (
          <span className="tl-fold" />
        )}
        <Icon name={icons[row.kind]} />
        <span className="clip">
          {row.kind === 'step' && (
            <span className="dim">
              <Words limit={60}>{row.agent}</Words> ·{' '}
            </span>
          )}
          <Words limit={120}>{row.name}</Words>
        </span>
        {row.untrusted && (
          <span className={`tl-mark ${row.untrusted}`}>
            <Icon name="alert" />
          </span>
        )}
        {row.isSecret && (
          <span className="tl-mark secret">
            <Icon name="lock" />
          </span>
        )}
      </span>
      <span className="tl-figures" aria-hidden>
        {figuresOf(row)}
      </span>
      <span className="tl-bars" data-bars="" aria-hidden>
        <Bars row={row} axis={axis} shown={shown} end={end} />
      </span>
    </>
  )
})

function figuresOf({ kind, tokensIn, tokensOut, outcome, isBad }: TimelineRow): ReactNode {
  if (outcome !== undefined) return <span className={isBad ? 'hot' : 'dim'}>{outcome}</span>
  if (kind !== 'step' && kind !== 'child') return null
  if (tokensIn + tokensOut === 0) return null
  return (
    <span className="dim">
      {brief(tokensIn)} → {brief(tokensOut)}
    </span>
  )
}

function Bars({ row, axis, shown, end }: Pick<RowProps, 'row' | 'axis' | 'shown' | 'end'>): ReactNode {
  const { kind, from, to, discarded, isBad } = row
  const left = percent(shown, axis.place(from))
  const right = percent(shown, axis.place(to ?? end))
  if (right < -1 || left > 101) return null
  const isTick = to === from && kind !== 'step' && kind !== 'call'
  return (
    <>
      {discarded.map((attempt) => (
        <Bar
          key={attempt.from}
          kind="retry"
          left={percent(shown, axis.place(attempt.from))}
          right={percent(shown, axis.place(attempt.to))}
        />
      ))}
      <Bar kind={isTick ? 'tick' : kind} left={left} right={right} isBad={isBad} isOpen={to === undefined} />
      <span className="tl-length dim" style={{ left: `${Math.min(100, Math.max(0, right))}%` }}>
        {lengthOf(row, end)}
      </span>
    </>
  )
}

function Bar({
  kind,
  left,
  right,
  isBad = false,
  isOpen = false,
}: {
  readonly kind: RowKind | 'retry' | 'tick'
  readonly left: number
  readonly right: number
  readonly isBad?: boolean
  readonly isOpen?: boolean
}): ReactNode {
  const start = Math.max(-1, left)
  const width = Math.max(0, Math.min(101, right) - start)
  return (
    <span
      className={`tl-bar of-${kind}${isBad ? ' is-bad' : ''}${isOpen ? ' is-open' : ''}`}
      style={{ left: `${start}%`, width: `${width}%` }}
    />
  )
}

function lengthOf({ kind, from, to, ms }: TimelineRow, end: number): string {
  if (kind === 'verdict' || kind === 'input' || kind === 'end' || kind === 'handoff') return ''
  const length = ms !== undefined && ms > 0 ? ms : (to ?? end) - from
  return to === undefined && kind !== 'wait' ? '' : `${duration(length)}${to === undefined ? ' so far' : ''}`
}

/** Returns what a screen reader says about a row. */
function nameOf(row: TimelineRow, end: number): string {
  const { kind, name, agent, tokensIn, tokensOut, cost, outcome, untrusted, isSecret, discarded } = row
  const tokens = tokensIn + tokensOut > 0 ? `${tokensIn} tokens in, ${tokensOut} out` : ''
  const parts = [
    kind === 'step' || kind === 'child' ? `${agent}, ${name}` : name,
    lengthOf(row, end),
    tokens,
    cost > 0 ? dollars(cost) : '',
    outcome ?? '',
    discarded.length > 0 ? `${discarded.length} discarded attempts` : '',
    untrusted === 'enters' ? 'untrusted data enters' : untrusted ? 'made with untrusted data' : '',
    isSecret ? 'secret' : '',
  ]
  return parts.filter(Boolean).join(', ')
}
