import type { Entry, Json, ModelRequest, NewEntry, RunStatus, ToolResult } from '@provost/core'
import { assertNever, isPromise, liveFields, trustedLabel } from '@provost/core'
import { chooseModel } from '@provost/provider'

import { resolvedAgentOf } from '../definition/resolved-agent.ts'
import { settledEntry, startedEntry } from '../entries/call-entries.ts'
import { resolvedEntries } from '../entries/decision-entries.ts'
import { answerEntries } from '../entries/response-entries.ts'
import { endedEntry, failureEntries, suspendedEntry } from '../entries/run-entries.ts'
import { activeAgent } from '../handoff/active-agent.ts'
import { foldLog } from '../reducers/reducer.ts'
import { placeOf } from '../state/entry.ts'
import { nextAction, pendingWork } from '../state/next-action.ts'
import { toolCall } from '../state/tool-call.ts'
import type { Agent } from '../types/agent.ts'
import type { EntryContext } from '../types/log.ts'
import type { Loop, LoopAnswers, LoopAsk, LoopHandlers, Turns } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'
import { narrowAnswer, applied } from './apply-answer.ts'
import { orchestrated } from './orchestrated.ts'
import { callsToJudge, toolPhase } from './tool-phase.ts'

/**
 * Returns the agent loop for driving by hand. It yields asks for its driver and continues with the answers.
 * Its only state is the log, so it starts where the entries end.
 *
 * @param entries the log of the session so far; `startEntries` returns the first ones.
 *
 * @example
 * await drive(loop(agent, startEntries(agent, 'hi')), { model, decide, execute, wait, append })
 */
export function loop(agent: Agent<unknown, never>, entries: readonly Entry[]): Loop {
  const resolved = resolvedAgentOf(agent)
  return inTurn(loopOf(foldLog(entries), resolved, resolved.maxSteps))
}

/** Returns the loop of a plan. A plan with an orchestrator or handoffs gets an asynchronous loop. */
export function loopOf(
  state: SessionState,
  agent: ResolvedAgent,
  maxSteps: number,
  fence = 0,
  signal?: AbortSignal,
): Loop | Turns {
  const defaultLoop = (): Turns => turns(state, agent, maxSteps, fence)
  return agent.orchestrator || agent.handoffs.size > 0
    ? acrossHandoffs(state, agent, () => inTurn(defaultLoop()), signal)
    : defaultLoop()
}

async function* inTurn(asking: Loop | Turns): Loop {
  return yield* asking
}

/** Runs the loop of the active agent, and after each handoff that of the next one, each with its own orchestrator. */
async function* acrossHandoffs(
  state: SessionState,
  entryAgent: ResolvedAgent,
  defaultLoop: () => Loop,
  signal?: AbortSignal,
): Loop {
  for (;;) {
    const agent = activeAgent(entryAgent, state)
    const stay = (): boolean => activeAgent(entryAgent, state) === agent
    const status = yield* agent.orchestrator
      ? orchestrated(state, agent, agent.orchestrator, defaultLoop, signal, stay)
      : untilHandoff(defaultLoop(), stay)
    if (status) return status
  }
}

/** Runs the loop until the agent hands over, then returns undefined. The log is its only state, so it can be dropped. */
async function* untilHandoff(
  asking: Loop,
  stay: () => boolean,
): AsyncGenerator<LoopAsk, RunStatus | undefined, LoopAnswers[keyof LoopAnswers]> {
  let turn = await asking.next()
  while (!turn.done) {
    if (!stay()) return undefined
    turn = await asking.next(yield turn.value)
  }
  return turn.value
}

/**
 * Drives a loop with one handler for each kind of ask.
 *
 * @returns the status with which the run ended or was suspended.
 */
export async function drive(asking: Loop | Turns, handlers: LoopHandlers): Promise<RunStatus> {
  let made = asking.next()
  for (;;) {
    // Synchronous answers are not awaited, because a step has seven asks.
    const turn = isPromise(made) ? await made : made
    if (turn.done) return turn.value
    const answer = answerAsk(turn.value, handlers)
    made = asking.next(isPromise(answer) ? await answer : answer)
  }
}

/** Calls the handler of an ask and returns its answer. */
export function answerAsk(
  ask: LoopAsk,
  handlers: LoopHandlers,
): LoopAnswers[keyof LoopAnswers] | Promise<LoopAnswers[keyof LoopAnswers]> {
  switch (ask.ask) {
    case 'input':
      return handlers.input?.(ask) ?? []
    case 'model':
      return handlers.model(ask)
    case 'decide':
      return handlers.decide(ask)
    case 'execute':
      return handlers.execute(ask)
    case 'wait':
      return handlers.wait(ask)
    case 'append':
      return handlers.append(ask)
    case 'emit':
      return handlers.emit?.(ask)
    default:
      return assertNever(ask)
  }
}

/**
 * The loop itself. A driver that appends to the log shares `state` and keeps it up to date.
 *
 * @param entryAgent the agent with which runs of the session begin.
 * @param fence the fencing token of the driver's lease.
 */
