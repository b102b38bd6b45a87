import type { SessionRow } from '@provost/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Ago } from '../look/ago.tsx'
import { count } from '../look/measures.ts'
import { Empty, Failure } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { apiUrl } from '../wire/connection.ts'
import { mostSessions, sessionsQuery } from '../wire/queries.ts'
import { StatusMark } from './status-mark.tsx'

const statuses = ['idle', 'running', 'suspended', 'failed', 'closed', 'quarantined']
const step = 100

/** Your sessions, the last changed first. */
export function SessionList(): ReactNode {
  const { q = '', status = '' } = useSearch({ from: '/sessions' })
  const navigate = useNavigate()
  const list = useRef<HTMLUListElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const [shown, setShown] = useState(step)
  const { data = [], error } = useQuery(sessionsQuery)
  const rows = data.filter((one) => `${one.id} ${one.agent}`.includes(q) && (status === '' || one.status === status))
  const narrow = (filter: { q?: string; status?: string }): void => {
    const next = { q, status, ...filter }
    void navigate({
      to: '/sessions',
      search: { q: next.q || undefined, status: next.status || undefined },
      replace: true,
    })
  }
  const move = (by: number): void => {
    const links = [...(list.current?.querySelectorAll<HTMLAnchorElement>('a') ?? [])]
    const at = links.findIndex((link) => link === document.activeElement)
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus()
  }
  useKeys('Sessions', [
    { key: 'j', also: ['ArrowDown'], does: 'next session', run: () => move(1) },
    { key: 'k', also: ['ArrowUp'], does: 'previous session', run: () => move(-1) },
    { key: '/', does: 'search', run: () => field.current?.focus() },
  ])
  return (
    <main id="main" tabIndex={-1} className="page">
      <div className="bar">
        <h1>Sessions</h1>
        <input
          ref={field}
          type="search"
          placeholder="Search ids and agents"
          aria-label="Search ids and agents"
          maxLength={200}
          value={q}
          onChange={({ currentTarget }) => narrow({ q: currentTarget.value })}
        />
        <select
          aria-label="Status"
          value={status}
          onChange={({ currentTarget }) => narrow({ status: currentTarget.value })}
        >
          <option value="">any status</option>
          {statuses.map((one) => (
            <option key={one} value={one}>
              {one === 'suspended' ? 'waits' : one}
            </option>
          ))}
        </select>
      </div>
      {error && <Failure error={error} />}
      {data.length === 0 && !error && <NoSessions />}
      {data.length > 0 && rows.length === 0 && <Empty title="No session matches this search." />}
      {data.length >= mostSessions && (
        <p className="dim more">The list has the first {count(mostSessions)} sessions.</p>
      )}
      <ul className="rows" ref={list} aria-label="Sessions, the last changed first">
        {rows.slice(0, shown).map((session) => (
          <Row key={session.id} session={session} />
        ))}
      </ul>
      {rows.length > shown && (
        <button type="button" className="more" onClick={() => setShown(shown + step)}>
          Older sessions
        </button>
      )}
    </main>
  )
}

function Row({ session: { id, agent, status, updatedAt } }: { readonly session: SessionRow }): ReactNode {
  return (
    <li>
      <Link to="/sessions/$id" params={{ id }} className="row">
        <StatusMark status={status} />
        <strong className="clip">
          <Words limit={100}>{agent}</Words>
        </strong>
        <code className="clip dim">
          <Words limit={200}>{id}</Words>
        </code>
        <Ago at={updatedAt} />
      </Link>
    </li>
  )
}

function NoSessions(): ReactNode {
  return (
    <Empty title="You have no sessions on this server yet.">
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
