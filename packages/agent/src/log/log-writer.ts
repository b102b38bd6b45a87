import type { Entry, EventPayloads, EventType, NewEntry, Scrubber, SessionStore } from '@provost/core'
import { ProvostError, clockOf, deepFreeze, scrubEntry, scrubPayload, uncheckedAppend } from '@provost/core'

import { storeFailure } from '../control/failure-source.ts'
import { yieldForBytes } from '../control/paced-work.ts'
import { muted } from '../events/muted.ts'
import { reduceEntry } from '../reducers/reducer.ts'
import { bytesOfEntry } from '../state/byte-count.ts'
import { placeOf } from '../state/entry.ts'
import type {
  EmitDurable,
  EventBus,
  Lease,
  LogSnapshot,
  LogWriter,
  EntryContext,
  Reaction,
  AppendResult,
} from '../types/log.ts'
import type { ByteMeter } from '../types/run-tree.ts'
import type { RunBytes } from '../types/session-state.ts'
import { applyEntries, logSnapshot } from './log-snapshot.ts'

/** The log, store and listeners of a writer. */
export interface LogWriterOptions {
  readonly store: SessionStore
  readonly log: string
  readonly sessionId: string
  /** The id of the run that writes; the session's id for entries between runs. */
  readonly runId: string
  /** The agent that starts the run. */
  readonly agent: string
  readonly lease: Pick<Lease, 'fence' | 'confirm' | 'steady'>
  readonly eventBus: EventBus
  readonly scrubber: Scrubber
  /** Enforces the byte limits of the run until the writer is sealed. */
  readonly meter?: ByteMeter
  /** Called when another agent may be active: before the events of the entry. */
  handedOver?(): void
  /** Called for each written entry, after it is applied. */
  committed?(entry: Entry): void
  /** Called when all entries of a write are applied. */
  written?(): void
}

/**
 * Opens the writer of a log.
 *
 * @param past the entries after the snapshot.
 * @param snapshot the snapshot of the log; the writer keeps it up to date.
 */