export function* turns(state: SessionState, entryAgent: ResolvedAgent, maxSteps: number, fence = 0): Turns {
  for (;;) {
    const position = nextAction(state)
    const { run } = state
    if (!run) return 'completed'
    const agent = activeAgent(entryAgent, state)
    switch (position) {
      case 'context':
      case 'model': {
        if (position === 'context') {
          const arrived = narrowAnswer('input', yield { ask: 'input', at: 'step' })
          if (arrived.length > 0) applied(state, arrived, yield { ask: 'append', entries: arrived })
          // Written as `!(a < b)` so that NaN also stops the run.
          if (!(run.step < maxSteps)) {
            const entries = [endedEntry(state, agent, 'failed', maxStepsReached(maxSteps))]
            applied(state, entries, yield { ask: 'append', entries })
            return 'failed'
          }
        }
        const place = stepContext(state, run, position)
        const answered = narrowAnswer('model', yield { ask: 'model', request: requestOf(state, agent) })
        const failed = 'failure' in answered
        const entries = failed
          ? failureEntries(state, agent, place, answered.failure)
          : answerEntries(state, agent, place, answered)
        applied(state, entries, yield { ask: 'append', entries })
        if (failed) return 'failed'
        break
      }

      case 'tools': {
        const planned = callsToJudge(agent, run).map((call) => toolCall(agent, call))
        const verdicts = planned.length > 0 ? narrowAnswer('decide', yield { ask: 'decide', calls: planned }) : []
        const { entries, execute } = toolPhase(state, agent, verdicts, fence)
        if (entries.length > 0) applied(state, entries, yield { ask: 'append', entries })
        if (execute.length === 0) break
        const calls = execute.map((call) => toolCall(agent, call))
        const results = narrowAnswer('execute', yield { ask: 'execute', calls, delivered: deliveredValues(execute) })
        const settled = settleEntries(state, agent, execute, results)
        if (settled.length > 0) applied(state, settled, yield { ask: 'append', entries: settled })
        break
      }

      case 'wait': {
        const decisions = narrowAnswer('wait', yield { ask: 'wait', pending: pendingWork(state) })
        if (decisions === 'suspend') {
          const entries = [suspendedEntry(state)]
          applied(state, entries, yield { ask: 'append', entries })
          return 'suspended'
        }
        const { entries: resolved, denied } = resolvedEntries(state, decisions)
        const entries = denied ? [...resolved, endedEntry(state, agent, 'failed', denied)] : resolved
        if (entries.length > 0) applied(state, entries, yield { ask: 'append', entries })
        break
      }

      case 'end': {
        if (run.status !== 'running' && run.status !== 'suspended') return run.status
        const queued = narrowAnswer('input', yield { ask: 'input', at: 'end' })
        const entries = queued.length > 0 ? queued : [endedEntry(state, agent, 'completed')]
        applied(state, entries, yield { ask: 'append', entries })
        if (queued.length === 0) return 'completed'
        break
      }

      default:
        return assertNever(position)
    }
  }
}

/** Returns the position of the step. A retry belongs to the step that failed; otherwise a new step begins. */
function stepContext(state: SessionState, run: RunProgress, position: 'context' | 'model'): EntryContext {
  return { ...placeOf(state), step: position === 'context' ? run.step + 1 : run.step }
}

function maxStepsReached(maxSteps: number): { code: string; message: string; hint: string } {
  return {
    code: 'max-steps',
    message: `The run reached its limit of ${maxSteps} steps.`,
    hint: 'Resume its state with a higher maxSteps, or give the agent less to do.',
  }
}

function requestOf(state: SessionState, agent: ResolvedAgent): ModelRequest {
  const request = {
    model: agent.modelName,
    spec: chooseModel(agent.model),
    label: state.viewLabel,
    tail: state.run?.ephemeralMessages ?? [],
    tools: agent.offered,
    params: agent.settings,
  }
  return withMessages(request, state)
}

/** Copies the messages on first access only, so that the cost of a step does not grow with the history. */
const withMessages = liveFields<SessionState, Pick<ModelRequest, 'messages'>>({ messages: ({ view }) => [...view] })

function deliveredValues(calls: readonly CallState[]): Readonly<Record<string, Json>> {
  const values: Record<string, Json> = {}
  for (const { part, delivery } of calls) if (delivery) values[part.callId] = delivery.output
  return values
}

/** Returns the entries of results that a driver without its own log has not written. */
function settleEntries(
  state: SessionState,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  results: readonly ToolResult[],
): NewEntry[] {
  const entries: NewEntry[] = []
  for (const call of calls) {
    if (call.stage === 'settled' || call.stage === 'waiting' || call.stage === 'parked') continue
    const result = results.find((one) => one.callId === call.part.callId)
    if (call.stage === 'ready') entries.push(startedEntry(state, call, 0))
    entries.push(settledEntry(state, call, result ?? noResult(agent, call)))
  }
  return entries
}

function noResult(agent: ResolvedAgent, call: CallState): ToolResult {
  return {
    ...toolCall(agent, call),
    outcome: 'error',
    via: 'log',
    output: { type: 'error-text', value: 'The driver gave no result for this call.' },
    label: trustedLabel,
  }
}
