import { isRecord } from '@provost/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { LabelChips } from '../look/label-chips.tsx'
import type { ShownLabel } from '../look/label-chips.tsx'
import { duration, moment } from '../look/measures.ts'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { labelIn } from '../wire/read-json.ts'
import type { EntryPlace, WholeEntry } from './entry-query.ts'
import { useEntry } from './entry-query.ts'
import { useSelectedPlace, useTrace } from './text-place.ts'
import { ValueView } from './value-view.tsx'

import './entries.css'

/** Fields that the head of an entry shows. */
const inHead = new Set(['id', 'offset', 'at', 'runId', 'step', 'agent', 'v', 'type', 'op'])

/** One entry with its body. */
export function EntryView({ place, title }: { readonly place: EntryPlace; readonly title: string }): ReactNode {
  const { data, error, isPending } = useEntry(place)
  const trace = useTrace()
  return (
    <section className="entry" aria-label={title}>
      <h3>
        <Words limit={200}>{title}</Words>
      </h3>
      {isPending && <Loading rows={2} height={28} />}
      {error && <Failure error={error} />}
      {data === null && <p className="dim">The log has no such entry.</p>}
      {data && (
        <>
          <p className="dim entry-facts">
            <span>entry {place.offset}</span>
            <time dateTime={new Date(Number(data.entry['at'])).toISOString()}>{moment(Number(data.entry['at']))}</time>
            {typeof data.entry['durationMs'] === 'number' && <span>{duration(data.entry['durationMs'])}</span>}
            <LabelChips label={labelOf(data.entry)} />
            <ToTalk place={place} entry={data.entry} />
          </p>
          {bodyOf(data.entry).map(([key, value]) => (
            <div key={key} className="entry-part">
              <h4>{key}</h4>
              <ValueView place={place} pointer={`/${key}`} value={value} cut={data.cut} onTrace={trace} />
            </div>
          ))}
        </>
      )}
    </section>
  )
}

/** The way to the message of an entry, or to its call. The conversation has none of children and of composites. */
function ToTalk({
  place: { sessionId, log },
  entry: { type, message, callId, parentCallId },
}: {
  readonly place: EntryPlace
  readonly entry: WholeEntry
}): ReactNode {
  const isOwn = log === sessionId && parentCallId === undefined
  const isSaid = type === 'message' && isRecord(message) && message['role'] !== 'tool' && message['role'] !== 'system'
  const id = isSaid ? message['id'] : callId
  if (!isOwn || typeof id !== 'string') return null
  return (
    <Link
      to="/sessions/$id/$view"
      params={{ id: sessionId, view: 'talk' }}
      search={isSaid ? { message: id } : { call: id }}
    >
      In the conversation
    </Link>
  )
}

function bodyOf(entry: WholeEntry): readonly (readonly [string, unknown])[] {
  return Object.entries(entry).filter(([key]) => !inHead.has(key) && key !== 'label' && key !== 'durationMs')
}

function labelOf(entry: WholeEntry): ShownLabel | undefined {
  return labelIn(isRecord(entry['message']) ? entry['message']['label'] : entry['label'])
}

/** Entries that belong together, as the detail of a row. */
export function EntryPane({
  entries,
  onClose,
}: {
  readonly entries: readonly { readonly place: EntryPlace; readonly title: string }[]
  readonly onClose: () => void
}): ReactNode {
  const selected = useSelectedPlace()
  const trace = useTrace()
  const traceSelection = (): void => {
    if (selected) trace(selected)
  }
  useKeys('Detail', [{ key: 'p', does: 'trace the selected words', run: traceSelection }])
  return (
    <aside className="pane" aria-label="Detail" tabIndex={-1}>
      <div className="pane-head">
        <button type="button" onClick={traceSelection} disabled={!selected}>
          Trace selection <kbd>p</kbd>
        </button>
        <span className="grow" />
        <button type="button" className="quiet" onClick={onClose}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      {entries.length === 0 && <Empty title="Nothing is selected." />}
      {entries.map(({ place, title }) => (
        <EntryView key={`${place.log} ${place.offset}`} place={place} title={title} />
      ))}
    </aside>
  )
}