export function openLogWriter(
  options: LogWriterOptions,
  past: Iterable<Entry>,
  snapshot: LogSnapshot = logSnapshot(options.sessionId, clockOf(options.store)),
): LogWriter {
  const { store, log, lease, eventBus, scrubber, meter } = options
  const { fence } = lease
  const append = uncheckedAppend(store)
  const { state, projection } = snapshot
  const { clock } = state
  /** Whether the writer works between runs: its entries need no run start. */
  const between = options.runId === options.sessionId
  const early: NewEntry[] = []
  let passing = 0
  let sealed = false
  let batch: { readonly entries: NewEntry[]; readonly done: PromiseWithResolvers<AppendResult> } | undefined
  let writing = false
  let underway: Promise<unknown> = Promise.resolve()

  applyEntries(snapshot, past)

  /** The entry whose events are being emitted. `emitted` counts them. */
  let committed: Entry
  let emitted = 0
  /** By entry id: the observers whose reaction the entry is. */
  const reactions = new Map<string, Reaction>()
  let reaction: Reaction | undefined
  const durable: EmitDurable = Object.assign(
    <K extends EventType>(type: K, payload: EventPayloads[K]) =>
      eventBus.emit(`${log}:${committed.offset}.${emitted++}`, committed, type, payload, reaction),
    {
      streamed: <K extends EventType>(type: K, payload: EventPayloads[K]) =>
        eventBus.emit(`${log}:${committed.offset}~${passing++}`, committed, type, payload, reaction),
    },
  )

  function commit(entry: Entry, emit: EmitDurable, bytes?: RunBytes): void {
    // The next run may read an unawaited append before its promise settles here.
    if (entry.offset <= state.offset) return
    projection.before(entry, emit)
    reduceEntry(state, entry, bytes)
    if (entry.type === 'handoff' || entry.type === 'run') options.handedOver?.()
    if (meter && state.run?.id === options.runId) meter.count(options.runId, state.run.bytes)
    committed = entry
    reaction = undefined
    if (reactions.size > 0) {
      reaction = reactions.get(entry.id)
      reactions.delete(entry.id)
    }
    emitted = 0
    passing = 0
    projection.project(entry, emit)
    options.committed?.(entry)
  }

  /** Writes one batch at a time. Entries that arrive during a write form the next batch. */
  async function write(
    drafts: readonly NewEntry[],
    emit = eventBus.active() ? durable : muted,
    from: 'run' | 'copy' = 'run',
  ): Promise<AppendResult> {
    writing = true
    try {
      const before = state.offset
      const placed: Entry[] = []
      const bytes: RunBytes[] = []
      const all = { host: 0, log: 0 }
      for (const draft of drafts) {
        const entry = deepFreeze({ ...scrubEntry(scrubber, draft), offset: before + placed.length + 1 })
        const own = bytesOfEntry(entry)
        placed.push(entry)
        bytes.push(own)
        all.host += own.host
        all.log += own.log
      }
      // The end of a run and copied entries are exempt from the byte limits.
      const over = sealed || from === 'copy' ? undefined : meter?.refusal(all)
      if (over) throw over
      const others = yieldForBytes(all.log)
      if (others) await others
      const { existing } = await append(log, placed, { after: before, fence }).catch((thrown: unknown) =>
        Promise.reject(storeFailure(thrown, 'append')),
      )
      const isNew = existing.length === 0
      const written = isNew ? placed : adopted(placed, existing, before)
      if (others) await yieldForBytes(all.log)
      for (const [index, entry] of written.entries()) commit(entry, emit, isNew ? bytes[index] : undefined)
      // If the store fails here, the next renewal resets the takeover count.
      if (from === 'run' && drafts.some(isAnswer)) void lease.steady().catch(() => {})
      if (written.length > 0) projection.flush(emit)
      options.written?.()
      return { offset: state.offset }
    } finally {
      writing = false
      const next = batch
      batch = undefined
      if (next) {
        const written = write(once(next.entries))
        underway = written.then(next.done.resolve, next.done.reject)
      }
    }
  }

  function enqueue(entries: readonly NewEntry[]): Promise<AppendResult> {
    if (entries.length === 0) return Promise.resolve({ offset: state.offset })
    if (!writing) {
      const written = write(entries.length > 1 ? once(entries) : entries)
      underway = written
      return written
    }
    batch ??= { entries: [], done: Promise.withResolvers() }
    batch.entries.push(...entries)
    return batch.done.promise
  }

  async function catchUp(): Promise<void> {
    const tell = eventBus.active() ? durable : muted
    for await (const entry of store.read(log, state.offset)) commit(entry, tell)
    projection.flush(tell)
  }

  function entryContext(): EntryContext {
    return state.run?.id === options.runId
      ? placeOf(state)
      : { runId: options.runId, step: 0, agent: options.agent, clock }
  }

  const begin = (entries: readonly NewEntry[]): Promise<AppendResult> => enqueue([...entries, ...once(early.splice(0))])

  const refused = (): Promise<never> => Promise.reject(refusal())

  /** @param outlivesSeal whether it still emits once the writer is sealed. */
  const emitter =
    (outlivesSeal: boolean): LogWriter['emit'] =>
    (type, payload, at, by) => {
      if ((sealed && !outlivesSeal) || !eventBus.active()) return
      if (type === 'step.start') projection.stepped()
      const { runId } = options
      const [step, agent] = state.run?.id === runId ? [state.run.step, state.agent] : [0, options.agent]
      const id = `${log}:${state.offset}~${passing++}`
      const known = scrubber.empty ? payload : scrubPayload(scrubber, payload)
      eventBus.emit(id, { runId, step: at ?? step, agent, at: clock.now() }, type, known, by)
    }

  return {
    state,
    fence,
    confirm: lease.confirm,
    steady: lease.steady,
    entryContext,
    copy: (entries) => (sealed ? refused() : write(entries, muted, 'copy')),
    begin: (entries) => (sealed ? refused() : begin(entries)),
    append(entries, by) {
      if (sealed) return refused()
      if (by) for (const { id } of entries) reactions.set(id, by)
      const hasBegun = between || state.run?.id === options.runId
      if (hasBegun) return enqueue(entries)
      early.push(...entries)
      return Promise.resolve({ offset: state.offset })
    },
    emit: emitter(false),
    opened: projection.opened,
    seal() {
      sealed = true
      // Discard the waiting batch: the run has ended.
      batch?.done.reject(refusal())
      batch = undefined
      const settled = underway.then(
        () => {},
        () => {},
      )
      return { settled, catchUp, begin, append: enqueue, emit: emitter(true) }
    },
  }
}

/** Whether an entry records a model's answer in the conversation: `maxSteps` counts these. */
function isAnswer(entry: NewEntry): boolean {
  return entry.type === 'attempt' && entry.outcome === 'answered' && entry.purpose === undefined
}

function refusal(): ProvostError {
  return new ProvostError('run-closed', 'The run has ended and accepts no more entries.', {
    hint: 'A tool or hook continued after an abort. Make it respect its signal.',
  })
}

/** Removes duplicate ids: independent writers may produce the same entry. The first one is kept. */
function once(entries: readonly NewEntry[]): readonly NewEntry[] {
  const [first, second] = entries
  if (entries.length === 2 && first?.id !== second?.id) return entries
  const ids = new Set<string>()
  return entries.filter(({ id }) => !ids.has(id) && ids.add(id))
}

/**
 * Returns the entries to apply after an append. A stored entry with the same id replaces the draft. Entries that this writer
 * had not read come first, as in the log.
 */
function adopted(placed: readonly Entry[], existing: readonly Entry[], before: number): readonly Entry[] {
  const stored = new Map(existing.map((entry) => [entry.id, entry]))
  const later = [...stored.values()].filter(({ offset }) => offset > before).toSorted((a, b) => a.offset - b.offset)
  const fresh = placed.filter(({ id }) => !stored.has(id))
  const first = before + later.length + 1
  return [...later, ...fresh.map((entry, index) => Object.freeze({ ...entry, offset: first + index }))]
}
