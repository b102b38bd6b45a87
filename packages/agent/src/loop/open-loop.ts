import type { Entry, Input, NewEntry, ToolCall, ToolResult } from '@provost/core'
import { deepFreeze, positionId, toJson, trustedLabel, uuidv7 } from '@provost/core'

import { resolvedAgentOf } from '../definition/resolved-agent.ts'
import { settledEntry, startedEntry } from '../entries/call-entries.ts'
import { activeAgent } from '../handoff/active-agent.ts'
import { messagesOf } from '../messages/read-input.ts'
import { foldLog, reduceEntry } from '../reducers/reducer.ts'
import { newEntry } from '../state/entry.ts'
import { canAdvance } from '../state/next-action.ts'
import { callOf } from '../state/session-state.ts'
import { toolCall } from '../state/tool-call.ts'
import { reasonResult } from '../state/tool-result.ts'
import type { Agent } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import type { Driver, Loop, LoopDriver, ReadyCall } from './driver.ts'

/**
 * Begins a run with a driver of your own: its first entries are appended. Extensions of the agent do not take part.
 *
 * @throws ProvostError `invalid-input`, and errors of the driver.
 *
 * @example
 * const loop = await startLoop(agent, driver, 'What is the time?')
 * const status = await runLoop(loop)
 */
export async function startLoop(agent: Agent<unknown, never>, driver: LoopDriver, input: Input): Promise<Loop> {
  const loop = resumeLoop(agent, driver, [])
  const { name, manifest } = loop.entryAgent
  const place = { runId: uuidv7(), step: 0, agent: name, clock: loop.state.clock }
  const messages = messagesOf(input, positionId(place.runId, 0, 'message', 'input'), loop.entryAgent)
  await loop.driver.append([
    newEntry(place, `${place.runId}/started`, { type: 'run', op: 'started', manifest }),
    ...messages.map((message) => newEntry(place, message.id, { type: 'message', message, via: 'input' })),
  ])
  return loop
}

/** Returns the loop of a run with a driver of your own. It continues where the entries end. */
export function resumeLoop(agent: Agent<unknown, never>, driver: LoopDriver, entries: readonly Entry[]): Loop {
  const entryAgent = resolvedAgentOf(agent)
  const state = foldLog(entries)
  const { signal } = new AbortController()
  return {
    state,
    driver: applying(driver, entryAgent, state),
    entryAgent,
    maxSteps: entryAgent.maxSteps,
    fence: 0,
    signal,
  }
}

/** Returns a driver that gives entries their offsets, and applies them to the state once they are written. */
function applying(driver: LoopDriver, entryAgent: ResolvedAgent, state: SessionState): Driver {
  const own: Driver = {
    takeInputs: (at) => driver.takeInputs?.(at) ?? [],
    callModel: (step) => driver.callModel(step),
    authorize: (calls) => driver.authorize(calls.map((call) => asApproved(state, call))),
    reconcile() {},
    async execute(calls) {
      const agent = activeAgent(entryAgent, state)
      // All of them may take effect before the driver answers: after a crash none may run again without a question.
      const unstarted = calls.filter(({ stage }) => stage === 'ready')
      if (unstarted.length > 0) await own.append(unstarted.map((call) => startedEntry(state, call, 0)))
      const results = await driver.execute(calls.map((call) => readyCall(agent, call)))
      const settled = settleEntries(state, agent, calls, results)
      if (settled.length > 0) await own.append(settled)
    },
    awaitDecisions: (pending) => driver.awaitDecisions(pending),
    emit: (event) => driver.emit?.(event),
    async append(drafts) {
      const first = state.offset + 1
      const entries = drafts.map((draft, index) => Object.freeze({ ...draft, offset: first + index }))
      await driver.append(entries)
      for (const entry of entries) reduceEntry(state, entry)
    },
  }
  return own
}

/** Returns a call with the arguments that its approver edited: they carry the label of the approver. */
function asApproved({ run }: SessionState, call: ToolCall): ToolCall {
  const args = run && callOf(run, call.callId)?.approval?.args
  return args === undefined ? call : { ...call, input: deepFreeze(toJson(args)), label: trustedLabel }
}

function readyCall(agent: ResolvedAgent, call: CallState): ReadyCall {
  const { delivery } = call
  return delivery ? { ...toolCall(agent, call), delivery } : toolCall(agent, call)
}

/** Returns the entries of the results that the driver returned. A call without a result fails. */
function settleEntries(
  state: SessionState,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  results: readonly ToolResult[],
): NewEntry[] {
  const entries: NewEntry[] = []
  for (const call of calls) {
    if (!canAdvance(call)) continue
    const result = results.find((one) => one.callId === call.part.callId)
    const reason = 'The driver gave no result for this call.'
    entries.push(settledEntry(state, call, result ?? reasonResult(toolCall(agent, call), 'error', reason)))
  }
  return entries
}
