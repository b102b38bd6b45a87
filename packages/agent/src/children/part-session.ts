import type { NewEntry, PartOrigin, SessionStore } from '@provost/core'
import { clockOf, isRecord, ProvostError, SessionBusyError, sleep } from '@provost/core'
import { createdBody, createdId, createdIn, isCreated } from '@provost/sessions'

import { abortToken } from '../inbox/abort-delivery.ts'
import { openInbox } from '../inbox/inbox.ts'
import { logSnapshot } from '../log/log-snapshot.ts'
import { writeBetweenRuns } from '../log/session-log.ts'
import { partLetter, sendToken } from '../messages/child-message.ts'
import { messagesOf } from '../messages/read-input.ts'
import { newEntry } from '../state/entry.ts'
import { nextDeadline } from '../state/wait-deadlines.ts'
import type { AppendResult } from '../types/log.ts'
import type { RunContext } from '../types/run-context.ts'
import type { ChildState, SessionState } from '../types/session-state.ts'
import type { SpawnedChild } from './child-run.ts'

/**
 * Creates the session of a child that may run on any worker, and gives it its input. Both have ids that follow from the
 * child, so that a process that does it again, after a crash, adds nothing.
 *
 * @throws ProvostError `session-exists` for a session of the same id that another caller created.
 */
export async function createPart({ ctx, child, agent, input, secrets, lent, host }: SpawnedChild): Promise<void> {
  const { store, leaseMs, name } = agent
  const { log: id, callId } = child
  const { scrubber } = secrets
  const snapshot = logSnapshot(id, clockOf(store))
  const principal = ctx.state.run?.principal ?? ctx.options.principal
  const origin = originOf(ctx, child, lent)
  const created = createdBody({ agent: name, ...(principal && { principal }), repairs: [], part: origin })
  const draft = (): readonly NewEntry[] =>
    snapshot.state.entries.length > 0
      ? []
      : [newEntry({ runId: id, step: 0, agent: name, clock: clockOf(store) }, createdId(id), created)]
  while (snapshot.state.entries.length === 0) {
    try {
      await writeBetweenRuns(store, id, leaseMs, snapshot, scrubber, draft)
    } catch (thrown) {
      // A process that died as it created the session, or one that runs it already.
      if (!(thrown instanceof SessionBusyError)) throw thrown
      await sleep(clockOf(store), busyMs, host.signal)
      host.throwIfOver()
    }
  }
  const [first] = snapshot.state.entries
  const its = first && isCreated(first) ? createdIn(first).part : undefined
  if (its?.parent !== origin.parent || its.runId !== origin.runId) {
    throw new ProvostError('session-exists', `Session ${id} exists, and is not that of the child ${callId}.`, {
      hint: 'Delete it, or start the run again.',
    })
  }
  const by = principal?.id ?? 'run'
  const inbox = openInbox({ store, log: id, scrubber, by, isShared: false, isTaken: () => false })
  const token = `${sendToken}${callId}`
  await inbox.send(token, { mode: 'queue', input: messagesOf(input, token, agent) })
}

const busyMs = 50

function originOf(
  { sessionId, id, parentRun, tree, entryAgent, agent, state }: RunContext,
  child: ChildState,
  lent: PartOrigin['lent'],
): PartOrigin {
  const above = parentRun?.origin
  return {
    parent: sessionId,
    runId: child.callId,
    parents: [id, ...(parentRun?.parents ?? [])],
    effectSession: tree.effectSession,
    levels: [
      ...(above?.levels ?? []),
      {
        agent: entryAgent.name,
        ...(agent.name !== entryAgent.name && { active: agent.name }),
        path: [...state.handoffPath],
        ...(above && { lent: above.lent }),
      },
    ],
    extensions: agent.extensions.flatMap(({ scope, observer, name }) => (scope === 'tree' && !observer ? [name] : [])),
    grant: child.grant ?? {},
    label: child.label,
    lent,
  }
}

/**
 * Records entries of this run, then asks the processes that run children elsewhere, or will, to abort those that the entries
 * end as aborted. A process that lost the log, or leaves it to others, cannot record them, and aborts nothing.
 */
export async function appendAborting(
  { agent, control, state }: RunContext,
  entries: readonly NewEntry[],
  append: RunContext['logWriter']['append'],
): Promise<AppendResult> {
  const parts = entries.flatMap((entry) =>
    entry.type === 'child' && entry.op === 'joined' && entry.status === 'aborted'
      ? [state.run?.children.get(entry.callId)].filter((child) => child?.where === 'any')
      : [],
  )
  const appended = await append(entries)
  const options = { graceMs: control.graceMs, onPendingApprovals: 'deny' }
  for (const child of parts) {
    if (child)
      await agent.store.deliver(child.log, `${abortToken}${child.callId}`, { runId: child.callId, options }, 'run')
  }
  return appended
}

/** The session of a child that may run on any worker, at rest. */
export interface RestingPart {
  readonly store: SessionStore
  readonly id: string
  readonly origin: PartOrigin
  readonly state: SessionState
  /** Id of the last delivery that the run has read. */
  readonly seen: string
}

/**
 * Tells the run above that this one rests, and that it need not be reported again. The letter makes the session above due,
 * and is a hint: what happened is in the log of this session.
 */
export async function reportRest({ store, id, origin, state, seen }: RestingPart): Promise<void> {
  const { run } = state
  if (!run || !isReported(state)) return
  await sendLetter(store, origin, state.offset)
  const deadline = run.status === 'suspended' ? nextDeadline(state) : Number.POSITIVE_INFINITY
  await store.setDue?.(id, { ...(Number.isFinite(deadline) && { at: deadline }), seen, after: state.offset })
}

/** Whether the run above has to look at a child that rests: it has ended, or waits for an answer from outside. */
function isReported({ run, waits }: SessionState): boolean {
  if (!run || run.status === 'running') return false
  return run.status !== 'suspended' || (!run.yielded && waits.size > 0)
}

/** Tells the run above that the log of this session has news. */
export async function sendLetter(store: SessionStore, { parent, runId }: PartOrigin, offset: number): Promise<void> {
  try {
    await store.deliver(parent, partLetter(runId, offset), null, 'part')
  } catch (thrown) {
    // No run is left that waits for it.
    if (!isRecord(thrown) || thrown['code'] !== 'session-erased') throw thrown
  }
}
