import type { KnownKeys, NewEntry, SessionStore } from '@provost/core'
import { ProvostError, checkOptions, clockOf, confidentialities, isRecord } from '@provost/core'

import { newEntry } from '../state/entry.ts'
import { currentRun } from '../tree/async-context.ts'
import type { Progress, ProgressArtifact, ProgressFilter, ProgressMeta } from '../types/agent.ts'
import type { EntryContext } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext } from '../types/run-context.ts'
import type { StoredArtifact } from './artifact-log.ts'
import { agentLog, appendArtifacts, artifactsIn, runLog, runsIn } from './artifact-log.ts'

const mostBytes = 16 * 1024 * 1024
const longestRole = 200
const mostTags = 32
const mostRead = 1000
const usuallyRead = 100

/** Returns the artifact store of an agent. */
export function progressOf(planned: () => ResolvedAgent): Progress {
  return Object.freeze({
    async write(content: string | Uint8Array, meta: ProgressMeta) {
      const ctx = currentRun()
      const { name, store: own, secrets } = planned()
      const store = ctx?.agent.store ?? own
      const { scrubber } = ctx?.secrets ?? secrets
      const { role, seq, tags, confidentiality } = checkedMeta(meta)
      const bytes = scrubber.scrubBytes(bytesOf(content))
      const level = confidentiality ?? ctx?.state.viewLabel.confidentiality ?? 'internal'
      const scrubbed = { role: scrubber.scrub(role), tags: tags.map((tag) => scrubber.scrub(tag)) }
      // Store the bytes before the entry, so that a reader of the entry finds them.
      const blob = await store.putBlob(bytes)
      const id = `${ctx?.id ?? agentLog(name)}/progress/${encodeURIComponent(scrubbed.role)}/${seq}`
      const artifact = { ...scrubbed, id, seq, confidentiality: level, blob, bytes: bytes.byteLength }
      const place = { runId: ctx?.id ?? '', step: ctx?.step ?? 0, agent: name, clock: clockOf(store) }
      const log = ctx ? runLog(ctx.id) : agentLog(name)
      // Record the log's name in the run first, so that a deletion of the session finds it.
      if (ctx) await belongsTo(ctx, log)
      // A repeated write, as after a crash, results in one entry.
      const entryId = `${id}/${blob}/${level}/${tags.map(encodeURIComponent).join(',')}`
      await appendArtifacts(store, log, (last, offset) =>
        last.get(id) === entryId ? undefined : entryOf(place, `${entryId}#${offset}`, artifact),
      )
      if (ctx) {
        await appendArtifacts(store, agentLog(name), () => entryOf(place, `run/${ctx.id}`, { run: ctx.id }))
        const { role: shown, tags: labels } = scrubbed
        const payload = { id, role: shown, seq, confidentiality: level, tags: labels, bytes: bytes.byteLength }
        ctx.logWriter.emit('progress.written', payload, ctx.step)
      }
      return { id }
    },
    async read(filter: ProgressFilter = {}) {
      const { role, sinceSeq, maxArtifacts = usuallyRead, runId } = checkedFilter(filter)
      const ctx = currentRun()
      const { name, store: own } = planned()
      const store = ctx?.agent.store ?? own
      const run = runId ?? ctx?.id
      const logs =
        run === undefined ? [agentLog(name), ...(await runsIn(store, agentLog(name))).map(runLog)] : [runLog(run)]
      const found: StoredArtifact[] = []
      for (const log of logs) {
        for (const artifact of await artifactsIn(store, log)) {
          if (role !== undefined && artifact.role !== role) continue
          if (sinceSeq !== undefined && artifact.seq <= sinceSeq) continue
          found.push(artifact)
        }
      }
      const chosen = found.toSorted((a, b) => a.seq - b.seq || a.at - b.at).slice(0, maxArtifacts)
      const read = await Promise.all(chosen.map((artifact) => withContent(store, artifact)))
      return read.filter((artifact) => artifact !== undefined)
    },
  })
}

/** Runs whose own log already names their artifact log. */
const named = new WeakSet<RunContext>()

