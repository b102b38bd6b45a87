import type { SessionState } from '@provost/agent'
import { foldLog } from '@provost/agent'
import { lookedUpBy, reduceEntry } from '@provost/agent/internal'
import type { Entry, EntryOf } from '@provost/core'
import { assertNever, isForkMark, purposeOf } from '@provost/core'

/** A recorded log with the position of its replay. */
export interface RecordedLog {
  readonly state: SessionState
  /** The next entry, or the one `ahead` entries after it. */
  entry(ahead?: number): Entry | undefined
  take(): void
  /** Finds a recorded entry by id, and tells whether it was replayed. */
  find(id: string): { readonly entry: Entry; readonly past: boolean } | undefined
  /** Takes the entries with which a run begins. */
  skipOpening(): void
  /** Skips entries of hooks and extensions. */
  skipOutOfBand(): void
  /** Skips entries of hooks and extensions, and failed attempts at the begin of a step. */
  skipFailed(): void
  /** Skips entries of composites. */
  skipNested(): void
  /** Skips the reconciled results of interrupted calls, with which a resumed run begins. */
  skipLookups(): void
  /** Whether the run was ended from outside at this position. */
  isClosing(): boolean
  skipClosing(): void
}

export function openRecordedLog(recorded: readonly Entry[]): RecordedLog {
  const given = recorded.findLastIndex(isForkMark)
  const state = foldLog(recorded.slice(0, given + 1))
  let at = given + 1
  const places = new Map(recorded.map(({ id }, index) => [id, index]))
  const take = (): void => {
    const entry = recorded[at++]
    if (entry) reduceEntry(state, entry)
  }
  const takeWhile = (holds: (entry: Entry) => boolean): void => {
    for (let entry = recorded[at]; entry && holds(entry); entry = recorded[at]) take()
  }
  return {
    state,
    entry: (ahead = 0) => recorded[at + ahead],
    take,
    find(id) {
      const place = places.get(id)
      const entry = place === undefined ? undefined : recorded[place]
      return entry && place !== undefined ? { entry, past: place < at } : undefined
    },
    skipOpening: () =>
      takeWhile(
        (entry) => isOutOfBand(entry) || isTaken(state, entry) || (entry.type === 'message' && entry.via === 'input'),
      ),
    skipOutOfBand: () => takeWhile(isOutOfBand),
    skipFailed: () => takeWhile((entry) => isOutOfBand(entry) || isFailed(entry)),
    skipNested: () => takeWhile((entry) => isOutOfBand(entry) || isNested(state, entry)),
    skipLookups() {
      const found = new Set<string>()
      takeWhile((entry) => {
        if (isOutOfBand(entry)) return true
        if (entry.type !== 'call') return false
        if (entry.op === 'settled') return found.delete(entry.callId)
        if (entry.op !== 'decided' || entry.by !== lookedUpBy) return false
        if (entry.outcome === 'result') found.add(entry.callId)
        return true
      })
    },
    isClosing() {
      let cutOff = false
      for (let i = at; ; i++) {
        const entry = recorded[i]
        // The log ends here, so the end of the run is unknown.
        if (!entry) return cutOff
        cutOff ||= entry.type === 'call'
        if (entry.type === 'run') return entry.op === 'ended' && (entry.status === 'aborted' || isFromOutside(entry))
        if (entry.type === 'message' && entry.via === 'model') return purposeOf(entry) === 'closing'
        const between =
          entry.type === 'resolved' || (entry.type === 'call' && entry.op === 'settled' && entry.via === 'log')
        if (!between && !isOutOfBand(entry) && !isFailed(entry)) return false
      }
    },
    skipClosing() {
      takeWhile((entry) => !(entry.type === 'run'))
      take()
    },
  }
}

/** Returns whether the driver writes an entry without an ask of the loop. */
export function isOutOfBand(entry: Entry): boolean {
  switch (entry.type) {
    case 'ext':
    case 'audit':
    case 'memo':
    case 'tail':
    case 'child':
    case 'view':
      return true
    case 'attempt':
      return entry.purpose === 'generated'
    case 'message':
      return entry.message.role === 'system'
    case 'run':
    case 'call':
    case 'wait':
    case 'resolved':
    case 'handoff':
      return false
    default:
      return assertNever(entry)
  }
}

function isFailed(entry: Entry): boolean {
  return entry.type === 'attempt' && entry.outcome === 'discarded'
}

/** Returns whether an entry marks an inbox item as taken. No wait has its token. */
export function isTaken(state: SessionState, entry: Entry): boolean {
  return entry.type === 'resolved' && !state.waits.has(entry.token)
}

/** Returns whether a run failed for a reason outside the loop. The loop has two reasons; a model failure precedes. */
function isFromOutside({ status, error }: EntryOf<'run', 'ended'>): boolean {
  return status === 'failed' && error?.code !== 'max-steps' && error?.code !== 'response-denied'
}

/** Returns whether an entry belongs to a composite or its children. The loop has no ask for it. */
export function isNested(state: SessionState, entry: Entry): boolean {
  const { run, waits } = state
  if (isTaken(state, entry)) return true
  const wait = entry.type === 'resolved' ? waits.get(entry.token) : entry.type === 'wait' ? entry : undefined
  if (wait?.child) return true
  if (wait) return wait.callId !== undefined && (wait.parks === true || run?.nestedCalls.has(wait.callId) === true)
  if (entry.type !== 'call' || !run) return false
  if (entry.op === 'planned' || entry.op === 'parked' || run.nestedCalls.has(entry.callId)) return true
  const stage = run.calls.get(entry.callId)?.stage
  return entry.op === 'settled' && (stage === 'parked' || stage === 'resumable')
}

/** Returns the next recorded entry that answers an ask of the loop. */
export function nextOf(recorded: RecordedLog): Entry | undefined {
  recorded.skipOutOfBand()
  return recorded.entry()
}
