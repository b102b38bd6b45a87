import type { NewEntry } from '@provost/core'
import { joinLabels } from '@provost/core'

import { joinedEntry } from '../entries/child-entries.ts'
import { openCallEntries, openWaitEntries } from '../entries/closing-entries.ts'
import { closingMessage, endedEntry } from '../entries/run-entries.ts'
import { createEventBus } from '../events/event-bus.ts'
import { holdLease } from '../log/lease.ts'
import { logSnapshot, readLog } from '../log/log-snapshot.ts'
import { openLogWriter } from '../log/log-writer.ts'
import { placeOf } from '../state/entry.ts'
import { callOf, offsetOf } from '../state/session-state.ts'
import { usageReport } from '../state/usage.ts'
import { usageOfBudget } from '../tree/budget.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState, ChildrenState, SessionState } from '../types/session-state.ts'

/**
 * Ends the logs of abandoned children: their parent run has ended, and no process holds their lease.
 *
 * @param composite restricts this to children of this composite and of the calls within it.
 * @returns the entries about them for the log of the run.
 * @throws ProvostError `fenced` when another process has taken over the session.
 */
export async function closeChildren(
  scope: RunContext,
  state: SessionState,
  composite?: CallState,
): Promise<readonly NewEntry[]> {
  const joined: NewEntry[] = []
  for (const child of state.run?.children.values() ?? []) {
    // A child that runs in this process ends by itself.
    if (child.joined || scope.children.get(child.callId)?.runs) continue
    if (composite && !isBelow(state, child, composite)) continue
    // A process that was taken over must not end a log that the new owner resumes.
    await scope.journal.confirm()
    const entry = await closeChild(scope, child)
    if (entry) joined.push(entry)
  }
  return joined
}

function isBelow({ run }: SessionState, { parentCallId }: ChildrenState, composite: CallState): boolean {
  let id: string | undefined = parentCallId
  while (id !== undefined) {
    if (id === composite.part.callId) return true
    id = run && callOf(run, id)?.parentCallId
  }
  return false
}

/** Ends the log of one child, unless another process holds its lease. */
export async function closeChild(scope: RunContext, child: ChildrenState): Promise<NewEntry | undefined> {
  const { plan, sessionId } = scope
  const { store } = plan
  const lease = await holdLease(store, child.log, plan.leaseMs, 'part')
  // The process that holds the lease ends it.
  if (!lease) return undefined
  try {
    const known = logSnapshot(sessionId)
    const hub = createEventBus([])
    const { scrubber } = scope.secrets
    const options = { store, log: child.log, sessionId, runId: child.callId, agent: child.agent, lease, hub, scrubber }
    const journal = openLogWriter(options, await readLog(store, child.log), known)
    const { state } = known
    if (state.run?.status === 'running' || state.run?.status === 'suspended') {
      const place = placeOf(state)
      const entries = [
        ...(await closeChildren(scope, state)),
        ...openCallEntries(state),
        ...openWaitEntries(state),
        closingMessage(place, 'aborted', undefined),
      ]
      await journal.append(entries)
      await journal.append([endedEntry(state, plan, 'aborted', undefined, place)])
    }
    const { toolCalls, steps } = usageOfBudget(state.run)
    return joinedEntry(scope.state, child, offsetOf(state), {
      status: state.run?.status === 'running' ? 'aborted' : (state.run?.status ?? 'aborted'),
      usage: state.run ? usageReport(state.run) : { byModel: {} },
      toolCalls,
      steps,
      label: joinLabels(child.label, state.viewLabel),
      ...(state.run && { bytes: state.run.bytes }),
    })
  } finally {
    await lease.release()
  }
}
