import type { Entry, Label, SessionStore } from '@provost/core'
import { assertNever, fillLabel, isRecord, labelOf, untrustedLabel } from '@provost/core'

import type { IndexAnswer, IndexDetail, IndexLog, IndexRow } from '../console-answers/console-answer.ts'
import { badRequest } from '../http/request-error.ts'
import { checkLog } from './child-logs.ts'
import { isChild } from './log-walk.ts'

/** What to read of a session's index. */
interface IndexRange {
  readonly sessionId: string
  /** Only this log; `after` is then an offset. Default: the session's log, each child where it is spawned. */
  readonly log?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
}

/** A log that is being read: the innermost child comes last. */
interface Frame {
  readonly log: string
  offset: number
  readonly entries: AsyncIterator<Entry>
}

/** Returns the rows of entries without their bodies. The work depends on the number of rows, not on the length of the log. */
export async function readIndex(store: SessionStore, range: IndexRange): Promise<IndexAnswer> {
  const { sessionId, limit } = range
  const table = indexTable()
  const open = (log: string, offset = 0): Frame => ({
    log,
    offset,
    entries: store.read(log, offset)[Symbol.asyncIterator](),
  })
  const frames = (await placesOf(store, range)).map(([log, offset]) => open(log, offset))
  for (const [n, { log }] of frames.entries()) table.begin(log, { parent: frames[n - 1]?.log })
  try {
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      if (table.rows.length >= limit) return table.answer(writePlaces(frames))
      const next = await frame.entries.next()
      if (next.done) {
        frames.pop()
        continue
      }
      const entry = next.value
      frame.offset = entry.offset
      // An entry may name a separate session as its child: its first entry names no parent.
      if (entry.offset === 1 && frame.log !== sessionId && !isChild(entry)) {
        await frames.pop()?.entries.return?.()
        continue
      }
      table.add(frame.log, entry)
      if (range.log === undefined && entry.type === 'child' && entry.op === 'spawned') {
        frames.push(open(entry.log))
        table.begin(entry.log, { parent: frame.log, callId: entry.callId })
      }
    }
    return table.answer()
  } finally {
    for (const { entries } of frames) await entries.return?.()
  }
}

/** Returns where the reading begins. */
async function placesOf(
  store: SessionStore,
  { sessionId, log, after }: IndexRange,
): Promise<readonly (readonly [log: string, offset: number])[]> {
  if (log !== undefined) {
    if (after !== undefined && !/^\d{1,9}$/u.test(after)) throw foreignCursor()
    return [[await checkLog(store, sessionId, log), Number(after ?? 0)]]
  }
  if (after === undefined) return [[sessionId, 0]]
  const places = readPlaces(after)
  if (places[0]?.[0] !== sessionId) throw foreignCursor()
  for (const [name] of places) await checkLog(store, sessionId, name)
  return places
}

function writePlaces(frames: readonly Frame[]): string {
  return Buffer.from(JSON.stringify(frames.map(({ log, offset }) => [log, offset]))).toString('base64url')
}

function readPlaces(text: string): readonly (readonly [log: string, offset: number])[] {
  try {
    const places: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(places) || places.length > 64) throw foreignCursor()
    return places.map((place: unknown) => {
      const [log, offset]: readonly unknown[] = Array.isArray(place) ? place : []
      if (typeof log !== 'string' || !Number.isSafeInteger(offset) || Number(offset) < 0) throw foreignCursor()
      return [log, Number(offset)]
    })
  } catch {
    throw foreignCursor()
  }
}

function foreignCursor(): Error {
  return badRequest('`after` is not a `next` of this index.')
}

/** The parts of an index while it is read. */
interface IndexTable {
  readonly rows: readonly IndexRow[]
  begin(log: string, from: Pick<IndexLog, 'parent' | 'callId'>): void
  add(log: string, entry: Entry): void
  answer(next?: string): IndexAnswer
}

