import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMemo } from 'react'

import { useIndex } from '../entries/session-index.ts'
import { SplitList } from '../entries/split-list.tsx'
import { Icon } from '../look/icon.tsx'
import { counted, duration, moment } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { ScriptDetail } from './script-detail.tsx'
import type { ScriptRun } from './script-run.ts'
import { scriptRuns } from './script-run.ts'

import './scripts.css'

/** The scripts that models wrote in code mode: what each calls, prints and returns. */
export function Scripts({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  const runs = useMemo(() => data && scriptRuns(data), [data])
  const search = useSearch({ from: '/sessions/$id/$view' })
  const navigate = useNavigate({ from: '/sessions/$id/$view' })
  if (isPending) return <Loading />
  if (!runs) return <Failure error={error} />
  if (runs.length === 0) {
    return (
      <Empty title="No script has run in this session.">
        <p>
          Agents with the extension <code>codeMode()</code> write scripts that call their tools.
        </p>
      </Empty>
    )
  }
  const wanted = runs.findIndex(({ asked, callId }) =>
    search.pointer === undefined
      ? asked.offset === search.entry && asked.log === (search.log ?? sessionId)
      : callId === search.pointer,
  )
  const at = wanted < 0 ? runs.length - 1 : wanted
  const run = runs[at]
  const select = (to: number): void => {
    const one = runs[to]
    if (!one) return
    const { log, offset } = one.asked
    const place = { log: log === sessionId ? undefined : log, entry: offset, pointer: one.callId }
    void navigate({ search: { ...search, ...place }, replace: true })
  }
  return (
    <div className="listed">
      <SplitList
        title="Scripts"
        at={at}
        onSelect={select}
        rows={runs.map((one) => ({ key: one.callId, agent: one.asked.agent, content: <RunRow run={one} /> }))}
      />
      {run && <ScriptDetail key={run.callId} sessionId={sessionId} run={run} />}
    </div>
  )
}

const icons = { ok: 'check', failed: 'cross', waits: 'pause', running: 'ring', 'not run': 'cross' } as const

function RunRow({ run: { asked, state, calls, settled } }: { readonly run: ScriptRun }): ReactNode {
  return (
    <>
      <span className={state === 'failed' ? 'hot' : ''}>
        <Icon name={icons[state]} /> {state}, {counted(calls.length, 'call')}
        {settled?.ms !== undefined && `, ${duration(settled.ms)}`}
      </span>
      <span className="dim">
        <Words limit={60}>{asked.agent}</Words>, step {asked.step} ·{' '}
        <time dateTime={new Date(asked.at).toISOString()}>{moment(asked.at)}</time>
      </span>
    </>
  )
}
