import type { TraceAnswer, TracePlace } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { wordsOf } from '../entries/entry-words.ts'
import type { SessionIndex } from '../entries/indexed-log.ts'
import { namedEntry } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import type { TextPlace } from '../entries/text-place.ts'
import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { counted } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Block, Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { consoleApi } from '../wire/console-api.ts'

import '../entries/table.css'
import './flow.css'

const traceQuery = ({ sessionId, log, offset, pointer, start, end }: TextPlace) =>
  queryOptions({
    queryKey: ['session', sessionId, 'trace', log, offset, pointer, start, end] as const,
    queryFn: ({ signal }) => consoleApi.trace(sessionId, { log, offset, pointer, start, end }, signal),
  })

/** Where selected words come from, and everywhere they went. */
export function Flow({ sessionId }: SessionViewProps): ReactNode {
  const { log = sessionId, entry, message, pointer, from, to } = useSearch({ from: '/sessions/$id/$view' })
  if (message !== undefined && pointer !== undefined && from !== undefined && to !== undefined)
    return <FlowOfMessage {...{ sessionId, message, pointer, start: from, end: to }} />
  if (entry === undefined || pointer === undefined || from === undefined || to === undefined) {
    return (
      <Empty title="Select words to see where they come from.">
        <p>
          Open an entry in the{' '}
          <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'timeline' }}>
            timeline
          </Link>{' '}
          or the{' '}
          <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'log' }}>
            log
          </Link>
          , or a message in the{' '}
          <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'talk' }}>
            conversation
          </Link>
          , select words in it, and press <kbd>p</kbd>. With the keyboard alone, use the button “trace” of a text.
        </p>
      </Empty>
    )
  }
  return <FlowOf place={{ sessionId, log, offset: entry, pointer, start: from, end: to }} />
}

/** Words of a message, which the log has at an entry. */
function FlowOfMessage({
  message,
  ...words
}: Omit<TextPlace, 'log' | 'offset'> & { readonly message: string }): ReactNode {
  const { data: index, error, isPending } = useIndex(words.sessionId)
  if (isPending) return <Loading rows={3} height={90} />
  if (!index) return <Failure error={error} />
  const entry = namedEntry(index, { message })
  if (!entry) return <Empty title="The log does not have this message yet." />
  return <FlowOf place={{ ...words, log: entry.log, offset: entry.offset }} />
}

function FlowOf({ place }: { readonly place: TextPlace }): ReactNode {
  const { data, error, isPending } = useQuery(traceQuery(place))
  const { data: index } = useIndex(place.sessionId)
  const [isList, setIsList] = useState(false)
  useKeys('Provenance', [{ key: 'x', does: 'show as a list, or drawn', run: () => setIsList((before) => !before) }])
  if (isPending) return <Loading rows={3} height={90} />
  if (!data) return <Failure error={error} />
  return (
    <div className="prov">
      <div className="prov-bar">
        <span className="dim">
          {counted(data.sources.length, 'source')}, {counted(data.sinks.length, 'place')} after
          {data.more && '. A limit was reached: there may be more.'}
        </span>
        <span className="grow" />
        <button type="button" aria-pressed={isList} onClick={() => setIsList(!isList)}>
          {isList ? 'Draw' : 'List'} <kbd>x</kbd>
        </button>
      </div>
      {isList ? (
        <FlowList place={place} trace={data} index={index} />
      ) : (
        <FlowDrawn place={place} trace={data} index={index} />
      )}
      <p className="dim prov-key">
        <span className="prov-line text" aria-hidden /> these words are there{' '}
        <span className="prov-line label" aria-hidden /> made with data of the same origin
      </p>
    </div>
  )
}

interface Shown {
  readonly place: TextPlace
  readonly trace: TraceAnswer
  readonly index: SessionIndex | undefined
}

