import type { NewEntry, RunStatus } from '@provost/core'
import { assertNever, isPromise } from '@provost/core'

import { resolvedEntries } from '../entries/decision-entries.ts'
import { answerEntries } from '../entries/response-entries.ts'
import { endedEntry, failureEntries, suspendedEntry } from '../entries/run-entries.ts'
import { activeAgent } from '../handoff/active-agent.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction, pendingWork } from '../state/next-action.ts'
import type { RunProgress } from '../types/session-state.ts'
import { advanceCalls } from './advance-calls.ts'
import type { Loop } from './driver.ts'
import { StepCall } from './step-call.ts'

/**
 * Advances a run by one action: a step of the model, its tool calls, a wait, or the end of the run. The log decides which
 * one, so a loop can be left after any action and continued from the log. `runLoop` calls it until the run ends.
 *
 * @returns the status of a run that has ended or is suspended, otherwise undefined.
 *
 * @example
 * const loop = resumeLoop(agent, driver, entries)
 * while (!(await advance(loop))) console.log(nextAction(loop.state))
 */
export async function advance(loop: Loop): Promise<RunStatus | undefined> {
  const { state } = loop
  const { run } = state
  if (!run) return 'completed'
  const action = nextAction(state)
  switch (action) {
    case 'start-step':
      return startStep(loop, run)
    case 'retry-step':
      return callModel(loop, run.step)
    case 'run-tools':
      return runTools(loop, run)
    case 'wait':
      return wait(loop)
    case 'finish':
      return finish(loop, run)
    default:
      return assertNever(action)
  }
}

/** Begins a step of the model. */
export async function startStep(loop: Loop, run: RunProgress): Promise<RunStatus | undefined> {
  return (await beginStep(loop, run)) ?? callModel(loop, run.step + 1)
}

/** Begins a step: inputs that have arrived enter first. Returns the status of a run that reached its limit of steps. */
export async function beginStep(loop: Loop, run: RunProgress): Promise<RunStatus | undefined> {
  const { driver, maxSteps } = loop
  const arriving = driver.takeInputs('step')
  const inputs = isPromise(arriving) ? await arriving : arriving
  if (inputs.length > 0) await driver.append(inputs)
  // NaN also stops the run.
  return run.step < maxSteps ? undefined : end(loop, 'failed', maxStepsReached(maxSteps))
}

/** Calls the model. A retry belongs to the step that failed. */
async function callModel(loop: Loop, step: number): Promise<RunStatus | undefined> {
  const { state, driver } = loop
  const agent = activeAgent(loop.entryAgent, state)
  const place = { ...placeOf(state), step }
  const outcome = await driver.callModel(new StepCall(step, state, agent, loop.options))
  const failed = 'failure' in outcome
  await driver.append(
    failed ? failureEntries(state, agent, place, outcome.failure) : answerEntries(state, agent, place, outcome),
  )
  return failed ? 'failed' : undefined
}

/** Advances the calls of the step. The first ones that run start with one append. */
async function runTools(loop: Loop, run: RunProgress): Promise<undefined> {
  const agent = activeAgent(loop.entryAgent, loop.state)
  await advanceCalls(loop, agent, [...run.calls.values()], agent.maxParallelTools)
}

/** Waits for decisions from outside, or suspends the run. */
async function wait(loop: Loop): Promise<RunStatus | undefined> {
  const { state, driver } = loop
  const decisions = await driver.awaitDecisions(pendingWork(state))
  if (decisions === 'suspend') {
    await driver.append([suspendedEntry(state)])
    return 'suspended'
  }
  const { entries, denied } = resolvedEntries(state, decisions)
  // Only the denial of an answer that was held back ends the run. A denied call does not.
  if (denied) return end(loop, 'failed', denied, entries)
  if (entries.length > 0) await driver.append(entries)
  return undefined
}

/** Ends the run, unless queued input continues it. */
async function finish(loop: Loop, run: RunProgress): Promise<RunStatus | undefined> {
  const { driver } = loop
  if (isOver(run)) return run.status
  const queued = await driver.takeInputs('end')
  if (queued.length === 0) return end(loop, 'completed')
  await driver.append(queued)
  return undefined
}

async function end(
  loop: Loop,
  status: 'completed' | 'failed',
  error?: Parameters<typeof endedEntry>[3],
  before: readonly NewEntry[] = [],
): Promise<RunStatus> {
  const { driver, entryAgent, state } = loop
  await driver.append([...before, endedEntry(state, activeAgent(entryAgent, state), status, error)])
  return status
}

/** Whether the run has ended. */
export function isOver(run: RunProgress): run is RunProgress & { readonly status: 'completed' | 'failed' | 'aborted' } {
  return run.status !== 'running' && run.status !== 'suspended'
}

function maxStepsReached(maxSteps: number): { code: string; message: string; hint: string } {
  return {
    code: 'max-steps',
    message: `The run reached its limit of ${maxSteps} steps.`,
    hint: 'Resume its state with a higher maxSteps, or give the agent less to do.',
  }
}
