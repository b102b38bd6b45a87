import type { StateAnswer } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef } from 'react'

import { EntryView } from '../entries/entry-view.tsx'
import { wordsOf } from '../entries/entry-words.ts'
import type { SessionIndex } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { MessagePart } from '../entries/value-view.tsx'
import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { brief, count, dollars } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { Compare } from './compare.tsx'
import { ForkForm } from './fork-form.tsx'
import { OverrideWords } from './override-words.tsx'
import { stateQuery } from './state-query.ts'

import './travel.css'

/** The state of a session at any entry, forks from there, and the comparison with a fork. */
export function Travel({ sessionId, session }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  const { with: other } = useSearch({ from: '/sessions/$id/$view' })
  if (isPending) return <Loading />
  if (!data) return <Failure error={error} />
  if (other !== undefined) return <Compare a={sessionId} b={other} index={data} />
  return <TravelIn sessionId={sessionId} index={data} forkedFrom={session?.forkedFrom} />
}

function TravelIn({
  sessionId,
  index,
  forkedFrom,
}: {
  readonly sessionId: string
  readonly index: SessionIndex
  readonly forkedFrom: string | undefined
}): ReactNode {
  const search = useSearch({ from: '/sessions/$id/$view' })
  const navigate = useNavigate({ from: '/sessions/$id/$view' })
  const log = search.log !== undefined && index.has(search.log) ? search.log : sessionId
  const entries = index.get(log)?.entries ?? []
  const last = entries.length
  const at = Math.min(last, Math.max(1, search.entry ?? last))
  const state = useQuery({ ...stateQuery(sessionId, log, at), enabled: last > 0 })
  const slider = useRef<HTMLInputElement>(null)
  const go = (to: number, where = log): void =>
    void navigate({
      search: { ...search, log: where === sessionId ? undefined : where, entry: to },
      replace: true,
    })
  useKeys('Time travel', [
    { key: '[', does: 'to the entry before', run: () => go(Math.max(1, at - 1)) },
    { key: ']', does: 'to the next entry', run: () => go(Math.min(last, at + 1)) },
    { key: 'e', does: 'to the slider', run: () => slider.current?.focus() },
  ])
  if (last === 0) return <Empty title="Nothing has happened in this session yet." />
  const entry = entries[at - 1]
  const words = entry && wordsOf(entry)
  return (
    <div className="travel">
      <div className="travel-bar">
        {index.size > 1 && (
          <label>
            Log{' '}
            <select
              value={log}
              onChange={({ target }) => go(index.get(target.value)?.entries.length ?? 1, target.value)}
            >
              {[...index.values()].slice(0, mostLogs).map((one, n) => (
                <option key={one.log} value={one.log}>
                  {n === 0 ? 'session' : `${one.agent} ${n}`}
                </option>
              ))}
            </select>
          </label>
        )}
        <button type="button" onClick={() => go(at - 1)} disabled={at <= 1}>
          <Icon name="left" title="To the entry before" />
        </button>
        <input
          ref={slider}
          type="range"
          min={1}
          max={last}
          value={at}
          aria-label="Entry"
          aria-valuetext={`entry ${at} of ${last}: ${words?.title ?? ''}`}
          onChange={({ target }) => go(target.valueAsNumber)}
        />
        <button type="button" onClick={() => go(at + 1)} disabled={at >= last}>
          <Icon name="right" title="To the next entry" />
        </button>
        <span className="travel-at">
          entry {count(at)} of {count(last)}
        </span>
      </div>
      <div className="travel-columns">
        <section aria-label="State" aria-busy={state.isPlaceholderData}>
          {state.isPending && <Loading rows={4} />}
          {state.error && <Failure error={state.error} />}
          {state.data && <StateView sessionId={sessionId} state={state.data} />}
        </section>
        <section aria-label="Entry and fork">
          {entry && <EntryView place={{ sessionId, log, offset: at }} title={words?.title ?? entry.type} />}
          {log === sessionId ? (
            <ForkForm key={at} sessionId={sessionId} at={at} entry={entry} state={state.data} />
          ) : (
            <p className="dim">A fork is made of the log of the session. Choose it above.</p>
          )}
          {forkedFrom !== undefined && (
            <button type="button" onClick={() => void navigate({ search: { ...search, with: forkedFrom } })}>
              Compare with the session that it is a fork of
            </button>
          )}
        </section>
      </div>
    </div>
  )
}

/** Logs that the choice names. */
const mostLogs = 200

function StateView({ sessionId, state }: { readonly sessionId: string; readonly state: StateAnswer }): ReactNode {
  const { status, agent, step, usage, cost, label, pending, calls, view, earlier, log, at, overrides } = state
  return (
    <>
      <h2>What the model would receive next</h2>
      <p className="travel-facts dim">
        <span>{status}</span>
        <span>
          <Words limit={60}>{agent}</Words>, step {step}
        </span>
        <span>
          {brief(usage.inputTokens ?? 0)} tokens in, {brief(usage.outputTokens ?? 0)} out
        </span>
        {cost !== undefined && <span>{dollars(cost)}</span>}
        <LabelChips label={label} />
      </p>
      <OverrideWords overrides={overrides} />
      {pending.map(({ kind, wait }) => (
        <p key={wait.id} className="travel-open">
          waits for {kind}: <Words limit={120}>{wait.toolName}</Words>
        </p>
      ))}
      {calls.map(({ callId, toolName, stage }) => (
        <p key={callId} className="travel-open">
          open call: <Words limit={120}>{toolName}</Words> <span className="dim">({stage})</span>
        </p>
      ))}
      {earlier > 0 && <p className="dim">{count(earlier)} messages before these.</p>}
      {view.length === 0 && <p className="dim">No message yet.</p>}
      <ol className="travel-view">
        {view.map((message) => (
          <li key={message.id}>
            <p className="dim">
              {message.role} {message.agent !== undefined && <Words limit={60}>{message.agent}</Words>}{' '}
              <LabelChips label={message.label} />
            </p>
            {message.content.map((part, n) => (
              <MessagePart key={n} sessionId={sessionId} log={log} at={at} part={part} />
            ))}
          </li>
        ))}
      </ol>
    </>
  )
}
