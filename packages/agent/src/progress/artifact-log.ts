import { setTimeout as sleep } from 'node:timers/promises'

import type { Confidentiality, Entry, NewEntry, SessionStore } from '@provost/core'
import { confidentialities, isRecord, ProvostError } from '@provost/core'

import { holdLease } from '../log/lease.ts'

/** An artifact as its log has it: its bytes are a blob of the store. */
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

// Logs of their own, one for each run: the run's own has its writer, and others may go on when it has ended. A store
// takes any name for a log, so nothing that stands in one leads anywhere else.

/** What a run wrote. The run's own log names it, so that it goes with the session. */
export function runLog(runId: string): string {
  return `progress/run/${runId}`
}

/** What an agent wrote outside of runs, and the runs in which it wrote. */
export function agentLog(agent: string): string {
  return `progress/agent/${agent}`
}

/** What this process knows of a log: where it ends, and which entry each artifact was written by last. */
interface Known {
  offset: number
  /** How often artifacts were written. */
  written: number
  readonly last: Map<string, string>
  /** Ids of runs that the log names. */
  readonly runs: Set<string>
  writing: Promise<unknown>
}

const knownLogs = new WeakMap<SessionStore, Map<string, Known>>()
/** Logs that are remembered for each store: others are read again. */
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
 * Makes an entry from what is known of the log: the ids of artifacts with the entries that have them now, and where the
 * log ends. Undefined: it is there.
 */
export type Make = (last: ReadonlyMap<string, string>, offset: number) => NewEntry | undefined

/** Artifacts that one log may have. */
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
    // What was deleted in the meantime has to be written again: for what seems to be there, the log is asked.
    if (make(known.last, known.offset) === undefined) await readAnew(store, log, known)
    for (let tries = 0; ; tries++) {
      const entry = make(known.last, known.offset)
      if (!entry || isKnownRun(known, entry)) return
      // That a run has written something is no artifact.
      if (known.written >= mostArtifacts && runIn(entry) === undefined) throw tooMany(log)
      try {
        const { offset } = await store.append(log, [entry], { after: known.offset, fence: lease.fence })
        learn(known, { ...entry, offset })
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
  for await (const entry of store.read(log, known.offset)) learn(known, entry)
}

function readAnew(store: SessionStore, log: string, known: Known): Promise<void> {
  known.offset = 0
  known.written = 0
  known.last.clear()
  known.runs.clear()
  return catchUp(store, log, known)
}

function isKnownRun(known: Known, { id }: NewEntry): boolean {
  return id.startsWith('run/') && known.runs.has(id.slice('run/'.length))
}

async function leaseOf(store: SessionStore, log: string): Promise<{ fence: number; release(): Promise<void> }> {
  const until = performance.now() + patienceMs
  for (let pause = 5; ; pause = Math.min(pause * 2, 200)) {
    const lease = await holdLease(store, log, leaseMs, 'part')
    if (lease) return lease
    if (performance.now() > until) throw busy(log)
    await sleep(pause + Math.random() * pause)
  }
}

function learn(known: Known, entry: Entry): void {
  known.offset = Math.max(known.offset, entry.offset)
  const run = runIn(entry)
  if (run !== undefined) known.runs.add(run)
  const artifact = artifactIn(entry)
  if (!artifact) return
  known.written++
  known.last.set(artifact.id, entry.id.slice(0, entry.id.lastIndexOf('#')))
}

/** The artifacts of a log: of those with the same id the last. */
export async function artifactsIn(store: SessionStore, log: string): Promise<readonly StoredArtifact[]> {
  const found = new Map<string, StoredArtifact>()
  for await (const entry of store.read(log)) {
    const artifact = artifactIn(entry)
    if (artifact) found.set(artifact.id, artifact)
  }
  return [...found.values()]
}

/** The runs that a log names. */
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
  return new ProvostError('progress-busy', `Somebody else kept writing ${log} for ${patienceMs / 1000} seconds.`, {
    hint: 'Write again.',
    retryable: true,
  })
}

function tooMany(log: string): ProvostError {
  return new ProvostError('too-many-artifacts', `${log} has ${mostArtifacts} artifacts, and takes no more.`, {
    hint: 'Write fewer and larger ones, or delete the log from the store.',
  })
}
