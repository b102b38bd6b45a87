import { useNavigate, useSearch } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import type { KeyboardEvent, ReactNode } from 'react'
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react'

import { EntryPane } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import { hueStyle } from '../entries/hue-style.ts'
import type { SessionIndex } from '../entries/indexed-log.ts'
import { entryCount, namedEntry } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { useKeys } from '../keys/key-map.ts'
import { brief, count, counted, duration } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { axisOf } from './axis.ts'
import type { FlatRow, TimelineLayout, TimelineRow } from './layout.ts'
import { flatRows, layoutOf, mostOffsets } from './layout.ts'
import { AxisHead, Overview } from './overview.tsx'
import { RowView } from './row-view.tsx'
import { moved, useAxisWindow, wholeAxis, zoomed } from './window.ts'

import './timeline.css'

/** What happened when, in a session and its children. */
export function Timeline({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  if (isPending) return <Loading rows={12} height={22} />
  if (!data) return <Failure error={error} />
  return (
    <>
      {error && <p className="stale hot">The newest entries could not be read.</p>}
      <TimelineOf sessionId={sessionId} index={data} />
    </>
  )
}

const rowHeight = 28
const none: ReadonlySet<string> = new Set()

export function TimelineOf({
  sessionId,
  index,
}: {
  readonly sessionId: string
  readonly index: SessionIndex
}): ReactNode {
  const layout = useMemo(() => layoutOf(index), [index])
  const axis = useMemo(() => axisOf(layout.work, layout.from, layout.to), [layout])
  const [closed, setClosed] = useState(none)
  const flat = useMemo(() => flatRows(layout, closed), [layout, closed])
  const { current, given, select, opened, open, close } = useCurrent(sessionId, index, layout, flat)
  const frame = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const { shown, change } = useAxisWindow(frame)
  const width = useWidth(frame)
  const virtual = useVirtualizer({
    count: flat.length,
    estimateSize: () => rowHeight,
    getScrollElement: () => box.current,
    overscan: 6,
  })
  const at = flat.findIndex(({ row }) => row.id === current?.id)
  useEffect(() => {
    if (given) virtual.scrollToIndex(at, { align: 'center' })
  }, [given?.id])
  const move = (to: number): void => {
    const next = flat[Math.min(flat.length - 1, Math.max(0, to))]
    if (!next) return
    select(next.row)
    virtual.scrollToIndex(flat.indexOf(next))
  }
  // The same function in each render, so that rows which did not change are not drawn again.
  const toggle = useCallback((id: string, isClosing?: boolean): void => {
    setClosed((before) => {
      const next = new Set(before)
      if (isClosing ?? !before.has(id)) next.add(id)
      else next.delete(id)
      return next
    })
  }, [])
  const seek = (step: 1 | -1): void => {
    for (let n = at + step; n >= 0 && n < flat.length; n += step) {
      const kind = flat[n]?.row
      if (kind?.kind === 'wait' || kind?.kind === 'verdict' || kind?.isBad) return move(n)
    }
  }
  const pressed = (event: KeyboardEvent): void => {
    const done = pressedIn(event, {
      at,
      flat,
      move,
      toggle,
      open,
      change,
      page: Math.floor((box.current?.clientHeight ?? 280) / rowHeight),
    })
    if (done) event.preventDefault()
  }
  useKeys('Timeline', [
    { key: 'j', does: 'next row', run: () => move(at + 1) },
    { key: 'k', does: 'previous row', run: () => move(at - 1) },
    { key: 'w', does: 'next wait, verdict or failure', run: () => seek(1) },
    { key: 'W', does: 'previous wait, verdict or failure', run: () => seek(-1) },
    { key: '+', also: ['='], does: 'zoom in', run: () => change((now) => zoomed(now, 1.5, middle(now))) },
    { key: '-', does: 'zoom out', run: () => change((now) => zoomed(now, 1 / 1.5, middle(now))) },
    { key: '0', does: 'show the whole session', run: () => change(() => wholeAxis) },
    { key: '<', does: 'move to the left', run: () => change((now) => moved(now, -0.25)) },
    { key: '>', does: 'move to the right', run: () => change((now) => moved(now, 0.25)) },
    { key: 'o', does: 'open the detail', run: open },
    { key: 'Escape', does: 'close the detail', run: close },
  ])
  if (flat.length === 0) return <Empty title="Nothing has happened in this session yet." />
  return (
    <div className={opened && current ? 'split timeline with-pane' : 'split timeline'}>
      <div className="split-main" ref={frame}>
        <Facts index={index} layout={layout} workMs={axis.workMs} />
        <div className="tl-head">
          <span className="dim">
            <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> zoom
          </span>
          <Overview layout={layout} axis={axis} shown={shown} change={change} />
          <AxisHead axis={axis} shown={shown} width={width} />
        </div>
        <div
          className="split-rows tl-rows"
          ref={box}
          role="tree"
          tabIndex={0}
          aria-label="Timeline"
          aria-activedescendant={current ? domId(current.id) : undefined}
          onKeyDown={pressed}
          onFocus={() => at < 0 && move(0)}
        >
          <div role="presentation" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const one = flat[item.index]
              return (
                one && (
                  <div
                    key={one.row.id}
                    id={domId(one.row.id)}
                    className={`split-row tl-row of-${one.row.kind}`}
                    role="treeitem"
                    aria-level={one.level}
                    aria-selected={one.row.id === current?.id}
                    aria-expanded={one.row.rows.length > 0 ? !closed.has(one.row.id) : undefined}
                    style={hueStyle(one.row.agent, { transform: `translateY(${item.start}px)` })}
                    onClick={() => {
                      select(one.row)
                      open()
                    }}
                  >
                    <RowView
                      row={one.row}
                      level={one.level}
                      isClosed={closed.has(one.row.id)}
                      axis={axis}
                      shown={shown}
                      end={layout.to}
                      toggle={toggle}
                    />
                  </div>
                )
              )
            })}
          </div>
        </div>
      </div>
      {opened && current && (
        <EntryPane
          entries={current.offsets.slice(0, mostOffsets).map((offset) => {
            const entry = index.get(current.log)?.entries[offset - 1]
            return {
              place: { sessionId, log: current.log, offset },
              title: entry ? wordsOf(entry).title : current.name,
            }
          })}
          onClose={close}
        />
      )}
    </div>
  )
}

