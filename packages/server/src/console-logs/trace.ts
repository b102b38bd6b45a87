import { setImmediate as turn } from 'node:timers/promises'

import type { Entry, Label, SessionStore, Steps } from '@provost/core'
import { assertNever, isRecord, labelOf } from '@provost/core'
import type { TaintIndex } from '@provost/governance'

import type { TraceAnswer, TracePlace } from '../console-answers/insight-answer.ts'
import { badRequest } from '../http/request-error.ts'
import { entryAfter } from './child-logs.ts'
import { pointerTo, shownTo, valueAt } from './entry-page.ts'
import { walkLogs } from './log-walk.ts'
import { labelAnswer } from './session-state.ts'

/** The selected words of an entry. */
export interface Selection {
  readonly sessionId: string
  readonly log: string
  readonly offset: number
  readonly pointer: string
  readonly start: number
  readonly end: number
  /** Whether the reader sees secret values. Without it, withheld values have no places. */
  readonly cleared: boolean
}

/** Entries and UTF-16 code units that one trace reads, and places that it returns in each direction. */
const mostEntries = 20_000
const mostLength = 8_000_000
const mostPlaces = 100
/** Letters from which on parts of the words count too. Shorter words count as a whole. */
const longWords = 20
const around = 40

/** Returns where selected words were before and where they went, in the session and its children. */
export async function traceWords(store: SessionStore, selection: Selection): Promise<TraceAnswer> {
  const { sessionId, log, offset, pointer, start, end, cleared } = selection
  const entry = await entryAfter(store, log, offset - 1)
  const whole = entry?.offset === offset ? valueAt(shownTo(entry, cleared), pointer) : undefined
  if (!entry || typeof whole !== 'string' || end > whole.length) {
    throw badRequest('`offset`, `pointer`, `start` and `end` do not select words of a text.')
  }
  const text = whole.slice(start, end)
  const label = labelIn(entry)
  // Loaded when it is needed: other servers do without it.
  const { createTaintIndex } = await import('@provost/governance')
  const index = createTaintIndex({ minSpan: longWords })
  const from = { source: 'selection', label }
  if (text.length < longWords * 2) index.secret(text, from)
  else index.add(text, from)

  const places: Record<'sources' | 'sinks', TracePlace[]> = { sources: [], sinks: [] }
  const related: Record<'sources' | 'sinks', TracePlace[]> = { sources: [], sinks: [] }
  let side: 'sources' | 'sinks' = 'sources'
  let length = 0
  let count = 0
  let more = false
  for await (const { log: name, entry: one } of walkLogs(store, sessionId)) {
    if (name === log && one.offset === offset) {
      side = 'sinks'
      continue
    }
    if (++count > mostEntries || length > mostLength) {
      more = true
      break
    }
    const found = places[side]
    const before = found.length
    for (const [at, leaf] of leavesOf(one, cleared)) {
      length += leaf.length
      for (const hit of await hitsIn(index, leaf)) {
        if (found.length === mostPlaces) more = true
        else
          found.push({
            log: name,
            offset: one.offset,
            pointer: at,
            kind: 'text',
            ...hit,
            excerpt: excerptOf(leaf, hit),
          })
      }
    }
    if (found.length > before || related[side].length === mostPlaces) continue
    const made = relation(one, label, side)
    if (made)
      related[side].push({
        log: name,
        offset: one.offset,
        pointer: '',
        start: 0,
        end: 0,
        kind: 'label',
        view: 'label',
        excerpt: made,
      })
  }
  return {
    label: labelAnswer(label),
    text,
    sources: [...places.sources, ...related.sources],
    sinks: [...places.sinks, ...related.sinks],
    more,
  }
}

/** Returns the label of what an entry says. */
function labelIn(entry: Entry): Label {
  if (entry.type === 'message') return labelOf(entry.message)
  if (entry.type === 'wait' && entry.about) return entry.about.label
  if ('label' in entry && entry.label) return entry.label
  return { integrity: 'untrusted', confidentiality: 'internal', sources: [] }
}

/** Yields the texts of an entry, with their pointers: what the model, a tool or a human said. */
function* leavesOf(entry: Entry, cleared: boolean): Generator<readonly [pointer: string, text: string]> {
  const shown: unknown = shownTo(entry, cleared)
  for (const pointer of textFields(entry)) yield* textsIn(valueAt(shown, pointer), pointer)
}

function textFields(entry: Entry): readonly string[] {
  switch (entry.type) {
    case 'message':
      return entry.message.content.flatMap((part, n) => {
        const at = `/message/content/${n}`
        // The arguments of a call are in its decision too, where they are what was run.
        if (part.type === 'text' || part.type === 'reasoning') return [`${at}/text`]
        return part.type === 'tool-result' ? [`${at}/output`] : []
      })
    case 'call':
      if (entry.op === 'decided') return ['/args']
      return entry.op === 'settled' ? ['/output'] : []
    case 'resolved':
      return ['/value']
    case 'view':
      return ['/with']
    case 'attempt':
    case 'audit':
    case 'child':
    case 'ext':
    case 'handoff':
    case 'memo':
    case 'run':
    case 'tail':
    case 'wait':
      return []
    default:
      return assertNever(entry)
  }
}

function* textsIn(value: unknown, pointer: string): Generator<readonly [pointer: string, text: string]> {
  if (typeof value === 'string') yield [pointer, value]
  else if (typeof value === 'number') return
  else if (Array.isArray(value)) for (const [n, one] of value.entries()) yield* textsIn(one, pointerTo(pointer, n))
  else if (isRecord(value)) {
    for (const [key, one] of Object.entries(value)) if (key !== 'type') yield* textsIn(one, pointerTo(pointer, key))
  }
}

interface Hit {
  readonly start: number
  readonly end: number
  readonly view: string
}

async function hitsIn(index: TaintIndex, text: string): Promise<readonly Hit[]> {
  if (text === '') return []
  const hits = await inTurns(index.inSteps.check(text))
  const places = new Map<string, Hit>()
  for (const { span, view } of hits) {
    const [start, end] = span
    // Words that are known as a whole and in parts are found twice.
    if (!places.has(span.join())) places.set(span.join(), { start, end, view })
  }
  return [...places.values()]
}

/** Runs work so that a long text does not block other requests. */
async function inTurns<T>(work: Steps<T>): Promise<T> {
  let step = work.next()
  while (!step.done) {
    await turn()
    step = work.next()
  }
  return step.value
}

function excerptOf(text: string, { start, end }: Hit): string {
  const from = Math.max(0, start - around)
  const to = Math.min(text.length, Math.min(end, start + 200) + around)
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}

/** Returns why an entry is related by its label: it is a source of the selected one, or was made with its sources. */
function relation(entry: Entry, label: Label, side: 'sources' | 'sinks'): string | undefined {
  const enters = entry.type === 'call' && entry.op === 'settled'
  const isMade = entry.type === 'message' && entry.message.role === 'assistant'
  if (side === 'sources' ? !enters : !isMade) return undefined
  const own = labelIn(entry).sources
  const shared = own.filter((source) => label.sources.includes(source))
  return shared.length > 0 ? shared.slice(0, 8).join(', ') : undefined
}
