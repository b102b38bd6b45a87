import type { ConsoleSession } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import { CatchBoundary, Link, Navigate, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Suspense } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { AgentFor } from '../look/agent-for.tsx'
import { brief, counted, dollars } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { sessionQuery } from '../wire/queries.ts'
import type { SessionView } from './session-view.ts'
import { StatusMark } from './status-mark.tsx'

/** One session: its head, the tabs of its views, and the view that the address names. */
export function SessionPage({ views }: { readonly views: readonly SessionView[] }): ReactNode {
  const { id, view } = useParams({ from: '/sessions/$id/$view' })
  const { data: session, error } = useQuery(sessionQuery(id))
  const navigate = useNavigate()
  useKeys('Session', [
    ...views.map(({ id: to, name, key }) => ({
      key: `v ${key}`,
      does: `show ${name}`,
      run: () => void navigate({ to: '/sessions/$id/$view', params: { id, view: to } }),
    })),
    { key: 'u', does: 'back to the sessions', run: () => void navigate({ to: '/sessions' }) },
  ])
  const shown = views.find((one) => one.id === view) ?? views[0]
  return (
    <main id="main" tabIndex={-1} className="session">
      <div className="session-head">
        <h1 className="clip">
          {session && session.title !== '' ? <Words limit={200}>{session.title}</Words> : 'Session'}
        </h1>
        {session && <Facts session={session} />}
        <nav className="tabs" aria-label="Views of the session">
          {views.map(({ id: to, name }) => (
            <Link key={to} to="/sessions/$id/$view" params={{ id, view: to }} activeOptions={{ includeSearch: false }}>
              {name}
            </Link>
          ))}
        </nav>
      </div>
      {session === null && !error && <Empty title="The server has no session of this id that you may read." />}
      {error && <Failure error={error} />}
      {session === undefined && !error && <Loading />}
      {session && (
        <CatchBoundary
          getResetKey={() => `${id} ${view}`}
          errorComponent={({ error: thrown, reset }) => <Failure error={thrown} retry={reset} />}
        >
          <Suspense fallback={<Loading />}>
            {shown ? (
              <shown.component key={id} sessionId={id} session={session} />
            ) : (
              <Empty title="A session has no such view." />
            )}
          </Suspense>
        </CatchBoundary>
      )}
    </main>
  )
}

/** Goes to a view of the session that the address names. */
export function ToView({ view }: { readonly view: string }): ReactNode {
  const { id } = useParams({ from: '/sessions/$id' })
  return <Navigate to="/sessions/$id/$view" params={{ id, view }} replace />
}

function Facts({ session }: { readonly session: ConsoleSession }): ReactNode {
  const { status, agent, principal, steps, usage, cost, unpriced, forkedFrom } = session
  return (
    <p className="dim facts">
      <StatusMark status={status} />
      <span>
        <AgentFor agent={agent} principal={principal} />
      </span>
      <span>{counted(steps, 'step')}</span>
      <span>
        {brief(usage.inputTokens ?? 0)} tokens in, {brief(usage.outputTokens ?? 0)} out
      </span>
      <span>{dollars(cost, unpriced)}</span>
      {forkedFrom !== undefined && (
        <Link to="/sessions/$id" params={{ id: forkedFrom }}>
          fork of <Words limit={60}>{forkedFrom}</Words>
        </Link>
      )}
    </p>
  )
}
