import type { CompareAnswer } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { EntryView } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import { hueStyle } from '../entries/hue-style.ts'
import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { Icon } from '../look/icon.tsx'
import { brief, count, counted, dollars } from '../look/measures.ts'
import { Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { OverrideWords } from './override-words.tsx'

const compareQuery = (a: string, b: string) =>
  queryOptions({
    queryKey: ['session', b, 'compare', a] as const,
    queryFn: ({ signal }) => consoleApi.compare({ a, b }, signal),
    staleTime: 0,
  })

/** Two sessions side by side, from the first entry that differs. */
export function Compare({
  a,
  b,
  index,
}: {
  readonly a: string
  readonly b: string
  readonly index: SessionIndex
}): ReactNode {
  const { data, error, isPending } = useQuery(compareQuery(a, b))
  const other = useIndex(b)
  if (isPending) return <Loading />
  if (!data) return <Failure error={error} />
  const { common, first, sums, overrides } = data
  const isSame = first.a === null && first.b === null
  return (
    <div className="travel">
      <p className="compare-sum" role="status">
        {isSame
          ? `Both say the same, in ${count(common)} messages and results.`
          : `The first ${count(common)} messages and results are the same. Then they differ.`}{' '}
        <Link to="/sessions/$id/$view" params={{ id: a, view: 'travel' }} search={{}}>
          Back to time travel
        </Link>
      </p>
      <div className="travel-columns">
        <Side
          id={a}
          name="This session"
          row={sums.a}
          first={first.a}
          overrides={overrides.a}
          entries={index.get(a)?.entries ?? []}
        />
        <Side
          id={b}
          name={
            sums.b.forkedFrom === a ? 'Its fork' : sums.a.forkedFrom === b ? 'The session it is a fork of' : 'The other'
          }
          row={sums.b}
          first={first.b}
          overrides={overrides.b}
          entries={other.data?.get(b)?.entries ?? []}
        />
      </div>
    </div>
  )
}

const mostShown = 200

function Side({
  id,
  name,
  row,
  first,
  overrides,
  entries,
}: {
  readonly id: string
  readonly name: string
  readonly row: CompareAnswer['sums']['a']
  readonly first: CompareAnswer['first']['a']
  readonly overrides: CompareAnswer['overrides']['a']
  readonly entries: readonly IndexEntry[]
}): ReactNode {
  const from = first ? entries.slice(first.offset - 1) : []
  const firstTitle = from[0] ? wordsOf(from[0]).title : 'The first difference'
  return (
    <section aria-label={name} className="compare-side">
      <h2>
        <Link to="/sessions/$id/$view" params={{ id, view: 'timeline' }}>
          {name}
        </Link>
      </h2>
      <p className="travel-facts dim">
        <span>{row.status}</span>
        <span>{counted(row.steps, 'step')}</span>
        <span>
          {brief(row.usage.inputTokens ?? 0)} tokens in, {brief(row.usage.outputTokens ?? 0)} out
        </span>
        <span>{dollars(row.cost, row.unpriced)}</span>
      </p>
      <OverrideWords overrides={overrides} />
      {first ? (
        <>
          <h3>The first difference</h3>
          <EntryView place={{ sessionId: id, log: id, offset: first.offset }} title={firstTitle} />
        </>
      ) : (
        <p className="dim">It ends where the other goes on.</p>
      )}
      <ol className="compare-entries">
        {from.slice(0, mostShown).map((entry) => {
          const { icon, title, hot = false } = wordsOf(entry)
          return (
            <li key={entry.offset} style={hueStyle(entry.agent)}>
              <Link
                to="/sessions/$id/$view"
                params={{ id, view: 'timeline' }}
                search={{ entry: entry.offset }}
                className={hot ? 'hot' : ''}
              >
                <Icon name={icon} />
                <Words limit={120}>{title}</Words>
              </Link>{' '}
              <span className="dim">{entry.offset}</span>
            </li>
          )
        })}
      </ol>
      {from.length > mostShown && <p className="dim">{count(from.length - mostShown)} more entries</p>}
    </section>
  )
}
