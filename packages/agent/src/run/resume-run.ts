import type { Decisions, Entry, RunState } from '@provost/core'
import { ProvostError, scrubEntry } from '@provost/core'

import { unlessAborted } from '../control/abort-control.ts'
import { admitChange, changeSince, isChosen, manifestOf } from '../definition/definition-change.ts'
import { resolvedEntries } from '../entries/decision-entries.ts'
import { resumedEntry } from '../entries/run-entries.ts'
import { checkActive, checkOverridden } from '../handoff/active-agent.ts'
import { abortsLeft } from '../inbox/abort-delivery.ts'
import { holdLease } from '../log/lease.ts'
import { readLog } from '../log/log-snapshot.ts'
import { checkAgent, checkSignature } from '../result/run-state-data.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction } from '../state/next-action.ts'
import { endPayload } from '../state/run-summary.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunContext, RunStart } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallStage, RunProgress, SessionState } from '../types/session-state.ts'
import { prepareAgent } from './begin-run.ts'

/** Finds the run to resume, and checks that it matches the state and the agent. */
export async function prepareResume(
  ctx: RunContext,
  start: Extract<RunStart<unknown>, { resume: RunState }>,
): Promise<void> {
  const from = start.resume
  const { entryAgent, state, options, pendingInputs } = ctx
  checkAgent(from, entryAgent)
  if (!start.fromOwnLog) checkSignature(from, entryAgent)
  await importEntries(ctx, from.entries ?? [])
  for (const [log, entries] of Object.entries(from.children ?? {})) await importChild(ctx, log, entries)
  checkActive(entryAgent, state)
  checkOverridden(entryAgent, state)
  const { run } = state
  if (!run || run.id !== from.cursor.runId) {
    throw new ProvostError('unknown-run', `The last run of session ${ctx.sessionId} is not ${from.cursor.runId}.`, {
      hint: 'Configure the agent with the store of the run, and resume the last run of its session.',
    })
  }
  checkTools(ctx.agent, state, run)
  const change = ctx.parentRun?.within ? undefined : changeSince(run.manifest, entryAgent)
  // A run that only ends needs no acceptance, and records none.
  const isAborted = abortsLeft(state).some(({ drain }) => drain !== true)
  if (change && isAborted) ctx.control.isRequested = true
  else if (change && ctx.control.isRequested) await unlessAborted(ctx.signal, new Promise(() => {}))
  else if (change) {
    if (!isChosen(state, change)) await admitChange(change, entryAgent, options.acceptChanges ?? false)
    ctx.changed = manifestOf(entryAgent)
  }
  ctx.step = run.step
  const { approvals, batches, toolResults, uncertain, inputs } = options
  const decisions: Decisions = {
    ...(approvals && { approvals }),
    ...(batches && { batches }),
    ...(toolResults && { toolResults }),
    ...(uncertain && { uncertain }),
    ...(inputs && { inputs }),
  }
  // A decision that matches no wait is an error, which is thrown before anything is written.
  if (nextAction(state) === 'wait') resolvedEntries(state, decisions)
  pendingInputs.decisions.push(decisions)
}

/**
 * Rejects an agent that lacks the tool of a call that has begun, because the call could only be abandoned. A call that
 * waits for approval has not begun, and is authorized again after its approval.
 *
 * @throws ProvostError `missing-tool`
 */
function checkTools(
  { name, tools }: ResolvedAgent,
  { waits }: SessionState,
  { calls, nestedCalls }: RunProgress,
): void {
  const asked = new Set([...waits.values()].filter(({ kind }) => kind === 'approval').map(({ callId }) => callId))
  const missing = [...calls.values(), ...nestedCalls.values()].find(
    ({ stage, part }) => begun.has(stage) && !tools.has(part.toolName) && !asked.has(part.callId),
  )
  if (!missing) return
  const { toolName } = missing.part
  throw new ProvostError('missing-tool', `The run has an open call of ${toolName}, which agent ${name} lacks.`, {
    hint: `Resume with an agent that has ${toolName} or the extension that adds it. The run is unchanged.`,
  })
}

const begun: ReadonlySet<CallStage> = new Set(['ready', 'started', 'parked', 'resumable', 'waiting', 'delivered'])

/** Resumes a run from its log, which may be ahead of the given state. */
export async function resumeRun(ctx: RunContext): Promise<void> {
  const { logWriter, state } = ctx
  const { run } = state
  if (!run) return
  if (run.status === 'completed') {
    // The run has completed, so the stream only repeats its end.
    logWriter.emit('agent.end', endPayload(state))
    return
  }
  ctx.resumeOffset = state.offset
  const wasAborting = isAborting(state)
  const aborts = abortsLeft(state)
  await logWriter.append([resumedEntry(state, ctx.changed)])
  ctx.ownershipEntries = []
  // A process has taken them from the inbox and died, or was cut off, before it ended the run.
  for (const options of aborts) ctx.control.abort(options)
  if (!hasInput(state, run)) throw new RunEnding('failed', noInput)
  if (wasAborting) throw new RunEnding('aborted')
  await prepareAgent(ctx, placeOf(state))
}

/**
 * Returns whether the last writer closed the messages of an aborted run and died before it recorded the end, such as in a
 * `run.end` hook. An aborted run that has ended may go on.
 */
function isAborting({ entries }: SessionState): boolean {
  const last = entries.findLast((entry) => entry.type === 'message' || (entry.type === 'run' && entry.op !== 'resumed'))
  return last?.type === 'message' && last.message.role === 'aborted' && last.message.purpose === 'closing'
}

/** Returns whether a run has input. A hook may have rejected all of it. */
function hasInput(state: SessionState, run: RunProgress): boolean {
  return state.messages.slice(run.firstMessage).some(({ role }) => role !== 'error' && role !== 'aborted')
}

const noInput = {
  code: 'no-input',
  message: 'The run cannot be resumed, because its input was rejected.',
  hint: 'Start a new run.',
}

/** Appends the entries of a state to the log. The log must be a prefix of them. */
async function importEntries({ state, logWriter, sessionId }: RunContext, entries: readonly Entry[]): Promise<void> {
  const known = state.entries.length
  if (entries.slice(0, known).some((entry, index) => entry.id !== state.entries[index]?.id)) {
    throw new ProvostError('diverged-state', `The log of session ${sessionId} differs from the state to resume.`, {
      hint: 'Pass a state from a run with this store.',
    })
  }
  if (entries.length > known) await logWriter.copy(entries.slice(known))
}

/** Imports the log of a child that the store lacks. */
async function importChild({ agent, sessionId }: RunContext, log: string, entries: readonly Entry[]): Promise<void> {
  if (!log.startsWith(`${sessionId}/child/`)) throw foreignChild(log)
  const { store } = agent
  if ((await readLog(store, log)).length > 0) return
  const lease = await holdLease(store, log, agent.leaseMs, 'part')
  if (!lease) return
  try {
    const scrubbed = entries.map((entry) => scrubEntry(agent.secrets.scrubber, entry))
    await store.append(log, scrubbed, { after: 0, fence: lease.fence })
  } finally {
    await lease.release()
  }
}

function foreignChild(log: string): ProvostError {
  return new ProvostError(
    'diverged-state',
    `The state has a log ${log.slice(0, 200)}, which does not belong to its session.`,
    {
      hint: 'Pass what JSON.stringify(result.state) wrote, unchanged.',
    },
  )
}
