import type { Confidentiality, Entry, NewEntry, SessionStore } from '@provost/core'
import { clockOf, confidentialities, isRecord, ProvostError, sleep } from '@provost/core'

import { holdLease } from '../log/lease.ts'

/** An artifact as its log records it. Its bytes are a blob of the store. */
export interface StoredArtifact {
  readonly id: string
  readonly runId: string
  readonly agent: string
  readonly role: string
  readonly seq: number
  readonly confidentiality: Confidentiality
  readonly tags: readonly string[]
  readonly blob: string
  readonly bytes: number
  readonly at: number
}

// Artifacts have separate logs, one for each run: the run's own log has another writer, and artifacts may follow its end.
// A store treats a log name as opaque, so no name can reach another log.

/** Returns the name of the log with a run's artifacts. The run's own log records the name, so that both are deleted together. */
export function runLog(runId: string): string {
  return `progress/run/${runId}`
}

/** Returns the name of the log with an agent's artifacts outside of runs, and with the runs in which it wrote. */
export function agentLog(agent: string): string {
  return `progress/agent/${agent}`
}

/** The cached state of a log: its end, and the last entry of each artifact. */
interface Known {
  offset: number
  /** The number of artifact entries. */
  written: number
  readonly last: Map<string, string>
  /** Ids of runs that the log names. */
  readonly runs: Set<string>
  writing: Promise<unknown>
}

const knownLogs = new WeakMap<SessionStore, Map<string, Known>>()
/** Cached logs of one store. Logs beyond this number are read again. */
const mostKnown = 1000

function knownOf(store: SessionStore, log: string): Known {
  let logs = knownLogs.get(store)
  if (!logs) knownLogs.set(store, (logs = new Map()))
  let known = logs.get(log)
  if (!known) {
    const [oldest] = logs.keys()
    if (logs.size >= mostKnown && oldest !== undefined) logs.delete(oldest)
    logs.set(log, (known = { offset: 0, written: 0, last: new Map(), runs: new Set(), writing: Promise.resolve() }))
  }
  return known
}

/**
 * Makes an entry from the state of the log.
 *
 * @param last the last entry id of each artifact, by artifact id.
 * @param offset of the last entry of the log.
 * @returns undefined when the log already has the entry.
 */
export type Make = (last: ReadonlyMap<string, string>, offset: number) => NewEntry | undefined

/** The most artifacts that one log may hold. */
const mostArtifacts = 10_000
const leaseMs = 10_000
const patienceMs = 10_000

/**
 * Appends an entry to a log of artifacts, one writer after the other.
 *
 * @throws ProvostError `progress-busy`, `too-many-artifacts`
 */
export function appendArtifacts(store: SessionStore, log: string, make: Make): Promise<void> {
  const known = knownOf(store, log)
  const written = known.writing.then(() => append(store, log, known, make))
  known.writing = written.catch(() => {})
  return written
}

async function append(store: SessionStore, log: string, known: Known, make: Make): Promise<void> {
  const lease = await leaseOf(store, log)
  try {
    await catchUp(store, log, known)
    // The cache may be stale after a deletion: read the log again before skipping the write.
    if (make(known.last, known.offset) === undefined) await readAnew(store, log, known)
    for (let tries = 0; ; tries++) {
      const entry = make(known.last, known.offset)
      if (!entry || isKnownRun(known, entry)) return
      // An entry that names a run is not an artifact.
      if (known.written >= mostArtifacts && runIn(entry) === undefined) throw tooMany(log)
      try {
        const { offset } = await store.append(log, [entry], { after: known.offset, fence: lease.fence })
        applyArtifact(known, { ...entry, offset })
        return
      } catch (thrown) {
        const deleted = thrown instanceof ProvostError && thrown.code === 'wrong-offset'
        if (!deleted || tries > 0) throw thrown
        await readAnew(store, log, known)
      }
    }
  } finally {
    await lease.release()
  }
}

async function catchUp(store: SessionStore, log: string, known: Known): Promise<void> {
  for await (const entry of store.read(log, known.offset)) applyArtifact(known, entry)
}

function readAnew(store: SessionStore, log: string, known: Known): Promise<void> {
  known.offset = 0
  known.written = 0
  known.last.clear()
  known.runs.clear()
  return catchUp(store, log, known)
}

function isKnownRun(known: Known, entry: NewEntry): boolean {
  const run = runIn(entry)
  return run !== undefined && known.runs.has(run)
}

async function leaseOf(store: SessionStore, log: string): Promise<{ fence: number; release(): Promise<void> }> {
  const clock = clockOf(store)
  const until = clock.elapsed() + patienceMs
  for (let pause = 5; ; pause = Math.min(pause * 2, 200)) {
    const lease = await holdLease(store, log, leaseMs, 'part')
    if (lease) return lease
    if (clock.elapsed() > until) throw busy(log)
    await sleep(clock, pause + Math.random() * pause)
  }
}

function applyArtifact(known: Known, entry: Entry): void {
  known.offset = Math.max(known.offset, entry.offset)
  const run = runIn(entry)
  if (run !== undefined) known.runs.add(run)
  const artifact = artifactIn(entry)
  if (!artifact) return
  known.written++
  known.last.set(artifact.id, entry.id.slice(0, entry.id.lastIndexOf('#')))
}

/** Returns the artifacts of a log; of artifacts with the same id the last one. */
export async function artifactsIn(store: SessionStore, log: string): Promise<readonly StoredArtifact[]> {
  const found = new Map<string, StoredArtifact>()
  for await (const entry of store.read(log)) {
    const artifact = artifactIn(entry)
    if (artifact) found.set(artifact.id, artifact)
  }
  return [...found.values()]
}

/** Returns the ids of the runs that a log names. */
export async function runsIn(store: SessionStore, log: string): Promise<readonly string[]> {
  const runs = new Set<string>()
  for await (const entry of store.read(log)) {
    const run = runIn(entry)
    if (run !== undefined) runs.add(run)
  }
  return [...runs]
}

function runIn(entry: Entry | NewEntry): string | undefined {
  if (entry.type !== 'ext' || entry.name !== 'progress' || !isRecord(entry.data)) return undefined
  const { run } = entry.data
  return typeof run === 'string' ? run : undefined
}

function artifactIn(entry: Entry): StoredArtifact | undefined {
  if (entry.type !== 'ext' || entry.name !== 'progress' || !isRecord(entry.data)) return undefined
  const { id, role, seq, confidentiality, tags, blob, bytes } = entry.data
  const level = confidentialities.find((one) => one === confidentiality)
  if (typeof id !== 'string' || typeof role !== 'string' || typeof seq !== 'number' || !level) return undefined
  if (!Array.isArray(tags) || typeof blob !== 'string' || typeof bytes !== 'number') return undefined
  const words = tags.filter((tag) => typeof tag === 'string')
  const { runId, agent, at } = entry
  return { id, runId, agent, role, seq, confidentiality: level, tags: words, blob, bytes, at }
}

function busy(log: string): ProvostError {
  return new ProvostError(
    'progress-busy',
    `Another writer held the lease of ${log} for ${patienceMs / 1000} seconds.`,
    {
      hint: 'Call progress.write again.',
      retryable: true,
    },
  )
}

function tooMany(log: string): ProvostError {
  return new ProvostError('too-many-artifacts', `${log} has reached the limit of ${mostArtifacts} artifacts.`, {
    hint: 'Write fewer and larger artifacts, or delete the log from the store.',
  })
}
