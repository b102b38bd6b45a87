import { randomUUID } from 'node:crypto'

import type { Extension, Fold, NewEntry, Principal, SessionContext } from '@provost/core'
import { toJson } from '@provost/core'

import { agentNamed } from '../handoff/active-agent.ts'
import { newEntry } from '../state/entry.ts'
import { offsetOf } from '../state/session-state.ts'
import type { Hooked } from '../types/hooks.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** The session that is being closed. */
export interface Stopping {
  readonly plan: ResolvedAgent
  readonly id: string
  readonly principal: Principal | undefined
  readonly context: unknown
  readonly known: LogSnapshot
  write(entries: readonly NewEntry[]): Promise<void>
}

/**
 * Runs the `session.stop` hooks of the agent that the session began with, and of those that it was handed over to: each
 * extension once, in the order in which they came to have it. One that fails does not keep the others from theirs.
 *
 * @throws AggregateError with what they threw.
 */
export async function runStopHooks({ plan, id, principal, context, known, write }: Stopping): Promise<void> {
  const { state } = known
  const failures: unknown[] = []
  for (const { extension, hook, of } of stopHooks(plan, known)) {
    const ctx: SessionContext = {
      session: { id },
      agent: { name: of.name, ...(of.description !== undefined && { description: of.description }) },
      ...(principal && { principal }),
      signal: new AbortController().signal,
      context,
      fold: <S>({ initial, apply }: Fold<S>): S => state.entries.reduce(apply, initial),
      async append(key, data) {
        // A session may be closed more than once: the offset tells the times apart.
        const entryId = `${id}/stop/${offsetOf(state)}/ext/${extension.name}/${key}`
        const place = { runId: id, step: 0, agent: of.name }
        await write([newEntry(place, entryId, { type: 'ext', name: extension.name, key, data: toJson(data) })])
      },
      blob: (hash) => plan.store.blob(hash),
      putBlob: (bytes) => plan.store.putBlob(plan.secrets.scrubber.scrubBytes(bytes)),
      scrub: (text) => plan.secrets.scrubber.scrub(text),
      now: () => Date.now(),
      uuid: () => randomUUID(),
    }
    try {
      await hook(ctx)
    } catch (thrown) {
      failures.push(thrown)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `A session.stop hook of session ${id} failed.`)
}

type StopHook = Hooked<'session.stop'> & { readonly of: ResolvedAgent }

function stopHooks(entry: ResolvedAgent, { state: { run, lineage } }: LogSnapshot): readonly StopHook[] {
  const handed = run?.manifest.agent === entry.name ? lineage : []
  const found = new Map<Extension, StopHook>()
  for (const name of [entry.name, ...handed]) {
    const of = agentNamed(entry, name)
    for (const one of of?.hooks['session.stop'] ?? []) {
      if (of && !found.has(one.extension)) found.set(one.extension, { ...one, of })
    }
  }
  return [...found.values()]
}
