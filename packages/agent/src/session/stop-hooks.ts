import { randomUUID } from 'node:crypto'

import type { Extension, Fold, NewEntry, Principal, SessionContext } from '@provost/core'
import { isPromise, toJson } from '@provost/core'

import { agentNamed } from '../handoff/active-agent.ts'
import type { HookClock } from '../hooks/hook-time.ts'
import { hookSignal, inHookTime } from '../hooks/hook-time.ts'
import { inOrder } from '../hooks/run-hooks.ts'
import { newEntry } from '../state/entry.ts'
import { offsetOf } from '../state/session-state.ts'
import type { Hooked } from '../types/hooks.ts'
import type { LogSnapshot } from '../types/log.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** The session to close. */
export interface Stopping {
  readonly plan: ResolvedAgent
  readonly id: string
  readonly principal: Principal | undefined
  readonly context: unknown
  readonly known: LogSnapshot
  write(entries: readonly NewEntry[]): Promise<void>
}

/**
 * Runs the `session.stop` hooks of the first agent and of all targets of handoffs, in the order of the handoffs. The
 * hook of each extension runs once. A failed hook does not stop the others.
 *
 * @throws AggregateError with the errors of the hooks.
 */
export async function runStopHooks(stopping: Stopping): Promise<void> {
  const { plan, id, known } = stopping
  const hookTimes: HookClock['hookTimes'] = new Map()
  const { signal } = new AbortController()
  const none: readonly unknown[] = []
  const errors = await inOrder(stopHooks(plan, known), none, {
    ask({ extension, hook, of }, before) {
      const clock: HookClock = { plan: of, hookTimes, signal }
      const answer = inHookTime(clock, extension, 'session.stop', hook(contextOf(stopping, of, extension, clock)))
      return isPromise(answer) ? answer.then(() => before) : before
    },
    failed: (thrown, _, before) => [...before, thrown],
  })
  if (errors.length > 0) throw new AggregateError(errors, `A session.stop hook of session ${id} failed.`)
}

function contextOf(
  { plan, id, principal, context, known: { state }, write }: Stopping,
  of: ResolvedAgent,
  extension: Extension,
  clock: HookClock,
): SessionContext {
  return {
    session: { id },
    agent: { name: of.name, ...(of.description !== undefined && { description: of.description }) },
    ...(principal && { principal }),
    signal: hookSignal(clock, extension),
    context,
    fold: <S>({ initial, apply }: Fold<S>): S => state.entries.reduce(apply, initial),
    async append(key, data) {
      // A session may be closed more than once, so the offset makes the id unique.
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
