import type { MaybePromise, NewEntry, ToolCall } from '@provost/core'
import { assertNever, trustedLabel } from '@provost/core'

import { decidedEntries, startedEntry, unstartedEntry } from '../entries/call-entries.ts'
import { remoteWait, uncertainWait } from '../entries/wait-entries.ts'
import {
  handoffCallsIn,
  handoffEntries,
  handoffsOfRun,
  mostHandoffs,
  unjudgedHandoff,
} from '../handoff/handoff-entry.ts'
import { subjectOf } from '../question/subject.ts'
import { toolCall } from '../state/tool-call.ts'
import { reasonResult } from '../state/tool-result.ts'
import { claimsEffect, groupsOf, mayRepeat } from '../tools/execution-mode.ts'
import type { Handoff } from '../types/agent.ts'
import type { Authorization } from '../types/loop.ts'
import { orchestratorName } from '../types/orchestrator.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { CallState, SessionState } from '../types/session-state.ts'
import type { Driver, Loop } from './driver.ts'

/** A log with calls, and what they need to advance. */
export interface CallLoop extends Pick<Loop, 'state' | 'fence' | 'options' | 'execution'> {
  readonly driver: Pick<Driver, 'authorize' | 'reconcile' | 'execute' | 'append'>
}

/** The next entries of calls, and the calls that execute once the entries are in the log. */
interface CallPlan {
  readonly entries: readonly NewEntry[]
  /** In the order of the calls. */
  readonly execute: readonly CallState[]
}

/**
 * Advances calls from their stages in the log: the calls of a step together, or one call of a composite. A call is
 * authorized, then waits, settles or executes. A decision on an approval, granted or denied, makes the call `planned`
 * again: a granted call is authorized once more, a denied one is refused. Interrupted calls are looked up first. The next
 * entries of all calls are one append.
 *
 * @param startsAtOnce how many calls start with that append. The driver records the start of the others when it executes
 *   them.
 */
export async function advanceCalls(
  loop: CallLoop,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  startsAtOnce: number,
): Promise<void> {
  const { state, driver, fence } = loop
  const interrupted = calls.filter((call) => call.stage === 'started' && !repeats(agent, call))
  // Those with a known outcome settle or are ready again. The others stay started.
  if (interrupted.length > 0) await driver.reconcile(interrupted)
  const planned = callsToJudge(state, agent, calls)
  const open = planned.filter((call) => !denialOf(call))
  const verdicts =
    open.length > 0
      ? await authorizeSelected(
          loop,
          open.map((call) => toolCall(agent, call)),
        )
      : []
  const authorized = new Map(open.map((call, index) => [call, verdicts[index]]))
  const plan = planCalls(
    state,
    agent,
    calls,
    new Map(planned.map((call) => [call, denialOf(call) ?? authorized.get(call)])),
  )
  const entries = [...plan.entries, ...startEntries(state, agent, plan.execute, startsAtOnce, fence)]
  if (entries.length > 0) await driver.append(entries)
  if (plan.execute.length > 0) await driver.execute(plan.execute)
}

/** Returns the denial of a call that a human denied. No driver is asked about it: nothing may overrule it. */
function denialOf({ approval }: CallState): Authorization | undefined {
  if (!approval || approval.decision === 'approve') return undefined
  return { deny: approval.reason ?? 'The call was not approved.', by: approval.by ?? 'approver' }
}

/**
 * Returns the next action of each call. Decided calls execute or settle, and remote calls wait. A call interrupted by a
 * crash runs again if it is repeatable; otherwise it waits for a decision.
 *
 * @param verdicts for the calls to authorize. A call without a verdict is denied.
 */
function planCalls(
  state: SessionState,
  agent: ResolvedAgent,
  calls: readonly CallState[],
  verdicts: ReadonlyMap<CallState, Authorization | undefined>,
): CallPlan {
  const entries: NewEntry[] = []
  const execute: CallState[] = []
  const handoffs = state.run ? handoffCallsIn(agent, state.run) : []
  const batch = batchOf(agent, calls, verdicts)
  const waitOrExecute = (call: CallState): void => {
    const { remote } = agent.info(call.part.toolName)
    if (remote) entries.push(remoteWait(state, call, agent.tools.get(call.part.toolName)?.['~tool'].timeoutMs))
    else execute.push(call)
  }
  for (const call of calls) {
    const { stage } = call
    switch (stage) {
      case 'planned': {
        if (!verdicts.has(call)) {
          entries.push(...unjudgedHandoff(state, agent, call, handoffs))
          break
        }
        const verdict = withSubject(
          agent,
          call,
          verdicts.get(call) ?? { deny: 'The driver gave no decision on this call.' },
        )
        const handoff = handoffOf(agent, call)
        if (handoff) {
          const recorded = handoffEntries(state, agent, call, handoff, verdict)
          entries.push(...recorded)
          if (recorded.some((one) => one.type === 'handoff' && one.mode === 'return' && one.denied === undefined))
            waitOrExecute(call)
          break
        }
        entries.push(...decidedEntries(state, call, verdict, isOfStep(call) ? batch : undefined))
        if ('proceed' in verdict) waitOrExecute(call)
        break
      }
      case 'ready':
        waitOrExecute(call)
        break
      case 'started':
        // Before this process executed anything, a started call means that another process died in it.
        if (repeats(agent, call)) waitOrExecute(call)
        else entries.push(uncertainWait(state, call))
        break
      // The log ends between the entry that denies a call and the entry that settles it, as in a fork.
      case 'answered':
        entries.push(unstartedEntry(state, call, 'denied', call.reason ?? 'The call was not made.'))
        break
      case 'delivered':
      case 'resumable':
        execute.push(call)
        break
      case 'deferred':
      case 'parked':
      case 'waiting':
      case 'settled':
        break
      default:
        assertNever(stage)
    }
  }
  return { entries, execute }
}

