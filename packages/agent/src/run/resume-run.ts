import type { Decisions, Entry, RunState } from '@provost/core'
import { ProvostError, scrubEntry } from '@provost/core'

import { resolvedEntries } from '../entries/decision-entries.ts'
import { resumedEntry } from '../entries/run-entries.ts'
import { checkActive } from '../handoff/active-agent.ts'
import { holdLease } from '../log/lease.ts'
import { readLog } from '../log/log-snapshot.ts'
import { checkAgent, checkSignature } from '../result/run-state-data.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { endPayload } from '../state/run-summary.ts'
import { offsetOf } from '../state/session-state.ts'
import { reconcileCalls } from '../tools/reconcile-call.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallStage, RunProgress, SessionState } from '../types/session-state.ts'
import { prepareAgent } from './begin-run.ts'

/** Finds the run to go on with, and checks that it is this one's to go on with. */
export async function claim(scope: RunContext, start: Extract<RunStart<unknown>, { resume: RunState }>): Promise<void> {
  const from = start.resume
  const { entry, state, given, mailbox } = scope
  checkAgent(from, entry)
  if (!start.own) checkSignature(from, entry)
  await importEntries(scope, from.entries ?? [])
  for (const [log, entries] of Object.entries(from.children ?? {})) await importChild(scope, log, entries)
  checkActive(entry, state)
  const { run } = state
  if (!run || run.id !== from.cursor.runId) {
    throw new ProvostError('unknown-run', `Session ${scope.sessionId} does not stand at run ${from.cursor.runId}.`, {
      hint: 'Give the agent the store that the run was made with, and resume the last run of its session.',
    })
  }
  checkTools(scope.plan, state, run)
  scope.step = run.step
  const { approvals, toolResults, uncertain, inputs } = given
  const decisions: Decisions = {
    ...(approvals && { approvals }),
    ...(toolResults && { toolResults }),
    ...(uncertain && { uncertain }),
    ...(inputs && { inputs }),
  }
  // Where the run waits already, a decision on nothing is a mistake: it is said before anything is written.
  if (nextAction(state) === 'wait') resolvedEntries(state, decisions)
  mailbox.decisions.push(decisions)
}

/**
 * Refuses an agent without the tool of a call that has begun: here the call could only be given up. One that waits for its
 * approval has not, and what it was approved for is judged again.
 *
 * @throws ProvostError `missing-tool`
 */
function checkTools({ name, tools }: ResolvedAgent, { waits }: SessionState, { calls, bridged }: RunProgress): void {
  const asked = new Set([...waits.values()].filter(({ kind }) => kind === 'approval').map(({ callId }) => callId))
  const missing = [...calls.values(), ...bridged.values()].find(
    ({ stage, part }) => begun.has(stage) && !tools.has(part.toolName) && !asked.has(part.callId),
  )
  if (!missing) return
  const { toolName } = missing.part
  throw new ProvostError('missing-tool', `The run stands in a call of ${toolName}, which agent ${name} lacks.`, {
    hint: `Resume it with an agent that has ${toolName}, or the extension that brings it; the run stays as it is.`,
  })
}

const begun: ReadonlySet<CallStage> = new Set(['ready', 'started', 'parked', 'woken', 'waiting', 'delivered'])

/** A run that goes on: from the log if the state is behind it. */
export async function resume(scope: RunContext): Promise<void> {
  const { journal, state } = scope
  const { run } = state
  if (!run) return
  if (run.status === 'completed') {
    // Nothing happens any more: the stream says so once more.
    journal.emit('agent.end', endPayload(state))
    return
  }
  scope.resumedFrom = offsetOf(state)
  await journal.append([resumedEntry(state)])
  scope.claim = []
  if (!hasInput(state, run)) throw new RunEnding('failed', noInput)
  await prepareAgent(scope, placeOf(state))
  await reconcileCalls(scope)
}

/** Whether anything was said to a run: a hook may have stopped its input at the door. */
function hasInput(state: SessionState, run: RunProgress): boolean {
  return state.messages.slice(run.firstMessage).some(({ role }) => role !== 'error' && role !== 'aborted')
}

const noInput = {
  code: 'no-input',
  message: 'The run has nothing to go on from: its input was never let in.',
  hint: 'Start another run.',
}

/** Brings the entries of a state into the log, which must have begun in the same way. */
async function importEntries({ state, journal, sessionId }: RunContext, entries: readonly Entry[]): Promise<void> {
  const known = state.entries.length
  if (entries.slice(0, known).some((entry, index) => entry.id !== state.entries[index]?.id)) {
    throw new ProvostError('diverged-state', `Session ${sessionId} went another way than the state to resume.`, {
      hint: 'Resume from the log: give a state that was taken from this store.',
    })
  }
  if (entries.length > known) await journal.copy(entries.slice(known))
}

/** The log of a child, where this store has none of it. */
async function importChild({ plan, sessionId }: RunContext, log: string, entries: readonly Entry[]): Promise<void> {
  if (!log.startsWith(`${sessionId}/child/`)) throw foreignChild(log)
  const { store } = plan
  if ((await readLog(store, log)).length > 0) return
  const lease = await holdLease(store, log, plan.leaseMs, 'part')
  if (!lease) return
  try {
    const scrubbed = entries.map((entry) => scrubEntry(plan.secrets.scrubber, entry))
    await store.append(log, scrubbed, { after: 0, fence: lease.fence })
  } finally {
    await lease.release()
  }
}

function foreignChild(log: string): ProvostError {
  return new ProvostError('diverged-state', `The state has a log ${log.slice(0, 200)}, which is none of its session.`, {
    hint: 'Pass what JSON.stringify(result.state) wrote, unchanged.',
  })
}