async function belongsTo(ctx: RunContext, log: string): Promise<void> {
  if (named.has(ctx)) return
  const place = { ...ctx.logWriter.entryContext(), step: ctx.step }
  await ctx.logWriter.append([
    newEntry(place, `${ctx.id}/progress/log`, { type: 'ext', name: 'progress', key: 'log', data: { log } }),
  ])
  named.add(ctx)
}

function entryOf(place: EntryContext, id: string, data: StoredData): NewEntry {
  return newEntry(place, id, { type: 'ext', name: 'progress', key: id, data: { ...data } })
}

type StoredData = Omit<StoredArtifact, 'at' | 'agent' | 'runId'> | { readonly run: string }

async function withContent(store: SessionStore, artifact: StoredArtifact): Promise<ProgressArtifact | undefined> {
  const { id, runId, agent, role, seq, confidentiality, tags, at, blob } = artifact
  const content = await store.blob(blob)
  return content && { id, ...(runId !== '' && { runId }), agent, role, seq, content, confidentiality, tags, at }
}

function bytesOf(content: unknown): Uint8Array {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  if (!(bytes instanceof Uint8Array)) throw invalid('is neither a string nor a Uint8Array')
  if (bytes.byteLength > mostBytes) throw invalid(`has ${bytes.byteLength} bytes; the limit is ${mostBytes}`)
  return bytes
}

const metaKeys = { role: true, seq: true, confidentiality: true, tags: true } satisfies KnownKeys<ProgressMeta>
const filterKeys = {
  runId: true,
  role: true,
  sinceSeq: true,
  maxArtifacts: true,
} satisfies KnownKeys<ProgressFilter>

function checkedMeta(meta: unknown): ProgressMeta & { readonly tags: readonly string[] } {
  if (!isRecord(meta)) throw invalid('has no metadata')
  checkOptions(meta, metaKeys, 'progress.write')
  const { role, seq, confidentiality, tags = [] } = meta
  if (!isName(role)) throw invalid(`needs a role of 1 to ${longestRole} characters`)
  if (!isCount(seq)) throw invalid('needs a seq that is an integer of at least 0')
  const level = confidentialities.find((one) => one === confidentiality)
  if (confidentiality !== undefined && !level)
    throw invalid(`has an unknown confidentiality; known are ${confidentialities.join(', ')}`)
  if (!Array.isArray(tags) || tags.length > mostTags || !tags.every(isName)) {
    throw invalid(`needs an array of at most ${mostTags} tags of 1 to ${longestRole} characters`)
  }
  return { role, seq, tags, ...(level && { confidentiality: level }) }
}

function checkedFilter(filter: unknown): ProgressFilter {
  if (!isRecord(filter)) throw invalidFilter('it is not an object')
  checkOptions(filter, filterKeys, 'progress.read')
  const { runId, role, sinceSeq, maxArtifacts } = filter
  if (runId !== undefined && (typeof runId !== 'string' || runId === '' || runId.length > 2000)) {
    throw invalidFilter('runId must be a string of 1 to 2000 characters')
  }
  if (role !== undefined && typeof role !== 'string') throw invalidFilter('role must be a string')
  if (sinceSeq !== undefined && (typeof sinceSeq !== 'number' || Number.isNaN(sinceSeq))) {
    throw invalidFilter('sinceSeq must be a number')
  }
  if (maxArtifacts !== undefined && !(isCount(maxArtifacts) && maxArtifacts <= mostRead)) {
    throw invalidFilter(`maxArtifacts must be an integer from 0 to ${mostRead}`)
  }
  return {
    ...(runId !== undefined && { runId }),
    ...(role !== undefined && { role }),
    ...(sinceSeq !== undefined && { sinceSeq }),
    ...(maxArtifacts !== undefined && { maxArtifacts }),
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestRole && value.isWellFormed()
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function invalid(why: string): ProvostError {
  return new ProvostError('invalid-artifact', `The artifact ${why}.`, {
    hint: "Write a string or a Uint8Array of at most 16 MiB with { role: 'plan', seq: 1 }.",
  })
}

function invalidFilter(why: string): ProvostError {
  return new ProvostError('invalid-artifact', `Invalid filter in progress.read: ${why}.`, {
    hint: 'Give { runId, role, sinceSeq, maxArtifacts }; all of them are optional.',
  })
}
