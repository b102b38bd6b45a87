import type { SystemAnswer } from '@provost/server/console'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { showToast } from '../frame/toast.tsx'
import { Ago, useNow } from '../look/ago.tsx'
import { count, duration, moment } from '../look/measures.ts'
import { Empty, Failure, Loading, problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery, queries, releaseSession } from '../wire/queries.ts'

import '../entries/table.css'
import './system.css'

const systemQuery = queryOptions({
  queryKey: ['system'],
  queryFn: ({ signal }) => consoleApi.system(signal),
  refetchInterval: 5_000,
  staleTime: 0,
})

/** This process, the processes at work, the runs in progress, what is due, and sessions in quarantine. */
export function SystemPage(): ReactNode {
  const { data: access } = useQuery(accessQuery)
  return (
    <main id="main" tabIndex={-1} className="page system">
      <div className="bar">
        <h1>System</h1>
      </div>
      {access && access.role !== 'operate' ? (
        <Empty title="The system is for the role operate.">
          <p>
            You have the role <code>{access.role}</code>.
          </p>
        </Empty>
      ) : (
        <System />
      )}
    </main>
  )
}

function System(): ReactNode {
  const { data, error, isPending } = useQuery(systemQuery)
  if (isPending) return <Loading />
  return (
    <>
      {error && <Failure error={error} />}
      {data && (
        <>
          <Process {...data} />
          <Processes {...data} />
          <Leases {...data} />
          <Due due={data.due} />
          <Quarantined quarantined={data.quarantined} />
        </>
      )}
    </>
  )
}

function Process({ process, store }: SystemAnswer): ReactNode {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Host and process', <Words limit={110}>{process.name}</Words>],
    ['Runs here', count(process.running.length)],
    ['Room for', `${count(process.room)} more`],
    ['Runs are woken by', process.engine === 'none' ? 'the store' : process.engine],
    ['Started', <Ago key="started" at={process.startedAt} />],
    ['Open consoles', count(process.feeds)],
    ['Store', store.kind === 'process' ? 'in this process' : store.kind],
    ['Summaries', store.summaries === 'stored' ? 'in the store' : 'in memory'],
  ]
  return (
    <section aria-label="This process">
      <h2>This process</h2>
      <dl className="facts-list">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function SessionLink({ id }: { readonly id: string }): ReactNode {
  return (
    <Link to="/sessions/$id/$view" params={{ id, view: 'timeline' }}>
      <Words limit={80}>{id}</Words>
    </Link>
  )
}

/** Columns whose values are numbers. */
const numeric: ReadonlySet<string> = new Set(['Runs', 'Takeovers'])

/** A table that scrolls by itself, or what to say where it has no rows. */
function Table({
  label,
  empty,
  columns,
  children,
}: {
  readonly label: string
  readonly empty: string
  readonly columns: readonly string[]
  readonly children: readonly ReactNode[]
}): ReactNode {
  if (children.length === 0) return <p className="dim">{empty}</p>
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" className={numeric.has(name) ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

function Processes({ process, processes }: SystemAnswer): ReactNode {
  return (
    <section aria-label="Processes at work">
      <h2>Processes that hold runs</h2>
      <Table
        label="Processes that hold runs"
        empty="No process holds a run."
        columns={['Host and process', 'State', 'Runs', 'Taken or renewed']}
      >
        {processes.map(({ name, state, runs, renewedAt }) => (
          <tr key={name}>
            <td>
              <Words limit={110}>{name}</Words>
              {name === process.name && <span className="dim"> (this one)</span>}
            </td>
            <td className={state === 'silent' ? 'hot' : ''}>{state}</td>
            <td className="number">{count(runs)}</td>
            <td>
              <Ago at={renewedAt} />
            </td>
          </tr>
        ))}
      </Table>
      <p className="dim">
        From the leases of runs in progress: a process without a run holds none, and is not listed. A silent one did not
        renew in time; another takes over what it left.
      </p>
    </section>
  )
}

function Leases({ leases, process }: SystemAnswer): ReactNode {
  const isHere = new Set(process.running)
  const words = {
    none: 'due: no process has it',
    alive: 'another process has it',
    lapsed: 'due: its process is silent',
  }
  return (
    <section aria-label="Runs in progress">
      <h2>Runs in progress, of all processes</h2>
      <Table
        label="Runs in progress"
        empty="No run is in progress."
        columns={['Session', 'Agent', 'Lease', 'Process', 'Takeovers']}
      >
        {leases.map(({ sessionId, agent, holder, process: owner, takeovers }) => (
          <tr key={sessionId}>
            <td>
              <SessionLink id={sessionId} />
            </td>
            <td>
              <Words limit={60}>{agent}</Words>
            </td>
            <td className={holder === 'alive' ? '' : 'hot'}>
              {isHere.has(sessionId) ? 'this process has it' : words[holder]}
            </td>
            <td>{owner === undefined ? '' : <Words limit={110}>{owner}</Words>}</td>
            <td className="number">{takeovers}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Due({ due }: Pick<SystemAnswer, 'due'>): ReactNode {
  return (
    <section aria-label="Due">
      <h2>Due at a certain time</h2>
      <Table
        label="Sessions that are due"
        empty="No session waits for a time: answers wake those that wait."
        columns={['Session', 'Agent', 'Waits for', 'Due']}
      >
        {due.map(({ sessionId, agent, at, waits }) => (
          <tr key={sessionId}>
            <td>
              <SessionLink id={sessionId} />
            </td>
            <td>
              <Words limit={60}>{agent}</Words>
            </td>
            <td>{waits.length === 0 ? 'a time' : waits.join(', ')}</td>
            <td>
              <DueIn at={at} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function DueIn({ at }: { readonly at: number }): ReactNode {
  const left = at - useNow()
  return (
    <time className={left > 0 ? '' : 'hot'} dateTime={new Date(at).toISOString()} title={moment(at)}>
      {left > 0 ? `in ${duration(left)}` : 'now'}
    </time>
  )
}

function Quarantined({ quarantined }: Pick<SystemAnswer, 'quarantined'>): ReactNode {
  const release = useMutation({
    mutationFn: (id: string) => releaseSession(id),
    onSuccess: (released, id) =>
      showToast({
        id: `release ${id}`,
        text: released ? 'Released. A process with its agent resumes the run.' : 'It was not in quarantine any more.',
      }),
    // Another operator may have released it.
    onError: () => queries.invalidateQueries({ queryKey: systemQuery.queryKey }),
  })
  return (
    <section aria-label="Quarantine">
      <h2>Quarantine</h2>
      {quarantined.length === 0 && <p className="dim">No session is in quarantine: none killed its processes.</p>}
      {release.error && (
        <p className="hot" role="alert">
          <Words limit={400}>{problemLine(release.error)}</Words>
        </p>
      )}
      <ul className="quarantined">
        {quarantined.map(({ sessionId, agent, updatedAt }) => (
          <li key={sessionId}>
            <SessionLink id={sessionId} /> <Words limit={60}>{agent}</Words> <Ago at={updatedAt} />
            <button
              type="button"
              disabled={release.isPending && release.variables === sessionId}
              onClick={() => release.mutate(sessionId)}
            >
              {release.isPending && release.variables === sessionId
                ? 'Releasing…'
                : 'Release it, so that its run is resumed'}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
