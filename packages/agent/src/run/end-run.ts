import type { NewEntry } from '@provost/core'

import { report } from '../control/report.ts'
import { agentNamed } from '../handoff/active-agent.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { runResult } from '../result/run-result.ts'
import { offsetOf } from '../state/session-state.ts'
import type { Hooked } from '../types/hooks.ts'
import type { Written } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { SessionState } from '../types/session-state.ts'

/**
 * Ends or pauses a run: the `run.end` hooks see the result, then the entries that end it are written. A crash in
 * between makes the hooks run again, never not at all.
 *
 * @param entries end with the entry that ends the run.
 */
export async function endRun(scope: RunContext, entries: readonly NewEntry[]): Promise<Written> {
  const { append } = scope.journal
  const last = entries.at(-1)
  const hooks = endHooks(scope)
  if (!last || hooks.length === 0) return append(entries)
  await append(entries.slice(0, -1))
  const ids = { sessionId: scope.sessionId, runId: scope.id }
  const result = await runResult(scope.entry, foreseen(scope.state, last), ids)
  for (const { extension, hook } of hooks) {
    const call = async (): Promise<unknown> =>
      inHookTime(scope, extension, 'run.end', hook(result, scope.contextFor(extension)))
    const failed = (thrown: unknown): void => report(scope, thrown, { kind: 'hook', name: extension.name })
    await withinGrace(scope, call().catch(failed))
  }
  return append([last])
}

/** Of the active agent, and of all whom the run was with before: each hears how it ended. */
function endHooks({ plan, entry, state }: RunContext): readonly Hooked<'run.end'>[] {
  const hooks = [...plan.hooks['run.end']]
  for (const name of state.run?.agents ?? []) {
    if (name === plan.name) continue
    for (const hooked of agentNamed(entry, name)?.hooks['run.end'] ?? []) {
      if (!hooks.some(({ extension }) => extension === hooked.extension)) hooks.push(hooked)
    }
  }
  return hooks
}

/** Waits for work, but after an abort no longer than tools may take. */
async function withinGrace(scope: RunContext, work: Promise<unknown>): Promise<void> {
  const { signal } = scope
  const over = Promise.withResolvers<void>()
  let grace: NodeJS.Timeout | undefined
  const count = (): void => void (grace = setTimeout(over.resolve, scope.graceMs))
  if (signal.aborted) count()
  else signal.addEventListener('abort', count, { once: true })
  await Promise.race([work, over.promise])
  signal.removeEventListener('abort', count)
  clearTimeout(grace)
}

/** The state as it will be once the last entry stands in the log. */
function foreseen(state: SessionState, last: NewEntry): SessionState {
  if (!state.run || last.type !== 'run') return state
  const status = last.op === 'ended' ? last.status : 'suspended'
  const { output, error } = last.op === 'ended' ? last : {}
  return {
    ...state,
    entries: [...state.entries, { ...last, offset: offsetOf(state) + 1 }],
    run: { ...state.run, status, ...(output !== undefined && { output }), ...(error && { error }) },
  }
}
