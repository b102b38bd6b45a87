import type { VerdictRow } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { count, counted } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { mostJudged, PolicyEditor } from './policy-editor.tsx'

const days = { day: 1, week: 7, month: 30 } as const
type Span = keyof typeof days | 'all'
const dayMs = 86_400_000

const policyQuery = (span: Span) =>
  queryOptions({
    queryKey: ['policy', span] as const,
    queryFn: ({ signal }) => consoleApi.policy(span === 'all' ? {} : { from: Date.now() - days[span] * dayMs }, signal),
    staleTime: 10_000,
  })

const judgedQuery = (span: Span, rule: string | undefined) =>
  queryOptions({
    queryKey: ['policy', span, 'sessions', rule] as const,
    queryFn: ({ signal }) =>
      consoleApi.sessions(
        { ...(span !== 'all' && { from: Date.now() - days[span] * dayMs }), rule, limit: mostJudged },
        signal,
      ),
    staleTime: 10_000,
  })

/** What the rules decided in all sessions, and what other rules would have. */
export function PolicyPage(): ReactNode {
  const [span, setSpan] = useState<Span>('week')
  const [rule, setRule] = useState<string>()
  const { data, error, isPending } = useQuery(policyQuery(span))
  const judged = useQuery(judgedQuery(span, rule))
  const tools = [...new Set(data?.rows.map(({ toolName }) => toolName).filter(Boolean))]
  return (
    <main id="main" tabIndex={-1} className="page policy">
      <div className="bar">
        <h1>Policy</h1>
        <label>
          Sessions of{' '}
          <select value={span} onChange={({ target }) => setSpan(asSpan(target.value))}>
            <option value="day">the last day</option>
            <option value="week">the last 7 days</option>
            <option value="month">the last 30 days</option>
            <option value="all">all time</option>
          </select>
        </label>
        {data && (
          <span className="dim" role="status">
            {counted(data.sessions, 'session')}
            {data.more ? ' and more: choose a shorter time' : ''}
          </span>
        )}
      </div>
      {isPending && <Loading />}
      {error && <Failure error={error} />}
      {data && data.rows.length === 0 && (
        <Empty title="No call was judged in this time.">
          <p>
            Calls that write or send are judged by the extensions of an agent, such as <code>dataFlowPolicy</code>.
          </p>
        </Empty>
      )}
      {data && data.rows.length > 0 && (
        <Counts rows={data.rows} chosen={rule} choose={(name) => setRule(name === rule ? undefined : name)} />
      )}
      {rule !== undefined && (
        <section className="cases" aria-label="Sessions of the rule">
          <h2>
            Sessions in which <Words limit={80}>{rule}</Words> decided
          </h2>
          <ul>
            {(judged.data?.sessions ?? []).slice(0, 20).map(({ id, title }) => (
              <li key={id}>
                <Link to="/sessions/$id/$view" params={{ id, view: 'policy' }}>
                  <Words limit={120}>{title === '' ? id : title}</Words>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      {judged.data && <PolicyEditor sessions={judged.data.sessions.map(({ id }) => id)} tools={tools} />}
    </main>
  )
}

function asSpan(text: string): Span {
  return text === 'day' || text === 'week' || text === 'month' ? text : 'all'
}

function Counts({
  rows,
  chosen,
  choose,
}: {
  readonly rows: readonly VerdictRow[]
  readonly chosen: string | undefined
  choose(rule: string): void
}): ReactNode {
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Decisions by rule and tool">
      <table>
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">Tool</th>
            {['Allowed', 'Asked', 'Approved', 'Refused', 'Denied', 'Flagged', 'Declassified'].map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
            <th scope="col">Approved of answered</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.rule} ${row.toolName}`}>
              <td>
                <button
                  type="button"
                  className="link"
                  aria-pressed={row.rule === chosen}
                  onClick={() => choose(row.rule)}
                >
                  <Words limit={60}>{row.rule}</Words>
                </button>
              </td>
              <td>
                <Words limit={60}>{row.toolName === '' ? 'answers' : row.toolName}</Words>
              </td>
              {[row.allowed, row.asked, row.approved, row.refused, row.denied, row.flagged, row.declassified].map(
                (value, n) => (
                  <td key={n} className={value === 0 ? 'number dim' : 'number'}>
                    {count(value)}
                  </td>
                ),
              )}
              <td>
                <Rate {...row} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Answers from which on a rate says something. */
const enough = 5

function Rate({ approved, refused }: Pick<VerdictRow, 'approved' | 'refused'>): ReactNode {
  const answered = approved + refused
  if (answered === 0) return <span className="dim">none answered</span>
  const share = approved / answered
  return (
    <span className="rate">
      <meter min={0} max={1} value={share} aria-label="Approved of answered" /> {Math.round(share * 100)} %
      {answered >= enough && share === 1 && <span className="hot"> always: readers stop reading</span>}
    </span>
  )
}
