import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMemo, useState } from 'react'

import { EntryView } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'
import { nameCalls } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { Fold } from '../look/fold.tsx'
import { Icon } from '../look/icon.tsx'
import { count, moment } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { PolicyEditor } from './policy-editor.tsx'

/** What was allowed, asked and denied in a session, and why. */
export function SessionPolicy({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  const decisions = useMemo(() => data && decisionsIn(data), [data])
  const [shown, setShown] = useState(atOnce)
  if (isPending) return <Loading />
  if (!decisions) return <Failure error={error} />
  const tools = [...new Set(decisions.flatMap(({ tool }) => (tool === undefined ? [] : [tool])))]
  return (
    <div className="policy session-policy">
      <h2>Decisions</h2>
      {decisions.length === 0 && <Empty title="Nothing was judged in this session." />}
      <ol className="decisions">
        {decisions.slice(0, shown).map(({ entry, tool }) => (
          <li key={`${entry.log} ${entry.offset}`}>
            <Fold summary={<Decision entry={entry} tool={tool} />}>
              <EntryView
                place={{ sessionId, log: entry.log, offset: entry.offset }}
                title={`${tool ?? 'answer'}: ${wordsOf(entry).title}`}
              />
              <Link
                to="/sessions/$id/$view"
                params={{ id: sessionId, view: 'timeline' }}
                search={{ log: entry.log, entry: entry.offset }}
              >
                Show it in the timeline
              </Link>
            </Fold>
          </li>
        ))}
      </ol>
      {decisions.length > shown && (
        <button type="button" onClick={() => setShown(shown + atOnce)}>
          Show {count(Math.min(atOnce, decisions.length - shown))} more of {count(decisions.length - shown)}
        </button>
      )}
      <PolicyEditor sessions={[sessionId]} tools={tools} />
    </div>
  )
}

/** Decisions that are shown at once: what another policy would do is below them. */
const atOnce = 50

function Decision({ entry, tool }: { readonly entry: IndexEntry; readonly tool: string | undefined }): ReactNode {
  const { type, op, name, detail, agent, at } = entry
  const verdict = type === 'audit' ? op : (detail.outcome ?? op)
  const isHot = verdict === 'deny' || verdict === 'blocked'
  const names: Readonly<Record<string, string>> = {
    proceed: 'allowed',
    ask: 'asked',
    deny: 'denied',
    result: 'answered',
  }
  return (
    <>
      <Icon name={isHot ? 'cross' : verdict === 'ask' ? 'pause' : type === 'audit' ? 'flag' : 'check'} />{' '}
      <strong className={isHot ? 'hot' : ''}>{names[verdict] ?? verdict}</strong>{' '}
      <Words limit={60}>{tool ?? 'an answer'}</Words>{' '}
      <span className="dim">
        by <Words limit={60}>{(type === 'audit' ? name : detail.by) ?? ''}</Words> · <Words limit={40}>{agent}</Words> ·{' '}
        <time dateTime={new Date(at).toISOString()}>{moment(at)}</time>
      </span>
    </>
  )
}

interface Judged {
  readonly entry: IndexEntry
  readonly tool: string | undefined
}

/** Returns the decisions of all logs. Calls that no rule had an objection to come last, since they explain least. */
function decisionsIn(index: SessionIndex): readonly Judged[] {
  const tools = new Map<string, string>()
  const noted: Judged[] = []
  const allowed: Judged[] = []
  for (const { entries } of index.values()) {
    for (const entry of entries) {
      nameCalls(tools, entry)
      const { type, op, callId, detail } = entry
      const tool = callId === undefined ? undefined : tools.get(callId)
      if (type === 'audit') noted.push({ entry, tool })
      else if (type === 'call' && op === 'decided')
        (detail.outcome === 'proceed' ? allowed : noted).push({ entry, tool })
    }
  }
  return [...noted, ...allowed]
}
