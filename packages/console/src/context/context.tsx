import type { StateAnswer } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMemo } from 'react'

import { useEntry } from '../entries/entry-query.ts'
import { EntryView } from '../entries/entry-view.tsx'
import type { IndexEntry, SessionIndex } from '../entries/indexed-log.ts'
import { useIndex } from '../entries/session-index.ts'
import { SplitList } from '../entries/split-list.tsx'
import { Fold } from '../look/fold.tsx'
import { Icon } from '../look/icon.tsx'
import { brief, count, counted, duration } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { SessionViewProps } from '../sessions/session-view.ts'
import { stateQuery } from '../travel/state-query.ts'
import { textOf } from '../wire/read-json.ts'
import { contextSteps } from './context-step.ts'
import type { ContextStep } from './context-step.ts'
import { historyChange, sizeOf } from './history-change.ts'
import { SentMessages } from './sent-messages.tsx'

import './context.css'

/** What the model received at each step, and what compactions made of it. */
export function Context({ sessionId }: SessionViewProps): ReactNode {
  const { data, error, isPending } = useIndex(sessionId)
  if (isPending) return <Loading />
  if (!data) return <Failure error={error} />
  return <ContextIn sessionId={sessionId} index={data} />
}

function ContextIn({ sessionId, index }: { readonly sessionId: string; readonly index: SessionIndex }): ReactNode {
  const steps = useMemo(() => contextSteps(index), [index])
  const search = useSearch({ from: '/sessions/$id/$view' })
  const navigate = useNavigate({ from: '/sessions/$id/$view' })
  if (steps.length === 0) return <Empty title="No model has received anything in this session yet." />
  const wanted = steps.findIndex(
    ({ entry }) => entry.offset === search.entry && entry.log === (search.log ?? sessionId),
  )
  const at = wanted < 0 ? steps.length - 1 : wanted
  const step = steps[at]
  const select = (to: number): void => {
    const { entry } = steps[to] ?? {}
    if (!entry) return
    const place = { log: entry.log === sessionId ? undefined : entry.log, entry: entry.offset }
    void navigate({ search: { ...search, ...place }, replace: true })
  }
  return (
    <div className="listed">
      <SplitList
        title="Steps"
        at={at}
        onSelect={select}
        rows={steps.map((one) => ({
          key: placeKey(one),
          agent: one.entry.agent,
          content: <StepRow step={one} />,
        }))}
      />
      {step?.kind === 'step' && <Received key={placeKey(step)} sessionId={sessionId} step={step} />}
      {step?.kind === 'view' && <Changed key={placeKey(step)} sessionId={sessionId} entry={step.entry} />}
    </div>
  )
}

function placeKey({ entry }: ContextStep): string {
  return `${entry.log} ${entry.offset}`
}

const changes: Readonly<Record<string, string>> = {
  compaction: 'Compaction',
  edit: 'Edit of the history',
  reset: 'Reset of the history',
}

function StepRow({ step: { kind, entry, tokensIn } }: { readonly step: ContextStep }): ReactNode {
  return (
    <>
      <span>
        <Icon name={kind === 'view' ? 'fold' : 'step'} />{' '}
        {kind === 'view' ? (changes[entry.op] ?? entry.op) : `Step ${count(entry.step)}`}
        {tokensIn !== undefined && `, ${brief(tokensIn)} tokens`}
      </span>
      <span className="dim">
        <Words limit={60}>{entry.agent}</Words>, entry {count(entry.offset)}
      </span>
    </>
  )
}

/** The messages of one request to the model. */
function Received({ sessionId, step }: { readonly sessionId: string; readonly step: ContextStep }): ReactNode {
  const { entry, tokensIn, tail } = step
  // The answer itself is the entry.
  const { data, error, isPending } = useQuery(stateQuery(sessionId, entry.log, Math.max(1, entry.offset - 1)))
  return (
    <section className="listed-detail" tabIndex={0} aria-label="What the model received">
      <h2>What the model received for step {count(entry.step)}</h2>
      {isPending && <Loading rows={4} />}
      {error && <Failure error={error} />}
      {data && (
        <>
          <p className="listed-facts dim">
            <span>{counted(sizeOf(data), 'message')}</span>
            {tokensIn !== undefined && <span>{brief(tokensIn)} tokens in all, as the provider counted them</span>}
          </p>
          <p className="dim">
            The instructions and tools of the agent come first. The log has their hashes, not their text
            {data.overrides?.promptText === undefined ? '.' : ', except for the instructions of this fork.'}
          </p>
          {data.earlier > 0 && <p className="dim">{counted(data.earlier, 'message')} before these.</p>}
          <SentMessages sessionId={sessionId} log={entry.log} at={data.at} messages={data.view} />
          {tail && <Tail sessionId={sessionId} entry={tail} />}
        </>
      )}
    </section>
  )
}

