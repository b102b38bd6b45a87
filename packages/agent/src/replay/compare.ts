import type { Entry, Json, NewEntry } from '@provost/core'
import { canonicalJson, toJson } from '@provost/core'

import type { RecordedLog } from './recorded-log.ts'
import { isOutOfBand, nextOf } from './recorded-log.ts'

/** Where the loop of today does something else than the log tells. */
export interface ReplayDifference {
  /** Of the recorded entry. */
  readonly offset: number
  readonly expected: Entry
  /** The entry that the loop would have written, or in words what it would have done. */
  readonly got: NewEntry | string
}

/** Why a loop is left. */
export class ReplayStopped extends Error {
  readonly why: 'end' | 'resumed' | 'closed' | ReplayDifference
  constructor(why: ReplayStopped['why']) {
    super('The replay leaves this loop.')
    this.why = why
  }
}

/** What is recorded next, unless the loop has to be left there. */
export function nextExpected(tape: RecordedLog): Entry {
  const entry = nextOf(tape)
  if (!entry) throw new ReplayStopped('end')
  if (entry.type === 'run' && entry.op === 'resumed') throw new ReplayStopped('resumed')
  return entry
}

/** The loop is left: it does something else. */
export function differs(expected: Entry, got: NewEntry | string): ReplayStopped {
  return new ReplayStopped({ offset: expected.offset, expected, got })
}

/** The next recorded entry has to be the one that the loop writes. */
export function compareNext(tape: RecordedLog, got: NewEntry): void {
  const known = got.type === 'run' ? undefined : tape.find(got.id)
  if (known?.past) {
    if (!isSame(known.entry, got)) throw differs(known.entry, got)
    return
  }
  for (let entry = tape.entry(); entry; entry = tape.entry()) {
    if (isSame(entry, got)) {
      tape.take()
      return
    }
    if (entry.id !== got.id && isOutOfBand(entry)) tape.take()
    else if (entry.type === 'run' && entry.op === 'resumed') throw new ReplayStopped('resumed')
    else throw tape.isClosing() ? new ReplayStopped('closed') : differs(entry, got)
  }
  throw new ReplayStopped('end')
}

/** Earlier releases did not record what a question is about. */
function asRecorded(recorded: Entry, got: NewEntry): NewEntry {
  if (recorded.type !== 'wait' || got.type !== 'wait' || recorded.about) return got
  const { about: _, ...rest } = got
  return rest
}

function isSame(recorded: Entry, got: NewEntry): boolean {
  return (
    recorded.type === got.type &&
    (recorded === got || canonicalJson(essence(recorded)) === canonicalJson(essence(asRecorded(recorded, got))))
  )
}

/** An entry without times, and what is made from them or from who wrote it, or is for the store alone. */
function essence(entry: NewEntry): Json {
  const {
    offset: _,
    at: __,
    fence: ___,
    durationMs: ____,
    deadline: _____,
    repeatable: ______,
    ...rest
  }: Record<string, unknown> = { ...entry }
  // Ids of starts and ends count entries, of which hooks may write some in between.
  if (entry.type === 'run') delete rest['id']
  if (entry.type === 'message') rest['message'] = { ...entry.message, createdAt: 0 }
  return toJson(rest)
}
