import type { EffectMark, Entry, EntryOf, Json, SessionStore, Timestamp } from '@provost/core'
import { ProvostError, isForkMark, isRecord, positionId } from '@provost/core'
import { linkedWork } from '@provost/sessions'

import type { EffectPlace } from '../effects/effect-identity.ts'
import type { CompensateOptions } from '../types/session.ts'

/** A call that has ended, with what the log records of it. */
export interface SettledCall {
  readonly log: string
  readonly callId: string
  readonly agent: string
  readonly toolName: string
  readonly input: Json
  readonly place: EffectPlace
  /** Set where the ledger of effects admitted the call. */
  readonly effect?: EffectMark
  readonly settled: EntryOf<'call', 'settled'>
}

interface Found extends SettledCall {
  /** Never earlier than that of the entry before it, even if the clock was set back. */
  readonly at: Timestamp
}

/** Decides whether an entry is later than the moment from which effects are undone. */
type IsLater = (entry: Entry, at: Timestamp) => boolean

/**
 * Returns the calls of a session, its children and its fan-outs and evaluator-optimizers that ended after a moment, the last one first. Calls of composites
 * themselves are left out, because their effects are those of their own calls. A fork has only its own calls.
 *
 * @throws ProvostError `unknown-message`, `invalid-option`
 */
export async function settledCalls(
  store: SessionStore,
  sessionId: string,
  since: CompensateOptions['since'],
): Promise<readonly SettledCall[]> {
  const moment = momentOf(since)
  const place = { session: sessionId, agent: '', principal: undefined, rootRun: '' }
  const found = [...(await scan(store, sessionId, place, true, moment.reached, moment.isLaterInChild))]
  moment.check(sessionId)
  for await (const log of linkedWork(store, sessionId)) {
    const { isLaterInChild } = moment
    found.push(...(await scan(store, log, { ...place, session: log }, true, isLaterInChild, isLaterInChild)))
  }
  return found.toSorted((a, b) => a.at - b.at).toReversed()
}

interface Moment {
  readonly reached: IsLater
  readonly isLaterInChild: IsLater
  check(sessionId: string): void
}

function momentOf(since: CompensateOptions['since']): Moment {
  if (since instanceof Date) {
    const reached: IsLater = (_, at) => at >= since.getTime()
    return { reached, isLaterInChild: reached, check: () => {} }
  }
  let after = typeof since === 'string' ? Number.POSITIVE_INFINITY : (since ?? 0)
  let last = 0
  let time: Timestamp = 0
  return {
    reached(entry, at) {
      if (typeof since === 'string' && hasMessage(entry, since)) after = entry.offset
      if (entry.offset <= after) time = at
      last = entry.offset
      return entry.offset > after
    },
    isLaterInChild: (_, at) => at > time,
    check(sessionId) {
      if (after <= last) return
      if (typeof since === 'string') {
        throw new ProvostError('unknown-message', `Session ${sessionId} has no message ${since.slice(0, 200)}.`, {
          hint: 'Pass the id of one of its messages as "since".',
        })
      }
      throw new ProvostError('invalid-option', `"since" is ${after}, and the log of ${sessionId} ends at ${last}.`, {
        hint: 'Pass an offset in the log. For a time, pass a Date.',
      })
    },
  }
}

function hasMessage(entry: Entry, id: string): boolean {
  if (entry.type === 'message') return entry.message.id === id
  // The tool message of a step is folded from the results of its calls.
  const isResult = entry.type === 'call' && entry.op === 'settled'
  return isResult && positionId(entry.runId, entry.step, 'message', 'tool') === id
}

async function scan(
  store: SessionStore,
  log: string,
  first: EffectPlace,
  isRoot: boolean,
  isLater: IsLater,
  isLaterInChild: IsLater,
): Promise<readonly Found[]> {
  let place = first
  let at: Timestamp = 0
  let own: Found[] = []
  const calls = new Map<string, Pick<Found, 'toolName' | 'input' | 'effect'>>()
  const composites = new Set<string>()
  const children: { readonly log: string; readonly place: EffectPlace; readonly isLater: boolean }[] = []
  for await (const entry of store.read(log)) {
    at = Math.max(at, entry.at)
    const later = isLater(entry, at)
    if (entry.type === 'run' && entry.op === 'started') {
      const rootRun = isRoot ? entry.runId : place.rootRun
      const principal = entry.principal?.id ?? first.principal
      place = { ...place, agent: entry.manifest.agent, principal, rootRun }
    } else if (entry.type === 'message') {
      for (const part of entry.message.content) {
        if (part.type === 'tool-call') calls.set(part.callId, { toolName: part.toolName, input: part.input })
      }
    } else if (entry.type === 'child' && entry.op === 'spawned') {
      composites.add(entry.parentCallId ?? entry.callId)
      children.push({ log: entry.log, place, isLater: later })
    } else if (isForkMark(entry)) {
      // The effects of copied calls are those of the original.
      own = []
      if (place.session === log) place = { ...place, session: originalIn(entry.data, log) }
    } else if (entry.type === 'call') {
      const { callId } = entry
      if (entry.op === 'planned') {
        composites.add(entry.parentCallId)
        calls.set(callId, { toolName: entry.toolName, input: entry.args })
      }
      const call = calls.get(callId)
      if (entry.op === 'decided' && call) calls.set(callId, { ...call, input: entry.args })
      if (entry.op === 'started' && call && entry.effect) calls.set(callId, { ...call, effect: entry.effect })
      if (entry.op !== 'settled' || !call) continue
      calls.delete(callId)
      if (later && !composites.has(callId)) {
        own.push({ log, callId, agent: entry.agent, ...call, place, settled: entry, at })
      }
    }
  }
  const below: Found[] = []
  for (const child of children) {
    const isLaterThere = child.isLater ? (): boolean => true : isLaterInChild
    below.push(...(await scan(store, child.log, child.place, false, isLaterThere, isLaterInChild)))
  }
  // Of calls with the same time, those of children have ended first.
  return [...below, ...own]
}

/** Returns the session that the first fork was made from. */
function originalIn(data: Json, current: string): string {
  return isRecord(data) && typeof data['sessionId'] === 'string' ? data['sessionId'] : current
}