/** The sums of a session: over all entries, so not with each frame. */
const Facts = memo(function Facts({
  index,
  layout,
  workMs,
}: {
  readonly index: SessionIndex
  readonly layout: TimelineLayout
  readonly workMs: number
}): ReactNode {
  let [tokensIn, tokensOut] = [0, 0]
  for (const { entries } of index.values()) {
    for (const { type, tokensIn: more = 0, tokensOut: out = 0 } of entries) {
      if (type !== 'attempt') continue
      tokensIn += more
      tokensOut += out
    }
  }
  return (
    <p className="tl-facts dim">
      <span>
        {count(entryCount(index))} entries, {count(layout.count)} rows
      </span>
      <span>{counted(index.size, 'log')}</span>
      <span>
        {duration(workMs)} of work, {duration(layout.to - layout.from)} by the clock
      </span>
      <span>
        {brief(tokensIn)} tokens in, {brief(tokensOut)} out
      </span>
      <span className="tl-agents">
        {layout.agents.slice(0, 12).map((agent) => (
          <span key={agent} style={hueStyle(agent)}>
            <Words limit={40}>{agent}</Words>
          </span>
        ))}
        {layout.agents.length > 12 && <span>and {layout.agents.length - 12} more</span>}
      </span>
    </p>
  )
})

interface Pressing {
  readonly at: number
  readonly flat: readonly FlatRow[]
  readonly page: number
  move(to: number): void
  toggle(id: string, isClosing?: boolean): void
  open(): void
  change: ReturnType<typeof useAxisWindow>['change']
}

