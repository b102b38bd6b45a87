import type { MemoriesAnswer } from '@provost/server/console'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { LabelChips } from '../look/label-chips.tsx'
import { count, moment } from '../look/measures.ts'
import { Empty, Failure, Loading, problemLine } from '../look/states.tsx'
import { Block, Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery, queries } from '../wire/queries.ts'

import './memories.css'

type Item = MemoriesAnswer['items'][number]

const memoriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id, 'memories'] as const,
    queryFn: ({ signal }) => consoleApi.memories(id, signal),
    staleTime: 0,
  })

/** What the agents of a session may recall: whose it is, and from what. */
export function Memories({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useQuery(memoriesQuery(sessionId))
  const [filter, setFilter] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useKeys('Memory', [{ key: '/', does: 'filter the items', run: () => field.current?.focus() }])
  if (isPending) return <Loading />
  if (!data) return <Failure error={error} />
  if (data.memories.length === 0) {
    return (
      <Empty title="The server shows no memory here.">
        <p>
          Name the memories of your agents: <code>{'createServer({ memories: { notes: memory } })'}</code>
        </p>
      </Empty>
    )
  }
  const wanted = filter.trim().toLowerCase()
  const items = data.items.filter(({ text, source, kind, key = '' }) =>
    [text, source, kind, key].some((one) => one.toLowerCase().includes(wanted)),
  )
  return (
    <div className="memories">
      <div className="bar">
        <label>
          Filter{' '}
          <input
            ref={field}
            type="search"
            value={filter}
            onChange={({ target }) => setFilter(target.value)}
            onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
          />
        </label>
        <span className="dim" role="status">
          {count(items.length)} of {count(data.items.length)} items{data.more && ', and more that are not shown'}
        </span>
      </div>
      {error && <Failure error={error} />}
      {data.items.length === 0 && <Empty title="The agents of this session remember nothing." />}
      {data.items.length > 0 && items.length === 0 && <Empty title="No item matches this filter." />}
      <ul className="memory-items">
        {items.map((item) => (
          <li key={`${item.memory} ${item.id}`}>
            <MemoryItem sessionId={sessionId} item={item} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function stateWords({ state, supersededBy }: Item): string {
  if (state === 'live') return 'recalled'
  if (state === 'quarantined') return 'not recalled until it is confirmed'
  return supersededBy === undefined ? 'no longer valid' : 'superseded'
}

function MemoryItem({ sessionId, item }: { readonly sessionId: string; readonly item: Item }): ReactNode {
  const { memory, kind, text, label, source, at, state, validTo, key, speaker, confirmedBy, sessionId: origin } = item
  return (
    <article aria-label={`${kind} of ${ownerOf(item)}`}>
      <p className="memory-head">
        <strong>{kind}</strong>
        <span>
          of <Words limit={120}>{ownerOf(item)}</Words>
        </span>
        <span className={state === 'quarantined' ? 'hot' : 'dim'}>{stateWords(item)}</span>
        <LabelChips label={label} />
      </p>
      <Block label={`Text of the ${kind}`}>{text}</Block>
      <dl className="memory-facts">
        <div>
          <dt>From</dt>
          <dd>
            <Words limit={300}>{source}</Words>
            {speaker !== undefined && (
              <>
                , said by <Words limit={100}>{speaker}</Words>
              </>
            )}
          </dd>
        </div>
        {origin !== undefined && (
          <div>
            <dt>Session</dt>
            <dd>
              {origin === sessionId ? (
                'this one'
              ) : (
                <Link to="/sessions/$id" params={{ id: origin }}>
                  <Words limit={60}>{origin}</Words>
                </Link>
              )}
            </dd>
          </div>
        )}
        {key !== undefined && (
          <div>
            <dt>Subject</dt>
            <dd>
              <Words limit={200}>{key}</Words>
            </dd>
          </div>
        )}
        {confirmedBy !== undefined && (
          <div>
            <dt>Confirmed by</dt>
            <dd>
              <Words limit={100}>{confirmedBy}</Words>
            </dd>
          </div>
        )}
        <div>
          <dt>Stored</dt>
          <dd>
            <time dateTime={new Date(at).toISOString()}>{moment(at)}</time> in <Words limit={100}>{memory}</Words>
          </dd>
        </div>
        {state === 'live' && validTo !== undefined && (
          <div>
            <dt>Valid until</dt>
            <dd>
              <time dateTime={new Date(validTo).toISOString()}>{moment(validTo)}</time>
            </dd>
          </div>
        )}
      </dl>
      <Forget sessionId={sessionId} item={item} />
    </article>
  )
}

function ownerOf({ scope: { kind, id } }: Item): string {
  if (kind === 'shared') return id === undefined ? 'all users' : `the team ${id}`
  return kind === 'session' ? 'this session' : `the ${kind} ${id ?? ''}`
}

/** Removes an item, after a second press. */
function Forget({ sessionId, item }: { readonly sessionId: string; readonly item: Item }): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const [asks, setAsks] = useState(false)
  const forget = useMutation({
    mutationFn: () => consoleApi.forget(sessionId, { memory: item.memory, id: item.id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: memoriesQuery(sessionId).queryKey }),
  })
  if (access?.role !== 'operate') return null
  return (
    <div className="buttons" role="group" aria-label="Forget">
      {!asks && (
        <button type="button" onClick={() => setAsks(true)}>
          Forget…
        </button>
      )}
      {asks && (
        <>
          <button type="button" className="danger" disabled={forget.isPending} onClick={() => forget.mutate()}>
            Forget it for good
          </button>
          <button type="button" className="quiet" autoFocus onClick={() => setAsks(false)}>
            Keep it
          </button>
        </>
      )}
      <span role="status" className="hot">
        {forget.error && <Words limit={400}>{problemLine(forget.error)}</Words>}
      </span>
    </div>
  )
}
