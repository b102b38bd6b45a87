import type { ErrorInfo, NewEntry } from '@provost/core'
import { joinLabels } from '@provost/core'

import { joinedEntry } from '../entries/child-entries.ts'
import { openCallEntries, openWaitEntries } from '../entries/closing-entries.ts'
import { closingMessage, endedEntry } from '../entries/run-entries.ts'
import { createEventBus } from '../events/event-bus.ts'
import { holdLease } from '../log/lease.ts'
import { applyEntries, logSnapshot, readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { placeOf } from '../state/entry.ts'
import { callOf } from '../state/session-state.ts'
import { usageReport } from '../state/usage.ts'
import { usageOfBudget } from '../tree/budget.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState, ChildState, SessionState } from '../types/session-state.ts'

/**
 * Ends the logs of abandoned children: their parent run has ended, and no process holds their lease.
 *
 * @param composite restricts this to children of this composite and of the calls within it.
 * @returns the entries about them for the log of the run. `appendAborting` then aborts those that run elsewhere.
 * @throws ProvostError `fenced` when another process has taken over the session.
 */
export async function closeChildren(
  ctx: RunContext,
  state: SessionState,
  composite?: CallState,
): Promise<readonly NewEntry[]> {
  const joined: NewEntry[] = []
  for (const child of state.run?.children.values() ?? []) {
    // A child that runs in this process ends by itself.
    if (child.completion || ctx.children.get(child.callId)?.isRunning) continue
    if (composite && !isDescendant(state, child, composite)) continue
    // A process that was taken over must not end a log that the new owner resumes.
    await ctx.logWriter.confirm()
    const entry = await closeChild(ctx, child)
    if (entry) joined.push(entry)
  }
  return joined
}

function isDescendant({ run }: SessionState, { parentCallId }: ChildState, composite: CallState): boolean {
  let id: string | undefined = parentCallId
  while (id !== undefined) {
    if (id === composite.part.callId) return true
    id = run && callOf(run, id)?.parentCallId
  }
  return false
}

/**
 * Ends the log of one child, unless another process holds its lease.
 *
 * @param error of a child that failed, and whose log does not have its end. Default: it is ended as aborted.
 */
export async function closeChild(ctx: RunContext, child: ChildState, error?: ErrorInfo): Promise<NewEntry | undefined> {
  const { agent, sessionId } = ctx
  const { store } = agent
  if (child.where === 'any') {
    const known = logSnapshot(sessionId, ctx.state.clock)
    applyEntries(known, await readLog(store, child.log))
    return closed(ctx, child, known.state)
  }
  const lease = await holdLease(store, child.log, agent.leaseMs, 'part')
  // The process that holds the lease ends it.
  if (!lease) return undefined
  try {
    const snapshot = logSnapshot(sessionId, ctx.state.clock)
    const eventBus = createEventBus([])
    const { scrubber } = ctx.secrets
    const options = {
      store,
      log: child.log,
      sessionId,
      runId: child.callId,
      agent: child.agent,
      lease,
      eventBus,
      scrubber,
    }
    const logWriter = openLogWriter(options, await readLog(store, child.log), snapshot)
    const { state } = snapshot
    if (state.run?.status === 'running' || state.run?.status === 'suspended') {
      const place = placeOf(state)
      const entries = [
        ...(await closeChildren(ctx, state)),
        ...openCallEntries(state),
        ...openWaitEntries(state),
        closingMessage(place, error ? 'error' : 'aborted', undefined, error),
      ]
      await logWriter.append(entries)
      await logWriter.append([endedEntry(state, agent, error ? 'failed' : 'aborted', error, place)])
    }
    return closed(ctx, child, state)
  } finally {
    await lease.release()
  }
}

/** Returns the entry for the end of a child whose log is closed, or is being closed. */
function closed(ctx: RunContext, child: ChildState, state: SessionState): NewEntry {
  const { toolCalls, steps } = usageOfBudget(state.run)
  const { status = 'aborted' } = state.run ?? {}
  return joinedEntry(ctx.state, child, state.offset, {
    status: status === 'running' || status === 'suspended' ? 'aborted' : status,
    usage: state.run ? usageReport(state.run) : { byModel: {} },
    toolCalls,
    steps,
    label: joinLabels(child.label, state.viewLabel),
    ...(state.run && { bytes: state.run.bytes }),
  })
}