/** The keys of a tree. Returns whether the key did something. */
function pressedIn(
  { key, shiftKey }: KeyboardEvent,
  { at, flat, page, move, toggle, open, change }: Pressing,
): boolean {
  const one = flat[at]
  if (shiftKey && (key === 'ArrowLeft' || key === 'ArrowRight')) {
    change((now) => moved(now, key === 'ArrowLeft' ? -0.25 : 0.25))
    return true
  }
  switch (key) {
    case 'ArrowDown':
      move(at + 1)
      return true
    case 'ArrowUp':
      move(at - 1)
      return true
    case 'PageDown':
      move(at + page)
      return true
    case 'PageUp':
      move(at - page)
      return true
    case 'Home':
      move(0)
      return true
    case 'End':
      move(flat.length - 1)
      return true
    case 'ArrowRight':
      if (one && one.row.rows.length > 0) toggle(one.row.id, false)
      return true
    case 'ArrowLeft':
      if (one && flat[at + 1]?.parent === at) toggle(one.row.id, true)
      else if (one && one.parent >= 0) move(one.parent)
      return true
    case 'Enter':
      open()
      return true
    default:
      return false
  }
}

function middle([left, right]: readonly [number, number]): number {
  return (left + right) / 2
}

function domId(id: string): string {
  return `row-${id}`
}

const quietMs = 200

/** The selected row, which the address names: moving fast changes the address once. */
function useCurrent(
  sessionId: string,
  index: SessionIndex,
  layout: TimelineLayout,
  flat: readonly FlatRow[],
): {
  readonly current: TimelineRow | undefined
  /** The row that the address names, until another one is selected. */
  readonly given: TimelineRow | undefined
  select(row: TimelineRow): void
  readonly opened: boolean
  open(): void
  close(): void
} {
  const search = useSearch({ from: '/sessions/$id/$view' })
  const { log = sessionId, entry, message, call } = search
  const navigate = useNavigate({ from: '/sessions/$id/$view' })
  const byEntry = useMemo(() => rowsByEntry(layout), [layout])
  const given = useMemo(() => {
    if (entry !== undefined) return rowAt(byEntry, log, entry)
    const named = namedEntry(index, { message, call })
    return named && (byEntry.get(`${named.log}:${call}`) ?? rowAt(byEntry, named.log, named.offset))
  }, [byEntry, index, log, entry, message, call])
  const [chosen, setChosen] = useState<TimelineRow>()
  const current = chosen ?? given
  const [opened, setOpened] = useState(entry !== undefined || message !== undefined || call !== undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  // Rows of a newer layout replace those that are shown.
  const now = current && (byEntry.get(current.id) ?? flat.find(({ row }) => row.id === current.id)?.row)
  return {
    current: now,
    given: chosen ? undefined : given,
    select(row) {
      setChosen(row)
      clearTimeout(timer.current)
      timer.current = setTimeout(() => {
        const place = { log: row.log === sessionId ? undefined : row.log, entry: row.offsets[0] }
        void navigate({ search: { ...search, ...place, message: undefined, call: undefined }, replace: true })
      }, quietMs)
    },
    opened,
    open: () => setOpened(true),
    close: () => setOpened(false),
  }
}

/** Returns the row of an entry, or of the one before it: not each entry has a row. */
function rowAt(byEntry: ReadonlyMap<string, TimelineRow>, log: string, entry: number): TimelineRow | undefined {
  for (let offset = entry; offset > Math.max(0, entry - 20); offset--) {
    const row = byEntry.get(`${log}:${offset}`)
    if (row) return row
  }
  return undefined
}

function rowsByEntry({ rows }: TimelineLayout): ReadonlyMap<string, TimelineRow> {
  const found = new Map<string, TimelineRow>()
  const stack = [...rows]
  for (let row = stack.pop(); row; row = stack.pop()) {
    for (const offset of row.offsets) if (!found.has(`${row.log}:${offset}`)) found.set(`${row.log}:${offset}`, row)
    found.set(row.id, row)
    for (const below of row.rows) stack.push(below)
  }
  return found
}

function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const element = frame.current
    if (!element) return undefined
    const look = (): void => setWidth(element.querySelector('.tl-axis')?.clientWidth ?? 600)
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [frame])
  return width
}
