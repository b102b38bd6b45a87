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

/** What becomes of a step's calls: one append, then the calls to execute. */
export interface ToolPhase {
  readonly entries: readonly NewEntry[]
  /** In the order of the calls. Those that can start at once are `started` once the entries are in the log. */
  readonly execute: readonly CallState[]
}

/**
 * Sends each call of a step on its way: judged ones start or settle, remote ones are parked, and those that a dead
 * process left behind run again where that does no harm, else somebody is asked.
 *
 * @param verdicts for the planned calls, in their order. Where one is missing the call is denied.
 */
export function toolPhase(
  state: SessionState,
  plan: ResolvedAgent,
  verdicts: readonly Authorization[],
  fence: number,
): ToolPhase {
  const entries: NewEntry[] = []
  const execute: CallState[] = []
  const { run } = state
  const judged = run ? callsToJudge(plan, run) : []
  const handoffs = run ? handoffCallsIn(plan, run) : []
  for (const call of run?.calls.values() ?? []) {
    let runs = call.stage === 'ready'
    if (call.stage === 'planned') {
      const index = judged.indexOf(call)
      if (index < 0) {
        entries.push(...unjudgedHandoff(state, plan, call, handoffs))
        continue
      }
      const verdict = whole(plan, call, verdicts[index] ?? { deny: 'Nobody judged this call.' })
      const handoff = plan.handoffs.get(call.part.toolName)
      if (handoff) {
        const told = handoffEntries(state, plan, call, handoff, verdict)
        entries.push(...told)
        runs = told.some((one) => one.type === 'handoff' && one.mode === 'return' && one.denied === undefined)
      } else {
        entries.push(...decidedEntries(state, call, verdict))
        runs = 'proceed' in verdict
      }
    } else if (call.stage === 'started') {
      // Before anything was executed here, this means that a process died in it.
      runs = mayRepeat(plan.info(call.part.toolName))
      if (!runs) entries.push(uncertainWait(state, call))
    } else if (call.stage === 'delivered' || call.stage === 'woken') execute.push(call)
    if (!runs) continue
    const { remote } = plan.info(call.part.toolName)
    if (remote) entries.push(remoteWait(state, call, plan.tools.get(call.part.toolName)?.['~tool'].timeoutMs))
    else execute.push(call)
  }
  for (const call of firstWave(plan, execute)) {
    if (call.stage === 'delivered' || call.stage === 'woken') continue
    entries.push(startedEntry(state, call, fence, mayRepeat(plan.info(call.part.toolName))))
  }
  return { entries, execute }
}

/** A question says what it is about, also where a driver of somebody's own asks it. */
function whole(plan: ResolvedAgent, { part, label }: CallState, verdict: Authorization): Authorization {
  if (!('ask' in verdict) || verdict.about) return verdict
  return { ...verdict, about: subjectOf(plan.info(part.toolName), label) }
}

/**
 * The calls that are to be judged now. The first call of a handoff comes last, with all results of its step; no other
 * one of the step is taken.
 */
export function callsToJudge(plan: ResolvedAgent, run: RunProgress): readonly CallState[] {
  const planned = callsAt(run, 'planned')
  if (plan.handoffs.size === 0) return planned
  const [first] = handoffCallsIn(plan, run)
  if (!first) return planned
  const alone = run.openCalls === 1 && first.stage === 'planned' && handoffsOfRun(run) < mostHandoffs
  return planned.filter((call) => (call === first ? alone : !plan.handoffs.has(call.part.toolName)))
}

/** The calls that can start before any has ended: their starts commit together. */
function firstWave(plan: ResolvedAgent, calls: readonly CallState[]): readonly CallState[] {
  const alone = calls.findIndex((call) => executionMode(plan, call) === 'sequential')
  return calls.slice(0, Math.max(1, Math.min(plan.maxParallelTools, alone < 0 ? calls.length : alone)))
}
