import { displayText, isRecord } from '@provost/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { useEntry } from '../entries/entry-query.ts'
import { EntryView } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import type { IndexEntry } from '../entries/indexed-log.ts'
import { useTrace } from '../entries/text-place.ts'
import { ValueView } from '../entries/value-view.tsx'
import { Fold } from '../look/fold.tsx'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { count, duration } from '../look/measures.ts'
import { Failure, Loading } from '../look/states.tsx'
import { Block, Words } from '../look/words.tsx'
import type { ScriptCall, ScriptRun } from './script-run.ts'

/** One script: its source, calls, output, result and journal. */
export function ScriptDetail({ sessionId, run }: { readonly sessionId: string; readonly run: ScriptRun }): ReactNode {
  const { asked, settled, calls, journal, state } = run
  return (
    <section className="listed-detail" tabIndex={0} aria-label="Script">
      {state === 'running' && <p role="status">It is running.</p>}
      {state === 'waits' && <p role="status">It waits: see the calls below, or the inbox.</p>}
      <Source sessionId={sessionId} run={run} />
      {settled && <Outcome sessionId={sessionId} entry={settled} />}
      <h3>Calls</h3>
      {calls.length === 0 && <p className="dim">It made no call.</p>}
      <ol className="listed-calls">
        {calls.slice(0, mostShown).map((call) => (
          <li key={call.callId}>
            <CallOf sessionId={sessionId} call={call} />
          </li>
        ))}
      </ol>
      {calls.length > mostShown && <p className="dim">{count(calls.length - mostShown)} more calls.</p>}
      <Fold summary={`Journal: ${count(journal.length)} entries from which a resumed run repeats the script`}>
        <ol className="listed-calls">
          {journal.slice(0, mostShown).map((entry) => (
            <li key={entry.offset}>
              <ToEntry sessionId={sessionId} entry={entry} />
            </li>
          ))}
        </ol>
        {journal.length > mostShown && <p className="dim">The log has {count(journal.length - mostShown)} more.</p>}
      </Fold>
      <ToEntry sessionId={sessionId} entry={asked} />
    </section>
  )
}

const mostShown = 300

function ToEntry({ sessionId, entry }: { readonly sessionId: string; readonly entry: IndexEntry }): ReactNode {
  const { icon, title, hot = false } = wordsOf(entry)
  return (
    <Link
      to="/sessions/$id/$view"
      params={{ id: sessionId, view: 'log' }}
      search={{ log: entry.log, entry: entry.offset }}
      className={hot ? 'hot' : ''}
    >
      <Icon name={icon} /> entry {entry.offset}: <Words limit={120}>{title}</Words>
    </Link>
  )
}

/** The script, with the line at which it failed. */
function Source({ sessionId, run }: { readonly sessionId: string; readonly run: ScriptRun }): ReactNode {
  const { log, offset } = run.asked
  const { data, error, isPending } = useEntry({ sessionId, log, offset })
  const end = useEntry({ sessionId, log, offset: run.settled?.offset ?? offset })
  if (isPending) return <Loading rows={4} height={20} />
  if (error) return <Failure error={error} />
  const source = sourceIn(data?.entry['message'], run.callId)
  if (source === undefined) return <p className="dim">The source is withheld.</p>
  const place = run.settled ? /\(line (\d+), column \d+\)/u.exec(errorIn(end.data?.entry) ?? '') : null
  const bad = place ? Number(place[1]) : undefined
  const isCut = data?.cut.some(({ pointer }) => pointer.endsWith('/source')) === true
  return (
    <>
      <h2>Source</h2>
      <pre className="block script-source" tabIndex={0} role="region" aria-label="Source of the script">
        {source.split('\n').map((line, n) => (
          <code key={n} className={n + 1 === bad ? 'line bad' : 'line'}>
            {displayText(line, { limit: longestLine })}
            {n + 1 === bad && <span className="sr"> (it failed in this line)</span>}
            {'\n'}
          </code>
        ))}
      </pre>
      {isCut && <p className="dim">The log has the rest of it.</p>}
    </>
  )
}

const longestLine = 4_000

function sourceIn(message: unknown, callId: string): string | undefined {
  const content = isRecord(message) && Array.isArray(message['content']) ? message['content'] : []
  const part: unknown = content.find((one: unknown) => isRecord(one) && one['callId'] === callId)
  const input = isRecord(part) ? part['input'] : undefined
  return isRecord(input) && typeof input['source'] === 'string' ? input['source'] : undefined
}

function errorIn(entry: unknown): string | undefined {
  const error = isRecord(entry) ? entry['error'] : undefined
  return isRecord(error) && typeof error['message'] === 'string' ? error['message'] : undefined
}

/** What it printed and returned, or why it failed. */
function Outcome({ sessionId, entry }: { readonly sessionId: string; readonly entry: IndexEntry }): ReactNode {
  const place = { sessionId, log: entry.log, offset: entry.offset }
  const { data, error, isPending } = useEntry(place)
  const trace = useTrace()
  // The page of entries that is known may be older than the index.
  if (isPending || data === null) return <Loading rows={2} height={20} />
  if (error) return <Failure error={error} />
  const output = data?.entry['output']
  const value = isRecord(output) ? output['value'] : undefined
  const failure = errorIn(data?.entry)
  const { result, logs }: Record<string, unknown> = isRecord(value) ? value : { result: value }
  const printed = Array.isArray(logs) ? logs : (failure?.split('\nIt printed:\n')[1]?.split('\n') ?? [])
  return (
    <>
      <p className="listed-facts dim">
        {entry.ms !== undefined && <span>{duration(entry.ms)}</span>}
        <LabelChips label={entry.label} />
      </p>
      {failure !== undefined && (
        <>
          <h3 className="hot">It failed</h3>
          <Block label="Error of the script">{failure.split('\nIt printed:\n')[0]}</Block>
        </>
      )}
      {failure === undefined && (
        <>
          <h3>Result</h3>
          <ValueView
            place={place}
            pointer={isRecord(value) ? '/output/value/result' : '/output/value'}
            value={result ?? null}
            cut={data?.cut ?? []}
            onTrace={trace}
          />
        </>
      )}
      {printed.length > 0 && (
        <>
          <h3>Printed</h3>
          <Block label="Output of console.log">{printed.map(String).join('\n')}</Block>
        </>
      )}
    </>
  )
}

function CallOf({ sessionId, call }: { readonly sessionId: string; readonly call: ScriptCall }): ReactNode {
  const { tool, planned, settled, wait } = call
  const outcome = settled ? (settled.detail.outcome ?? 'settled') : wait ? 'waits' : 'no result yet'
  const isHot = settled !== undefined && outcome !== 'ok'
  const parts = [planned, ...(settled ? [settled] : []), ...(wait ? [wait] : [])]
  return (
    <Fold
      summary={
        <>
          <Icon name={isHot ? 'cross' : settled ? 'check' : wait ? 'pause' : 'ring'} />{' '}
          <Words limit={120}>{tool}</Words> <span className={isHot ? 'hot' : 'dim'}>{outcome}</span>{' '}
          {settled?.ms !== undefined && <span className="dim">{duration(settled.ms)}</span>}{' '}
          <LabelChips label={settled?.label} />
        </>
      }
    >
      {parts.map((entry) => (
        <EntryView
          key={entry.offset}
          place={{ sessionId, log: entry.log, offset: entry.offset }}
          title={wordsOf(entry).title}
        />
      ))}
      {wait && (
        <Link to="/inbox" search={{}}>
          Answer it in the inbox
        </Link>
      )}
    </Fold>
  )
}
