import type { Entry, Json, NewEntry } from '@provost/core'
import { canonicalJson, purposeOf, toJson } from '@provost/core'

import type { RecordedLog } from './recorded-log.ts'
import { isOutOfBand, nextOf } from './recorded-log.ts'

/** The first place where the current loop differs from the recorded log. */
export interface ReplayDifference {
  /** The offset of the recorded entry. */
  readonly offset: number
  readonly expected: Entry
  /** The entry that the loop would write, or a description of what it would do. */
  readonly got: NewEntry | string
}

/** Stops the replay of one loop, with the reason. */
export class ReplayStopped extends Error {
  readonly reason: 'end' | 'resumed' | 'closed' | 'yielded' | ReplayDifference
  constructor(why: ReplayStopped['reason']) {
    super('The replay of this loop has stopped.')
    this.reason = why
  }
}

/** Returns the next recorded entry. Throws {@link ReplayStopped} if this loop ends there. */
export function nextExpected(recorded: RecordedLog): Entry {
  const entry = nextOf(recorded)
  if (!entry) throw new ReplayStopped('end')
  if (entry.type === 'run' && entry.op === 'resumed') throw new ReplayStopped('resumed')
  return entry
}

/** Returns the error that stops a loop that differs from the log. */
export function differs(expected: Entry, got: NewEntry | string): ReplayStopped {
  return new ReplayStopped({ offset: expected.offset, expected, got })
}

/** Takes the next recorded entry, and stops the replay if the loop writes another one. */
export function compareNext(recorded: RecordedLog, got: NewEntry): void {
  const known = got.type === 'run' ? undefined : recorded.find(got.id)
  if (known?.past) {
    if (!isSame(known.entry, got)) throw differs(known.entry, got)
    return
  }
  for (let entry = recorded.entry(); entry; entry = recorded.entry()) {
    if (isSame(entry, got)) {
      recorded.take()
      return
    }
    if (entry.id !== got.id && isOutOfBand(entry)) recorded.take()
    else if (entry.type === 'run' && entry.op === 'resumed') throw new ReplayStopped('resumed')
    else throw recorded.isClosing() ? new ReplayStopped('closed') : differs(entry, got)
  }
  throw new ReplayStopped('end')
}

/**
 * Returns an entry as a replay can expect it. Earlier releases recorded no subject of a question, and asked about each
 * call apart. Hooks trace the origins of a subject and look for what is suspicious, and a replay calls no hooks.
 */
function asRecorded(recorded: Entry, got: NewEntry): NewEntry {
  if (recorded.type !== 'wait' || got.type !== 'wait') return got
  const { about, batch, ...asked } = got
  const rest = batch !== undefined && recorded.batch !== undefined ? { ...asked, batch } : asked
  if (!about || !recorded.about) return rest
  const { origins, warnings } = recorded.about
  return { ...rest, about: { ...about, ...(origins && { origins }), ...(warnings && { warnings }) } }
}

function isSame(recorded: Entry, got: NewEntry): boolean {
  return (
    recorded.type === got.type &&
    (recorded === got ||
      canonicalJson(comparableEntry(recorded)) === canonicalJson(comparableEntry(asRecorded(recorded, got))))
  )
}

/**
 * Returns an entry for comparison: without times, the source of an error, data of the writer and the store, and what
 * depends on the concurrency.
 */
function comparableEntry(entry: NewEntry): Json {
  const {
    offset: _,
    at: __,
    fence: ___,
    durationMs: ____,
    deadline: _____,
    repeatable: ______,
    announces: _______,
    source: ________,
    due: _________,
    seen: __________,
    ...rest
  }: Record<string, unknown> = { ...entry }
  // Ids of run entries count entries, and hooks may write entries in between.
  if (entry.type === 'run') delete rest['id']
  // Logs of earlier releases do not state the purpose.
  if (entry.type === 'message') rest['message'] = { ...entry.message, createdAt: 0, purpose: purposeOf(entry) }
  return toJson(rest)
}
