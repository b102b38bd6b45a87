import { randomUUID } from 'node:crypto'

import type { Fold, NewEntry, Principal, SessionContext } from '@provost/core'
import { toJson } from '@provost/core'

import type { AgentPlan } from '../agent-plan.ts'
import { newEntry } from '../entry.ts'
import type { KnownLog } from '../known-log.ts'
import { offsetOf } from '../log-state.ts'

/** The session that is being closed. */
export interface Stopping {
  readonly plan: AgentPlan
  readonly id: string
  readonly principal: Principal | undefined
  readonly context: unknown
  readonly known: KnownLog
  write(entries: readonly NewEntry[]): Promise<void>
}

/**
 * Runs the `session.stop` hooks, in the order of the extensions. One that fails does not keep the others from theirs.
 *
 * @throws AggregateError with what they threw.
 */
export async function runStopHooks({ plan, id, principal, context, known, write }: Stopping): Promise<void> {
  const { state } = known
  const failures: unknown[] = []
  for (const { extension, hook } of plan.hooks['session.stop']) {
    const ctx: SessionContext = {
      session: { id },
      agent: { name: plan.name, ...(plan.description !== undefined && { description: plan.description }) },
      ...(principal && { principal }),
      signal: new AbortController().signal,
      context,
      fold: <S>({ initial, apply }: Fold<S>): S => state.entries.reduce(apply, initial),
      async append(key, data) {
        // A session may be closed more than once: the offset tells the times apart.
        const entryId = `${id}/stop/${offsetOf(state)}/ext/${extension.name}/${key}`
        const place = { runId: id, step: 0, agent: plan.name }
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