/** What extensions added behind the history for one request, such as what a memory recalled. */
function Tail({ sessionId, entry }: { readonly sessionId: string; readonly entry: IndexEntry }): ReactNode {
  return (
    <section aria-label="After the history">
      <h3>After the history</h3>
      <p className="dim">
        Extensions added messages to this request alone, such as what a memory recalled. The log has their hash, and
        their text only where a resumed run needs it.
      </p>
      <EntryView place={{ sessionId, log: entry.log, offset: entry.offset }} title="Added messages" />
    </section>
  )
}

/** The history before and after a compaction or an edit. */
function Changed({ sessionId, entry }: { readonly sessionId: string; readonly entry: IndexEntry }): ReactNode {
  const { log, offset } = entry
  const before = useQuery(stateQuery(sessionId, log, Math.max(1, offset - 1)))
  const after = useQuery(stateQuery(sessionId, log, offset))
  const body = useEntry({ sessionId, log, offset })
  const error = before.error ?? after.error ?? body.error
  const [old, now, read] = [before.data, after.data, body.data]
  return (
    <section className="listed-detail" tabIndex={0} aria-label="Change of the history">
      <h2>{changes[entry.op] ?? entry.op}</h2>
      {error && <Failure error={error} />}
      {(!old || !now || !read) && !error && <Loading rows={4} />}
      {old && now && read && (
        <>
          <Sizes compacted={read.entry['compacted']} before={old} after={now} />
          <Sides sessionId={sessionId} log={log} before={old} after={now} entryId={textOf(read.entry['id'])} />
        </>
      )}
    </section>
  )
}

/** What an entry dropped, rewrote and added, beside each other. */
function Sides({
  sessionId,
  log,
  before,
  after,
  entryId,
}: {
  readonly sessionId: string
  readonly log: string
  readonly before: StateAnswer
  readonly after: StateAnswer
  readonly entryId: string
}): ReactNode {
  const { dropped, earlierDropped, rewritten, added, kept } = useMemo(
    () => historyChange(before, after, entryId),
    [before, after, entryId],
  )
  const old = { sessionId, log, at: before.at }
  const now = { sessionId, log, at: after.at }
  return (
    <>
      {(dropped.length > 0 || added.length > 0) && (
        <div className={dropped.length > 0 && added.length > 0 ? 'context-sides' : undefined}>
          <section aria-label="Before">
            <h3>Dropped: {counted(dropped.length + earlierDropped, 'message')}</h3>
            {earlierDropped > 0 && (
              <p className="dim">{counted(earlierDropped, 'message')} before these: see the log.</p>
            )}
            <SentMessages {...old} messages={dropped} />
          </section>
          <section aria-label="After">
            <h3>In their place: {counted(added.length, 'message')}</h3>
            <SentMessages {...now} messages={added} />
          </section>
        </div>
      )}
      {rewritten.length > 0 && (
        <section aria-label="Rewritten">
          <h3>Rewritten: {counted(rewritten.length, 'message')}</h3>
          {rewritten.map((pair) => (
            <div key={pair.after.id} className="context-sides">
              <SentMessages {...old} messages={[pair.before]} />
              <SentMessages {...now} messages={[pair.after]} />
            </div>
          ))}
        </section>
      )}
      <Fold summary={`Kept: ${counted(after.earlier + kept.length, 'message')}`}>
        {after.earlier > 0 && <p className="dim">{counted(after.earlier, 'message')} before these.</p>}
        <SentMessages {...now} messages={kept} />
      </Fold>
    </>
  )
}

function Sizes({
  compacted,
  before,
  after,
}: {
  readonly compacted: unknown
  readonly before: StateAnswer
  readonly after: StateAnswer
}): ReactNode {
  const tokens = tokensOf(compacted)
  return (
    <p className="listed-facts">
      <span>
        {counted(sizeOf(before), 'message')} before, {count(sizeOf(after))} after
      </span>
      {tokens && (
        <>
          <span>
            about {brief(tokens.beforeTokens)} tokens before, {brief(tokens.afterTokens)} after
          </span>
          {tokens.summaryTokens > 0 && <span>the summary has {brief(tokens.summaryTokens)}</span>}
          <span>{duration(tokens.durationMs)}</span>
        </>
      )}
    </p>
  )
}

interface Tokens {
  readonly beforeTokens: number
  readonly afterTokens: number
  readonly summaryTokens: number
  readonly durationMs: number
}

function tokensOf(value: unknown): Tokens | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const number = (name: keyof Tokens): number => Number(Reflect.get(value, name)) || 0
  return {
    beforeTokens: number('beforeTokens'),
    afterTokens: number('afterTokens'),
    summaryTokens: number('summaryTokens'),
    durationMs: number('durationMs'),
  }
}
