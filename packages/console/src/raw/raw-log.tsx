import { useNavigate, useSearch } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import type { KeyboardEvent, ReactNode } from 'react'
import { useDeferredValue, useMemo, useRef, useState } from 'react'

import { EntryPane } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import { hueStyle } from '../entries/hue-style.ts'
import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { count, moment } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { CopyBar } from './copy-bar.tsx'
import { filterFields, matches, readFilter } from './entry-filter.ts'

import './raw.css'

/** All entries of a session and its children, as the store has them. */
export function RawLog({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  if (isPending) return <Loading rows={12} height={22} />
  if (!data) return <Failure error={error} />
  return <RawLogOf sessionId={sessionId} index={data} />
}

const rowHeight = 30

function RawLogOf({ sessionId, index }: { readonly sessionId: string; readonly index: SessionIndex }): ReactNode {
  const search = useSearch({ from: '/sessions/$id/$view' })
  const navigate = useNavigate({ from: '/sessions/$id/$view' })
  const [text, setText] = useState(search.filter ?? '')
  const filter = useMemo(() => readFilter(text), [text])
  const shownFilter = useDeferredValue(filter)
  const all = useMemo(() => [...index.values()].flatMap(({ entries }) => entries), [index])
  const rows = useMemo(() => all.filter((entry) => matches(shownFilter, entry)), [all, shownFilter])
  const wanted = search.entry === undefined ? undefined : { log: search.log ?? sessionId, offset: search.entry }
  const [current, setCurrent] = useState(wanted)
  const box = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const at = rows.findIndex(({ log, offset }) => log === current?.log && offset === current.offset)
  const virtual = useVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    getScrollElement: () => box.current,
    overscan: 8,
    // A link to an entry shows it, with some of those before it.
    initialOffset: Math.max(0, (at - 3) * rowHeight),
  })
  const entry = rows[at]
  const select = (one: IndexEntry | undefined): void => {
    setCurrent(one && { log: one.log, offset: one.offset })
    void navigate({
      search: { ...search, log: one?.log, entry: one?.offset, filter: text || undefined },
      replace: true,
    })
  }
  const move = (to: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, to))
    select(rows[next])
    virtual.scrollToIndex(next)
  }
  const pressed = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1,
    }
    const to = steps[event.key]
    if (to === undefined) return
    event.preventDefault()
    move(to)
  }
  useKeys('Log', [
    { key: 'j', does: 'next entry', run: () => move(at + 1) },
    { key: 'k', does: 'previous entry', run: () => move(at - 1) },
    { key: '/', does: 'filter the entries', run: () => field.current?.focus() },
    { key: 'Escape', does: 'close the detail', run: () => select(undefined) },
  ])
  return (
    <div className={entry ? 'split raw with-pane' : 'split raw'}>
      <div className="split-main">
        <div className="raw-bar">
          <label className="sr" htmlFor="raw-filter">
            Filter
          </label>
          <input
            id="raw-filter"
            ref={field}
            type="search"
            value={text}
            placeholder="type:call outcome:error agent:desk words"
            aria-describedby="raw-count raw-fields"
            onChange={({ target }) => setText(target.value)}
          />
          <span id="raw-count" className="dim" role="status">
            {count(rows.length)} of {count(all.length)} entries
          </span>
          <CopyBar sessionId={sessionId} />
        </div>
        <p id="raw-fields" className={filter.unknown.length > 0 ? 'hot raw-fields' : 'dim raw-fields'}>
          {filter.unknown.length > 0 && `There is no field ${filter.unknown.join(', ')}. `}
          Fields: {filterFields.join(', ')}.
        </p>
        {rows.length === 0 && (
          <Empty title={all.length === 0 ? 'The log is empty.' : 'No entry matches this filter.'} />
        )}
        <div
          className="split-rows raw-rows"
          ref={box}
          role="listbox"
          tabIndex={0}
          aria-label="Entries"
          aria-activedescendant={entry ? `raw-${at}` : undefined}
          onKeyDown={pressed}
          hidden={rows.length === 0}
        >
          <div role="presentation" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index: n, start }) => {
              const one = rows[n]
              return (
                one && (
                  <div
                    key={`${one.log}:${one.offset}`}
                    id={`raw-${n}`}
                    role="option"
                    aria-selected={n === at}
                    aria-posinset={n + 1}
                    aria-setsize={rows.length}
                    className="split-row raw-row"
                    style={hueStyle(one.agent, { transform: `translateY(${start}px)` })}
                    onClick={() => select(one)}
                  >
                    <RowOf entry={one} isChild={one.log !== sessionId} />
                  </div>
                )
              )
            })}
          </div>
        </div>
      </div>
      {entry && (
        <EntryPane
          entries={[{ place: { sessionId, log: entry.log, offset: entry.offset }, title: wordsOf(entry).title }]}
          onClose={() => select(undefined)}
        />
      )}
    </div>
  )
}

function RowOf({ entry, isChild }: { readonly entry: IndexEntry; readonly isChild: boolean }): ReactNode {
  const { offset, at, type, op, agent, label } = entry
  const { icon, title, hot = false } = wordsOf(entry)
  return (
    <>
      <span className="dim raw-no">
        {isChild && '↳ '}
        {offset}
      </span>
      <time className="dim" dateTime={new Date(at).toISOString()} title={moment(at)}>
        {new Date(at).toISOString().slice(11, 23)}
      </time>
      <code className="clip">
        {type}
        {op !== '' && `.${op}`}
      </code>
      <span className={hot ? 'clip hot' : 'clip'}>
        <Icon name={icon} /> <Words limit={120}>{title}</Words>
      </span>
      <span className="dim clip">
        <Words limit={40}>{agent}</Words>
      </span>
      <span className="raw-marks">
        {label?.integrity === 'untrusted' && <Icon name="alert" title="untrusted" />}
        {label?.confidentiality === 'secret' && <Icon name="lock" title="secret" />}
      </span>
    </>
  )
}
