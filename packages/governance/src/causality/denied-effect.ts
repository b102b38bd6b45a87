import { assertNever, isRecord } from '@provost/core'
import type { Entry, EntryOf, Fold, Json } from '@provost/core'

import { effectOf } from './call-effect.ts'
import type { CallEffect } from './call-effect.ts'

/** The name of the monitor's entries in the log. */
export const monitorName = 'causality-monitor'

/** The denials in the log of one run, including those that its children recorded there. */
export interface Denials {
  /** Arguments of calls that wait for an approval, by call. */
  readonly asked: Readonly<Record<string, Json>>
  /** Values of denied calls, each with the first call that was denied for it. */
  readonly values: Readonly<Record<string, string>>
  /** The denials exceed what is kept: from now on every call counts as denied before. */
  readonly full: boolean
  /** Agents that received the conversation by a handoff. */
  readonly receivers: readonly string[]
  /** Children that have recorded their denials and have not ended. */
  readonly told: readonly string[]
}

const nothing: Denials = { asked: {}, values: {}, full: false, receivers: [], told: [] }
/** Values kept of denied calls. */
const mostValues = 1_000

/** Folds denied calls and what they act on. A fold over the log, so that a resumed run knows them. */
export const denialsFold: Fold<Denials> = {
  key: 'governance/denials',
  initial: nothing,
  apply(state: Denials, entry: Entry): Denials {
    switch (entry.type) {
      case 'call':
        return withCall(state, entry)
      case 'child':
        return entry.op === 'joined' && entry.status !== 'suspended' ? withChild(state, entry) : state
      case 'handoff':
        if (entry.denied !== undefined || state.receivers.includes(entry.to)) return state
        return { ...state, receivers: [...state.receivers, entry.to] }
      case 'ext':
        return entry.name === monitorName ? adopted(state, entry.data) : state
      case 'run':
      case 'message':
      case 'attempt':
      case 'wait':
      case 'resolved':
      case 'view':
      case 'tail':
      case 'memo':
      case 'audit':
        return state
      default:
        return assertNever(entry)
    }
  },
}

function withCall(state: Denials, entry: Extract<Entry, { type: 'call' }>): Denials {
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
}

function withChild(state: Denials, entry: EntryOf<'child', 'joined'>): Denials {
  // The denials of a child that called tools and recorded nothing are unknown: fail closed.
  const left = { ...state, told: state.told.filter((id) => id !== entry.callId) }
  const called = entry.toolCalls > 0 || entry.steps > 1
  return !called || state.told.includes(entry.callId) ? left : { ...left, full: true }
}

/** Adds the recorded denials of a child to those of its parent. */
function adopted(state: Denials, data: unknown): Denials {
  if (!isRecord(data) || typeof data['child'] !== 'string' || !isRecord(data['values'])) return { ...state, full: true }
  const told = [...state.told, data['child']]
  return { ...merged(state, { ...nothing, values: textsOf(data['values']), full: data['full'] !== false }), told }
}

function textsOf(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).map(([value, call]) => [value, String(call)]))
}

/** Returns the denials of both, limited to what is kept. */
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

/** Deciders that reject malformed calls: no policy has judged the effect of these. */
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

/** Returns the earlier denied calls that share values with an effect. An effect too long to compare matches any denial. */
export function deniedBefore({ values, full }: Denials, effect: CallEffect): readonly string[] {
  const calls = new Set(effect.values.flatMap((value) => (Object.hasOwn(values, value) ? [values[value] ?? ''] : [])))
  if (calls.size === 0 && (full || (!effect.whole && Object.keys(values).length > 0))) return ['*']
  return [...calls]
}
