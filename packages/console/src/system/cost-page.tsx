import type { CostAnswer } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { brief, count, counted, dollars } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'

import '../entries/table.css'
import './system.css'

type By = CostAnswer['by']

const costQuery = (by: By) =>
  queryOptions({
    queryKey: ['cost', by] as const,
    queryFn: ({ signal }) => consoleApi.cost({ by }, signal),
    staleTime: 10_000,
  })

const sums = ['day', 'agent', 'model'] as const

/** Tokens and US dollars of all sessions, by day, agent or model. */
export function CostPage(): ReactNode {
  const [by, setBy] = useState<By>('day')
  const { data, error, isPending } = useQuery(costQuery(by))
  return (
    <main id="main" tabIndex={-1} className="page system">
      <div className="bar">
        <h1>Cost</h1>
        <div role="group" aria-label="Sums by" className="buttons">
          {sums.map((name) => (
            <button key={name} type="button" aria-pressed={by === name} onClick={() => setBy(name)}>
              by {name}
            </button>
          ))}
        </div>
        {data && (
          <span className="dim" role="status">
            {counted(data.sessions, 'session')}
            {data.more ? ' and more that are not counted' : ''}
          </span>
        )}
      </div>
      {isPending && <Loading />}
      {error && <Failure error={error} />}
      {data && data.rows.length === 0 && <Empty title="No model was called yet." />}
      {data && data.rows.length > 0 && <CostTable answer={data} />}
    </main>
  )
}

function CostTable({ answer: { by, rows } }: { readonly answer: CostAnswer }): ReactNode {
  const tokens = ({ inputTokens = 0, outputTokens = 0 }: CostAnswer['rows'][number]['usage']): number =>
    inputTokens + outputTokens
  const most = Math.max(1, ...rows.map(({ usage }) => tokens(usage)))
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={`Cost by ${by}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{by === 'day' ? 'Day (UTC)' : by === 'agent' ? 'Agent' : 'Model'}</th>
            <th scope="col" className="number">
              Cost
            </th>
            <th scope="col" className="number">
              Tokens in
            </th>
            <th scope="col" className="number">
              from cache
            </th>
            <th scope="col" className="number">
              out
            </th>
            <th scope="col" className="number">
              of it discarded
            </th>
            <th scope="col">Share of tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, usage, discarded, cost, unpriced }) => (
            <tr key={name}>
              <td>{by === 'day' ? <time>{name}</time> : <Words limit={100}>{name}</Words>}</td>
              <td className="number">{dollars(cost, unpriced)}</td>
              <td className="number">{brief(usage.inputTokens ?? 0)}</td>
              <td className="number dim">{brief(usage.cacheReadTokens ?? 0)}</td>
              <td className="number">{brief(usage.outputTokens ?? 0)}</td>
              <td className={tokens(discarded) > 0 ? 'number hot' : 'number dim'}>{brief(tokens(discarded))}</td>
              <td>
                <meter min={0} max={most} value={tokens(usage)} aria-label={`${count(tokens(usage))} tokens`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
