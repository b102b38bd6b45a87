import { waitKinds } from '../entries/entry-words.ts'
import type { IndexEntry, IndexedLog, SessionIndex } from '../entries/indexed-log.ts'

/** What a row of the timeline stands for. */
export type RowKind = 'input' | 'step' | 'call' | 'child' | 'wait' | 'verdict' | 'handoff' | 'view' | 'end'

/** A row of the timeline: a name, a bar, and the rows below it. */
export interface TimelineRow {
  readonly id: string
  readonly kind: RowKind
  readonly name: string
  agent: string
  readonly log: string
  /** Offsets of its entries in the log. */
  readonly offsets: number[]
  from: number
  /** Absent while it is not over. */
  to: number | undefined
  /** Attempts of a step that were discarded, before its answer. */
  readonly discarded: { readonly from: number; readonly to: number }[]
  /** Milliseconds that a call took by its own clock. */
  ms: number | undefined
  tokensIn: number
  tokensOut: number
  cost: number
  /** What came of it, in a word. */
  outcome: string | undefined
  isBad: boolean
  /** `enters`: untrusted data came in here. `inherits`: it was made of some. */
  untrusted: 'enters' | 'inherits' | undefined
  isSecret: boolean
  readonly rows: TimelineRow[]
}

/** The rows of a session, and the time that they take. */
export interface TimelineLayout {
  readonly rows: readonly TimelineRow[]
  readonly count: number
  readonly from: number
  readonly to: number
  /** When something was done, in pairs of times. Waits are left out. */
  readonly work: readonly (readonly [from: number, to: number])[]
  readonly agents: readonly string[]
}

interface Making {
  readonly index: SessionIndex
  /** Rows of calls, by the ids of their calls. */
  readonly calls: Map<string, TimelineRow>
  readonly waits: Map<string, TimelineRow>
  readonly children: Map<string, TimelineRow>
  readonly work: [number, number][]
  readonly agents: Set<string>
  count: number
}

/** Lays out the entries of a session. Each entry is looked at once. */
export function layoutOf(index: SessionIndex): TimelineLayout {
  const making: Making = {
    index,
    calls: new Map(),
    waits: new Map(),
    children: new Map(),
    work: [],
    agents: new Set(),
    count: 0,
  }
  const rows: TimelineRow[] = []
  for (const log of index.values()) {
    const parent = log.parent === undefined ? undefined : making.children.get(log.log)
    layoutLog(making, log, parent?.rows ?? rows)
  }
  let [from, to] = [Infinity, -Infinity]
  for (const { entries } of index.values()) {
    const [first, last] = [entries[0], entries.at(-1)]
    if (first) from = Math.min(from, first.at)
    if (last) to = Math.max(to, last.at)
  }
  const isEmpty = from > to
  return {
    rows,
    count: making.count,
    from: isEmpty ? 0 : from,
    to: isEmpty ? 0 : to,
    work: making.work,
    agents: [...making.agents],
  }
}

