import type { NewEntry } from '@provost/core'

import { decidedEntries, startedEntry } from '../entries/call-entries.ts'
import { remoteWait, uncertainWait } from '../entries/wait-entries.ts'
import {
  handoffCallsIn,
  handoffEntries,
  handoffsOfRun,
  mostHandoffs,
  unjudgedHandoff,
} from '../handoff/handoff-entry.ts'
import { subjectOf } from '../question/subject.ts'
import { callsAt } from '../state/next-action.ts'
import { executionMode, mayRepeat } from '../tools/execution-mode.ts'
import type { Authorization } from '../types/loop.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, RunProgress, SessionState } from '../types/session-state.ts'

/** The next actions for the calls of a step: one append, then the calls to execute. */
export interface ToolPhase {
  readonly entries: readonly NewEntry[]
  /** In the order of the calls. Calls that can start at once are `started` when the entries are in the log. */
  readonly execute: readonly CallState[]
}

/**
 * Returns the next action of each call of a step. Decided calls start or settle, and remote calls are parked.
 * A call interrupted by a crash runs again if it is repeatable; otherwise it waits for a decision.
 *
 * @param verdicts for the planned calls, in their order. A call without a verdict is denied.
 */
export function toolPhase(
  state: SessionState,
  agent: ResolvedAgent,
  verdicts: readonly Authorization[],
  fence: number,
): ToolPhase {
  const entries: NewEntry[] = []
  const execute: CallState[] = []
  const { run } = state
  const judged = run ? callsToJudge(agent, run) : []
  const handoffs = run ? handoffCallsIn(agent, run) : []
  for (const call of run?.calls.values() ?? []) {
    let runs = call.stage === 'ready'
    if (call.stage === 'planned') {
      const index = judged.indexOf(call)
      if (index < 0) {
        entries.push(...unjudgedHandoff(state, agent, call, handoffs))
        continue
      }
      const verdict = withSubject(agent, call, verdicts[index] ?? { deny: 'The driver gave no decision on this call.' })
      const handoff = agent.handoffs.get(call.part.toolName)
      if (handoff) {
        const recorded = handoffEntries(state, agent, call, handoff, verdict)
        entries.push(...recorded)
        runs = recorded.some((one) => one.type === 'handoff' && one.mode === 'return' && one.denied === undefined)
      } else {
        entries.push(...decidedEntries(state, call, verdict))
        runs = 'proceed' in verdict
      }
    } else if (call.stage === 'started') {
      // Before this process executed anything, a started call means that another process died in it.
      runs = mayRepeat(agent.info(call.part.toolName))
      if (!runs) entries.push(uncertainWait(state, call))
    } else if (call.stage === 'delivered' || call.stage === 'resumable') execute.push(call)
    if (!runs) continue
    const { remote } = agent.info(call.part.toolName)
    if (remote) entries.push(remoteWait(state, call, agent.tools.get(call.part.toolName)?.['~tool'].timeoutMs))
    else execute.push(call)
  }
  for (const call of firstWave(agent, execute)) {
    if (call.stage === 'delivered' || call.stage === 'resumable') continue
    entries.push(startedEntry(state, call, fence, mayRepeat(agent.info(call.part.toolName))))
  }
  return { entries, execute }
}

/** Adds the subject to a question, also to one that a custom driver asks. */
function withSubject(agent: ResolvedAgent, { part, label }: CallState, verdict: Authorization): Authorization {
  if (!('ask' in verdict) || verdict.about) return verdict
  return { ...verdict, about: subjectOf(agent.info(part.toolName), label) }
}

/**
 * Returns the calls that need a decision now. The first handoff call comes last, after all results of its step. Other
 * handoff calls of the step are not taken.
 */
export function callsToJudge(agent: ResolvedAgent, run: RunProgress): readonly CallState[] {
  const planned = callsAt(run, 'planned')
  if (agent.handoffs.size === 0) return planned
  const [first] = handoffCallsIn(agent, run)
  if (!first) return planned
  const alone = run.openCalls === 1 && first.stage === 'planned' && handoffsOfRun(run) < mostHandoffs
  return planned.filter((call) => (call === first ? alone : !agent.handoffs.has(call.part.toolName)))
}

/** Returns the calls that can start before any has ended. Their `started` entries commit together. */
function firstWave(agent: ResolvedAgent, calls: readonly CallState[]): readonly CallState[] {
  const alone = calls.findIndex((call) => executionMode(agent, call) === 'sequential')
  return calls.slice(0, Math.max(1, Math.min(agent.maxParallelTools, alone < 0 ? calls.length : alone)))
}