function FlowDrawn({ place, trace, index }: Shown): ReactNode {
  return (
    <div className="prov-columns">
      <section aria-label="Sources">
        <h3>Where they were before</h3>
        {trace.sources.length === 0 && <p className="dim">Nowhere: they enter the session here.</p>}
        {trace.sources.map((one) => (
          <PlaceCard key={keyOf(one)} sessionId={place.sessionId} place={one} index={index} side="source" />
        ))}
      </section>
      <section aria-label="Selected words" className="prov-selected">
        <h3>Selected</h3>
        <Block label="Selected words">{trace.text}</Block>
        <LabelChips label={trace.label} />
        {trace.label.sources.length > 0 && (
          <p className="dim">
            The whole entry comes from <Words limit={300}>{trace.label.sources.join(', ')}</Words>.
          </p>
        )}
        <PlaceLink sessionId={place.sessionId} log={place.log} offset={place.offset} index={index} />
      </section>
      <section aria-label="Places after">
        <h3>Where they went</h3>
        {trace.sinks.length === 0 && <p className="dim">Nowhere.</p>}
        {trace.sinks.map((one) => (
          <PlaceCard key={keyOf(one)} sessionId={place.sessionId} place={one} index={index} side="sink" />
        ))}
      </section>
    </div>
  )
}

function PlaceCard({
  sessionId,
  place,
  index,
  side,
}: {
  readonly sessionId: string
  readonly place: TracePlace
  readonly index: SessionIndex | undefined
  readonly side: 'source' | 'sink'
}): ReactNode {
  const { log, offset, kind, view, excerpt, pointer } = place
  return (
    <article className={`prov-card ${side} ${kind}`}>
      <PlaceLink sessionId={sessionId} log={log} offset={offset} index={index} />
      {kind === 'text' && (
        <p className="dim">
          <code>
            <Words limit={80}>{pointer}</Words>
          </code>
          {view !== 'verbatim' && (
            <>
              {' '}
              <span className="chip">
                <Words limit={60}>{view}</Words>
              </span>
            </>
          )}
        </p>
      )}
      <p className={kind === 'text' ? 'prov-excerpt' : 'dim'}>
        {kind === 'label' && 'Same sources: '}
        <Words limit={400}>{excerpt}</Words>
      </p>
    </article>
  )
}

function PlaceLink({
  sessionId,
  log,
  offset,
  index,
}: {
  readonly sessionId: string
  readonly log: string
  readonly offset: number
  readonly index: SessionIndex | undefined
}): ReactNode {
  const entry = index?.get(log)?.entries[offset - 1]
  const words = entry && wordsOf(entry)
  return (
    <p>
      <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'timeline' }} search={{ log, entry: offset }}>
        {words ? (
          <>
            <Icon name={words.icon} /> <Words limit={120}>{words.title}</Words>
          </>
        ) : (
          'entry'
        )}
      </Link>{' '}
      <span className="dim">
        entry {offset}
        {entry && (
          <>
            {' '}
            of <Words limit={40}>{entry.agent}</Words>
          </>
        )}
      </span>
    </p>
  )
}

function FlowList({ place, trace, index }: Shown): ReactNode {
  const rows = [
    ...trace.sources.map((one) => ['before', one] as const),
    ...trace.sinks.map((one) => ['after', one] as const),
  ]
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Places of the selected words">
      <table>
        <caption className="sr">Places of the selected words</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Entry</th>
            <th scope="col">How</th>
            <th scope="col">Words</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([when, one]) => (
            <tr key={`${when} ${keyOf(one)}`}>
              <td>{when}</td>
              <td>
                <PlaceLink sessionId={place.sessionId} log={one.log} offset={one.offset} index={index} />
              </td>
              <td>
                {one.kind === 'label' ? 'made with data of the same origin' : <Words limit={60}>{one.view}</Words>}
              </td>
              <td>
                <Words limit={300}>{one.excerpt}</Words>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="dim">The words are nowhere else.</p>}
    </div>
  )
}

function keyOf({ log, offset, pointer, start, kind }: TracePlace): string {
  return `${log} ${offset} ${pointer} ${start} ${kind}`
}