function indexTable(): IndexTable {
  const logs = new Map<string, { readonly no: number; readonly log: IndexLog }>()
  const runs = new Map<string, number>()
  const labels = new Map<string, { no: number; label: Label }>()
  const rows: IndexRow[] = []

  function numberOf(label: Label | undefined): number | null {
    if (!label) return null
    const key = JSON.stringify([label.integrity, label.confidentiality, label.readers, label.sources])
    const known = labels.get(key) ?? { no: labels.size, label }
    labels.set(key, known)
    return known.no
  }

  return {
    rows,
    begin(log, { parent, callId }) {
      if (logs.has(log)) return
      const from = { ...(parent !== undefined && { parent }), ...(callId !== undefined && { callId }) }
      logs.set(log, { no: logs.size, log: { log, agent: '', ...from, last: 0 } })
    },
    add(name, entry) {
      const { offset, at, runId, agent, step } = entry
      const { no = 0, log } = logs.get(name) ?? {}
      if (!log) return
      if (log.agent === '') log.agent = agent
      log.last = offset
      const run = runs.get(runId) ?? runs.size
      runs.set(runId, run)
      const {
        op = null,
        callId = null,
        subject = null,
        label,
        ms = null,
        usage = {},
        cost = null,
        detail,
      } = factsOf(entry)
      rows.push([
        ...([no, run, offset, at, entry.type, op, agent, step, callId, subject, numberOf(label), ms] as const),
        ...([usage.inputTokens ?? null, usage.outputTokens ?? null, cost, detail ?? null] as const),
      ])
    },
    answer: (next) => ({
      logs: [...logs.values()].map(({ log }) => log),
      runs: [...runs.keys()],
      labels: [...labels.values()].map(({ label }) => ({
        ...label,
        sources: [...label.sources],
        readers: label.readers && [...label.readers],
      })),
      rows,
      ...(next !== undefined && { next }),
    }),
  }
}

/** What a row says about an entry. */
interface Facts {
  readonly op?: string
  readonly callId?: string | undefined
  /** The tool, model, rule, agent or extension. */
  readonly subject?: string
  readonly label?: Label | undefined
  readonly ms?: number
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number }
  readonly cost?: number | undefined
  readonly detail?: IndexDetail
}

function factsOf(entry: Entry): Facts {
  switch (entry.type) {
    case 'run': {
      if (entry.op !== 'ended') return { op: entry.op }
      return { op: entry.op, detail: { outcome: entry.status, ...(entry.error && { code: entry.error.code }) } }
    }
    case 'message': {
      const { message, via } = entry
      const calls = message.content.flatMap((part) =>
        part.type === 'tool-call' ? [{ callId: part.callId, toolName: part.toolName }] : [],
      )
      const detail = {
        role: message.role,
        ...(calls.length > 0 && { calls }),
        // The results of tools are found by their calls.
        ...(message.role !== 'tool' && { message: message.id }),
      }
      return { op: via, label: labelOf(message), detail }
    }
    case 'attempt':
      return { op: entry.outcome, subject: entry.model, usage: entry.usage, cost: entry.cost }
    case 'call':
      return callFacts(entry)
    case 'wait': {
      const { kind, callId, token, batch, deadline, about, child } = entry
      const detail = { token, ...(batch !== undefined && { batch }), ...(deadline !== undefined && { deadline }) }
      return { op: kind, callId, label: about?.label, detail, ...(child && { subject: child.toolName }) }
    }
    case 'resolved': {
      const decision = isRecord(entry.value) ? entry.value['decision'] : undefined
      const { token, by } = entry
      return { detail: { token, by, ...(typeof decision === 'string' && { decision }) } }
    }
    case 'child': {
      const { op, callId, label, log: child } = entry
      if (op === 'spawned') return { op, callId, subject: entry.agent, label, detail: { child } }
      return { op, callId, label, usage: entry.usage, detail: { child, outcome: entry.status } }
    }
    case 'handoff': {
      const { mode, callId, label, to, denied } = entry
      return {
        op: mode,
        callId,
        subject: to,
        label,
        detail: { to, ...(denied !== undefined && { outcome: 'denied' }) },
      }
    }
    case 'view':
      return { op: entry.reason }
    case 'tail':
      return { label: fillLabel(entry.label, untrustedLabel('tail')) }
    case 'memo':
      return { callId: entry.callId }
    case 'ext':
      return { op: entry.key, subject: entry.name }
    case 'audit':
      return { op: entry.decision, callId: entry.callId, subject: entry.rule, detail: { by: entry.by } }
    default:
      return assertNever(entry)
  }
}

function callFacts(entry: Extract<Entry, { type: 'call' }>): Facts {
  const { op, callId } = entry
  switch (entry.op) {
    case 'planned':
      return { op, callId, subject: entry.toolName, detail: { parentCallId: entry.parentCallId } }
    case 'decided':
      return { op, callId, detail: { outcome: entry.outcome, by: entry.by } }
    case 'settled': {
      const { outcome, durationMs, label, error } = entry
      return { op, callId, label, ms: durationMs, detail: { outcome, ...(error && { code: error.code }) } }
    }
    case 'deferred':
    case 'parked':
    case 'started':
      return { op, callId }
    default:
      return assertNever(entry)
  }
}
