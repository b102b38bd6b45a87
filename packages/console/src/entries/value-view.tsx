import { displayText, escapePointer, isRecord } from '@provost/core'
import type { CutText, StateAnswer } from '@provost/server/console'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { count } from '../look/measures.ts'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import type { EntryPlace } from './entry-query.ts'
import type { TextPlace } from './text-place.ts'
import { placed } from './text-place.ts'

/** A JSON value of an entry. Each text in it can be selected and traced. */
interface ValueProps {
  readonly place: EntryPlace
  readonly pointer: string
  readonly value: unknown
  readonly cut: readonly CutText[]
  readonly onTrace?: ((place: TextPlace) => void) | undefined
}

/** Items of a list or object that are shown at once. */
const mostItems = 100
const deepest = 24

export function ValueView({ depth = 0, ...props }: ValueProps & { readonly depth?: number }): ReactNode {
  const { value, pointer } = props
  if (value === '') return <code className="atom">""</code>
  if (typeof value === 'string') return <TextView {...props} text={value} />
  if (value === null || typeof value !== 'object') return <code className="atom">{String(value)}</code>
  if (depth >= deepest) return <code className="atom">…</code>
  const items: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, n) => [String(n), item] as const)
    : isRecord(value)
      ? Object.entries(value)
      : []
  if (items.length === 0) return <code className="atom">{Array.isArray(value) ? '[]' : '{}'}</code>
  return (
    <dl className={Array.isArray(value) ? 'value items' : 'value'}>
      {items.slice(0, mostItems).map(([key, item]) => (
        <div key={key}>
          <dt>{displayText(key, { limit: 100 })}</dt>
          <dd>
            <ValueView {...props} depth={depth + 1} pointer={`${pointer}/${escapePointer(key)}`} value={item} />
          </dd>
        </div>
      ))}
      {items.length > mostItems && <p className="dim">{count(items.length - mostItems)} more</p>}
    </dl>
  )
}

const short = 60

function TextView({ place, pointer, text, cut, onTrace }: ValueProps & { readonly text: string }): ReactNode {
  const [rest, setRest] = useState('')
  const more = cut.find((one) => one.pointer === pointer)
  const whole = text + rest
  const isLine = whole.length <= short && !whole.includes('\n')
  const at = { ...place, pointer }
  return (
    <span className={isLine ? 'leaf line' : 'leaf'}>
      <bdi {...placed(whole, at)} {...(mayScroll(whole) && { tabIndex: 0 })}>
        {displayText(whole, { lines: true, limit: Infinity })}
      </bdi>
      {more && whole.length < more.length && (
        <button
          type="button"
          className="quiet"
          onClick={() =>
            void consoleApi
              .text(place.sessionId, { ...at, start: whole.length })
              .then((piece) =>
                setRest((before) => (text.length + before.length === piece.start ? before + piece.text : before)),
              )
              .catch(() => {})
          }
        >
          Read on: {count(more.length - whole.length)} characters more
        </button>
      )}
      {onTrace && whole !== '' && !technical.has(pointer.slice(pointer.lastIndexOf('/') + 1)) && (
        <button
          type="button"
          className="quiet trace"
          aria-label={`Trace ${displayText(whole, { limit: 40 })}`}
          title="Where these words come from, and where they went"
          onClick={() => onTrace({ ...at, start: 0, end: Math.min(whole.length, mostTraced) })}
        >
          trace
        </button>
      )}
    </span>
  )
}

/** Whether a text may be higher than its box: the keyboard has to reach what scrolls. */
function mayScroll(text: string): boolean {
  return text.length > 120 || text.split('\n', 9).length > 8
}

/** Fields that the runtime writes: their texts come from nowhere else. */
const technical = new Set([
  ...['id', 'type', 'op', 'role', 'via', 'outcome', 'by', 'token', 'kind', 'log', 'mode', 'status', 'model'],
  ...['callId', 'toolCallId', 'toolName', 'parentCallId', 'key', 'hash', 'argsHash', 'inputHash', 'runId', 'agent'],
  ...['integrity', 'confidentiality', 'finishReason', 'decision', 'rule', 'version', 'name', 'code'],
])

/** Characters of one trace, as the server permits them. */
const mostTraced = 20_000

/** A part of a message that a model received. */
export function MessagePart({
  sessionId,
  log,
  at,
  part,
}: {
  readonly sessionId: string
  readonly log: string
  readonly at: number
  readonly part: StateAnswer['view'][number]['content'][number]
}): ReactNode {
  const { type, text, toolName, input, output } = part
  // A message of the view is not at an entry of its own, so its words cannot be traced from here.
  const place = { sessionId, log, offset: at }
  if (typeof text === 'string') return <ValueView place={place} pointer="" value={text} cut={[]} />
  return (
    <div>
      <p className="dim">
        {type} <Words limit={60}>{toolName ?? ''}</Words>
      </p>
      <ValueView place={place} pointer="" value={input ?? output ?? part} cut={[]} />
    </div>
  )
}