function layoutLog(making: Making, { entries }: IndexedLog, rows: TimelineRow[]): void {
  let step: TimelineRow | undefined
  let before: IndexEntry | undefined
  /** Attempts since the last answer. */
  const discarded: { from: number; to: number }[] = []
  let spent = { tokensIn: 0, tokensOut: 0, cost: 0 }
  /** When the model was asked: it worked between the entry before its first attempt and its answer. */
  let began: number | undefined

  const add = (
    to: TimelineRow[],
    entry: IndexEntry,
    kind: RowKind,
    name: string,
    from = entry.at,
    callId?: string,
  ): TimelineRow => {
    const { log, offset, agent, label } = entry
    const row: TimelineRow = {
      ...{
        id: `${log}:${callId ?? offset}`,
        kind,
        name,
        agent,
        log,
        offsets: [offset],
        from,
        to: entry.at,
        discarded: [],
      },
      ...{ ms: undefined, tokensIn: 0, tokensOut: 0, cost: 0, outcome: undefined, isBad: false },
      ...{ untrusted: label?.integrity === 'untrusted' ? 'inherits' : undefined },
      ...{ isSecret: label?.confidentiality === 'secret', rows: [] },
    }
    to.push(row)
    making.count++
    making.agents.add(agent)
    return row
  }
  const below = (callId: string | undefined): TimelineRow[] =>
    (callId === undefined ? undefined : making.calls.get(callId)?.rows) ?? step?.rows ?? rows

  for (const entry of entries) {
    const { type, op, at, name = '', detail, callId, offset } = entry
    const since = before?.at ?? at
    switch (type) {
      case 'attempt':
        began ??= since
        spent = {
          tokensIn: spent.tokensIn + (entry.tokensIn ?? 0),
          tokensOut: spent.tokensOut + (entry.tokensOut ?? 0),
          cost: spent.cost + (entry.cost ?? 0),
        }
        if (op === 'discarded') discarded.push({ from: since, to: at })
        making.work.push([since, at])
        break
      case 'message':
        if (op === 'model') {
          step = add(rows, entry, 'step', `step ${entry.step}`, began ?? since)
          began = undefined
          step.discarded.push(...discarded)
          Object.assign(step, spent)
          discarded.length = 0
          spent = { tokensIn: 0, tokensOut: 0, cost: 0 }
          for (const call of detail.calls ?? []) addCall(call.callId, call.toolName, entry)
        } else if (op !== 'tool')
          add(rows, entry, 'input', detail.role === 'user' ? 'input' : (detail.role ?? 'message'))
        break
      case 'call':
        if (op === 'planned' && callId !== undefined) addCall(callId, name, entry, detail.parentCallId)
        else if (callId !== undefined) applyCall(making, entry, callId)
        break
      case 'wait': {
        const row = add(below(callId ?? undefined), entry, 'wait', `waits for ${waitKinds[op] ?? op}`)
        row.to = undefined
        if (detail.token !== undefined) making.waits.set(detail.token, row)
        break
      }
      case 'resolved': {
        const row = detail.token === undefined ? undefined : making.waits.get(detail.token)
        if (!row) break
        row.to = at
        row.offsets.push(offset)
        row.outcome = detail.decision ?? 'answered'
        row.isBad = detail.decision === 'deny'
        break
      }
      case 'child':
        applyChild(entry)
        break
      case 'handoff': {
        const row = add(below(callId), entry, 'handoff', `hands over to ${detail.to ?? ''}`)
        row.outcome = detail.outcome
        row.isBad = detail.outcome === 'denied'
        break
      }
      case 'audit': {
        const row = add(below(callId), entry, 'verdict', `${op} by ${name}`)
        row.isBad = op === 'blocked'
        break
      }
      case 'view':
        add(rows, entry, 'view', op === 'compaction' ? 'compaction' : `view: ${op}`, since)
        break
      case 'run':
        if (op === 'ended') {
          const row = add(rows, entry, 'end', `run ${detail.outcome ?? 'ended'}`)
          row.outcome = detail.code
          row.isBad = detail.outcome === 'failed'
          step = undefined
        }
        break
      default:
    }
    before = entry
  }

  function addCall(id: string, tool: string, entry: IndexEntry, parent?: string): void {
    // One message asks for several calls, so its offset names none of them.
    const row = add(below(parent), entry, 'call', tool, entry.at, id)
    row.to = undefined
    row.untrusted = undefined
    row.isSecret = false
    making.calls.set(id, row)
  }

  function applyChild(entry: IndexEntry): void {
    const { op, at, offset, name, detail, callId } = entry
    const child = detail.child ?? ''
    if (op === 'spawned') {
      const row = add(below(callerOf(making, callId)), entry, 'child', name ?? 'child')
      row.to = undefined
      row.agent = name ?? row.agent
      making.children.set(child, row)
      return
    }
    const row = making.children.get(child)
    if (!row) return
    row.to = detail.outcome === 'suspended' ? undefined : at
    row.offsets.push(offset)
    row.outcome = detail.outcome
    row.isBad = detail.outcome === 'failed'
    Object.assign(row, { tokensIn: entry.tokensIn ?? 0, tokensOut: entry.tokensOut ?? 0 })
  }
}

/** Returns the call that spawned a child: ids of spawns begin with it. */
function callerOf({ calls }: Making, id: string | undefined): string | undefined {
  let caller = id
  while (caller !== undefined && !calls.has(caller)) {
    const at = caller.lastIndexOf('/')
    caller = at > 0 ? caller.slice(0, at) : undefined
  }
  return caller
}

function applyCall(making: Making, entry: IndexEntry, callId: string): void {
  const row = making.calls.get(callId)
  if (!row) return
  row.offsets.push(entry.offset)
  const { op, at, detail, ms, label } = entry
  if (op === 'started') row.from = at
  if (op !== 'settled') return
  row.to = at
  row.ms = ms
  row.outcome = detail.outcome === 'ok' ? undefined : detail.outcome
  row.isBad = detail.outcome !== 'ok'
  row.untrusted = label?.integrity === 'untrusted' ? 'enters' : undefined
  row.isSecret = label?.confidentiality === 'secret'
  // What a call waited for is not work: its waits have rows of their own.
  if (row.rows.every(({ kind }) => kind !== 'wait' && kind !== 'child')) making.work.push([row.from, at])
}

/** Entries of a row that its detail shows. */
export const mostOffsets = 12

/** A row with its depth, as the list shows it. */
export interface FlatRow {
  readonly row: TimelineRow
  readonly level: number
  readonly parent: number
}

/** Returns the rows that are shown: those below closed rows are not. */
export function flatRows(layout: Pick<TimelineLayout, 'rows'>, closed: ReadonlySet<string>): readonly FlatRow[] {
  const flat: FlatRow[] = []
  const walk = (rows: readonly TimelineRow[], level: number, parent: number): void => {
    for (const row of rows) {
      const at = flat.length
      flat.push({ row, level, parent })
      if (row.rows.length > 0 && !closed.has(row.id)) walk(row.rows, level + 1, at)
    }
  }
  walk(layout.rows, 1, -1)
  return flat
}