/**
 * Returns the batch of the calls of a step that are asked about now: a human decides on several of them, or on calls of
 * staged tools, as one table. All rows are asked about in one append, so a batch that a human sees gets no further ones.
 */
function batchOf(
  agent: ResolvedAgent,
  calls: readonly CallState[],
  verdicts: ReadonlyMap<CallState, Authorization | undefined>,
): string | undefined {
  const rows = calls.filter((call) => {
    const verdict = verdicts.get(call)
    return verdict && 'ask' in verdict && call.stage === 'planned' && isOfStep(call) && !handoffOf(agent, call)
  })
  const [first] = rows
  const isBatch = rows.length > 1 || rows.some(({ part }) => agent.tools.get(part.toolName)?.['~tool'].stage)
  return first && isBatch ? `${first.part.callId}/batch/${first.decisions + 1}` : undefined
}

/**
 * Returns an authorization for each call. The driver authorizes the calls that the orchestrator selected; the others are
 * skipped. A call of a tool that the step did not offer fails.
 */
function authorizeSelected(
  { driver, options, execution }: CallLoop,
  calls: readonly ToolCall[],
): MaybePromise<readonly (Authorization | undefined)[]> {
  return options?.tools || execution?.only
    ? authorizeSome(driver, calls, execution ?? {}, options?.tools)
    : driver.authorize(calls)
}

async function authorizeSome(
  driver: CallLoop['driver'],
  calls: readonly ToolCall[],
  { only, reason = 'Skipped: not this one now.' }: NonNullable<CallLoop['execution']>,
  offered: readonly string[] | undefined,
): Promise<readonly (Authorization | undefined)[]> {
  const selected = only ? calls.filter(({ callId }) => only.includes(callId)) : calls
  const answers = selected.length > 0 ? await driver.authorize(selected) : []
  return calls.map((call) => {
    const index = selected.indexOf(call)
    if (index < 0) return withoutRunning(call, 'skipped', reason)
    const answer = answers[index]
    // After a crash the driver does not know which tools the step was offered.
    if (answer && 'proceed' in answer && offered && !offered.includes(call.tool.name))
      return withoutRunning(call, 'error', `The tool ${call.tool.name} is not offered in this step.`)
    return answer
  })
}

function withoutRunning(call: ToolCall, outcome: 'skipped' | 'error', reason: string): Authorization {
  return { result: reasonResult(call, outcome, reason, 'log', call.label), by: orchestratorName }
}

/** Returns the entries of the calls that can start before any has ended. The last one announces the rest of its group. */
function startEntries(
  state: SessionState,
  agent: ResolvedAgent,
  execute: readonly CallState[],
  atOnce: number,
  fence: number,
): readonly NewEntry[] {
  const [group = []] = groupsOf(agent, execute)
  const wave: CallState[] = []
  const rest: CallState[] = []
  for (const [index, call] of group.entries()) {
    if (!starts(agent, call)) continue
    // A call with an effect key starts once it has claimed its effect.
    const isFirst = (index < atOnce || call.stage === 'started') && !claimsEffect(agent, call)
    if (isFirst) wave.push(call)
    else rest.push(call)
  }
  return wave.map((call) => startedEntry(state, call, fence, repeats(agent, call), call === wave.at(-1) ? rest : []))
}

/** Whether a call that executes has an entry for its start. A composite in a composite continues with the outer one. */
function starts(agent: ResolvedAgent, call: CallState): boolean {
  const { stage } = call
  if (stage === 'started') return isOfStep(call) || !agent.info(call.part.toolName).composite
  return stage !== 'delivered' && stage !== 'resumable'
}

function repeats(agent: ResolvedAgent, { part }: CallState): boolean {
  return mayRepeat(agent.info(part.toolName))
}

/** Whether a call belongs to the step itself. Calls of composites hand nothing over, and are asked about one by one. */
function isOfStep({ parentCallId }: CallState): boolean {
  return parentCallId === undefined
}

function handoffOf(agent: ResolvedAgent, call: CallState): Handoff | undefined {
  return isOfStep(call) ? agent.handoffs.get(call.part.toolName) : undefined
}

/**
 * Adds the subject to a question, also to one that a custom driver asks. Arguments that the approver edited carry the
 * approver's label.
 */
function withSubject(agent: ResolvedAgent, call: CallState, verdict: Authorization): Authorization {
  if (!('ask' in verdict) || verdict.about) return verdict
  const label = call.approval?.args === undefined ? call.label : trustedLabel
  return { ...verdict, about: subjectOf(agent.info(call.part.toolName), label) }
}

/**
 * Returns the calls that need a decision now: all planned ones, except handoff calls. The first handoff call of a step is
 * decided once it is the only open call. Until then it gets an entry that defers it, and the entry that ends the last
 * other call makes it `planned` again (`reducers/call-reducer.ts`). The other handoff calls of the step are skipped.
 */
function callsToJudge({ run }: SessionState, agent: ResolvedAgent, calls: readonly CallState[]): readonly CallState[] {
  const planned = calls.filter(({ stage }) => stage === 'planned')
  if (agent.handoffs.size === 0 || !run) return planned
  const [first] = handoffCallsIn(agent, run)
  if (!first) return planned
  const alone = run.openCalls === 1 && first.stage === 'planned' && handoffsOfRun(run) < mostHandoffs
  return planned.filter((call) => (call === first ? alone : !handoffOf(agent, call)))
}
