import { isRecord } from '@provost/core'
import type { Entry, Fold, Json } from '@provost/core'

import { effectOf } from './call-effect.ts'
import type { CallEffect } from './call-effect.ts'

/** Under which the monitor writes to the log. */
export const monitorName = 'causality-monitor'

/** What was denied, by the log of one run and what its children left in it. */
export interface Denials {
  /** Arguments that a human is being asked about, by call. */
  readonly asked: Readonly<Record<string, Json>>
  /** Values of denied calls, by the call that each was first denied in. */
  readonly values: Readonly<Record<string, string>>
  /** More was denied than is kept: from now on nothing can be said to be new. */
  readonly full: boolean
  /** Agents that the conversation was handed to. */
  readonly receivers: readonly string[]
  /** Children that have told what was denied to them, and have not ended. */
  readonly told: readonly string[]
}

const nothing: Denials = { asked: {}, values: {}, full: false, receivers: [], told: [] }
/** Values kept of denied calls. */
const mostValues = 1_000

/** Calls that were denied, and what they were to act on: a fold, so that a resumed run knows them. */
export const denialsFold: Fold<Denials> = {
  key: 'governance/denials',
  initial: nothing,
  apply(state: Denials, entry: Entry): Denials {
    if (entry.type !== 'call') return applyOther(state, entry)
    const { callId } = entry
    if (entry.op === 'decided' && entry.outcome === 'ask') {
      return { ...state, asked: { ...state.asked, [callId]: entry.args } }
    }
    if (entry.op === 'decided' && entry.outcome === 'deny' && !formal.has(entry.by)) {
      return withValues(state, callId, entry.args)
    }
    const { [callId]: args, ...asked } = state.asked
    if (entry.op !== 'settled' || args === undefined) return state
    const left = { ...state, asked }
    return entry.outcome === 'denied' ? withValues(left, callId, args) : left
  },
}

function applyOther(state: Denials, entry: Entry): Denials {
  if (entry.type === 'handoff' && entry.denied === undefined && !state.receivers.includes(entry.to)) {
    return { ...state, receivers: [...state.receivers, entry.to] }
  }
  if (entry.type === 'ext' && entry.name === monitorName) return adopted(state, entry.data)
  if (entry.type !== 'child' || entry.op !== 'joined' || entry.status === 'suspended') return state
  // Of a child that called tools and told nothing nobody knows what was denied to it.
  const left = { ...state, told: state.told.filter((id) => id !== entry.callId) }
  const called = entry.toolCalls > 0 || entry.steps > 1
  return !called || state.told.includes(entry.callId) ? left : { ...left, full: true }
}

/** What a child was denied counts as denied to whoever started it. */
function adopted(state: Denials, data: unknown): Denials {
  if (!isRecord(data) || typeof data['child'] !== 'string' || !isRecord(data['values'])) return { ...state, full: true }
  const told = [...state.told, data['child']]
  return { ...merged(state, { ...nothing, values: textsOf(data['values']), full: data['full'] !== false }), told }
}

function textsOf(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).map(([value, call]) => [value, String(call)]))
}

/** What is known of both. */
export function merged(known: Denials, more: Pick<Denials, 'values' | 'full'>): Denials {
  const fresh = Object.keys(more.values).length > 0 && more.values !== known.values
  const values = fresh ? { ...more.values, ...known.values } : known.values
  const kept = Object.entries(values)
  const tooMany = kept.length > mostValues
  return {
    ...known,
    values: tooMany ? Object.fromEntries(kept.slice(0, mostValues)) : values,
    full: known.full || more.full || tooMany,
  }
}

/** Those who refuse what is no proper call: nobody has judged its effect. */
const formal: ReadonlySet<string> = new Set(['schema', 'registry'])

function withValues(known: Denials, callId: string, args: Json): Denials {
  const effect = effectOf(args)
  const values = { ...known.values }
  let room = mostValues - Object.keys(values).length
  let full = known.full || !effect.whole
  for (const value of effect.values) {
    if (Object.hasOwn(values, value)) continue
    if (room-- > 0) values[value] = callId
    else full = true
  }
  return { ...known, values, full }
}

/** What of an effect was denied before. What is too long to be compared counts as denied once anything was. */
export function deniedBefore({ values, full }: Denials, effect: CallEffect): readonly string[] {
  const calls = new Set(effect.values.flatMap((value) => (Object.hasOwn(values, value) ? [values[value] ?? ''] : [])))
  if (calls.size === 0 && (full || (!effect.whole && Object.keys(values).length > 0))) return ['*']
  return [...calls]
}
