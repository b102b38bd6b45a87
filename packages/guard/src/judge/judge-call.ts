import type { CallState } from '@provost/agent'
import { decidedEntries, newEntry, placeOf, resolvedEntries, subjectOf, hashJson } from '@provost/agent/internal'
import type { ApprovalDecision, CallAnswer, HookContext, Json, JsonObject, ModelRequest } from '@provost/core'
import { isRecord, positionId, ProvostError, toJson } from '@provost/core'

import type { GuardPlan } from '../definition/guard-options.ts'
import type { KnownTools } from '../definition/guarded-tools.ts'
import { messageFor } from '../history/outside-message.ts'
import { closeCalls, openCall, startCall, tokenOf } from '../history/record-history.ts'
import { guardContext } from '../log/guard-context.ts'
import type { GuardLog } from '../log/guard-log.ts'

/** A call of another loop. */
export interface OutsideCall {
  /** The id that the loop gives it. */
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** What a guard decides about a call. */
export interface GuardVerdict {
  readonly decision: 'allow' | 'ask' | 'deny'
  /** For the model if the call is denied, for the human if it is asked about. */
  readonly reason?: string
  /** What the question is about, as in `tool.approval.requested`. */
  readonly evidence?: Json
  /** The conversation, and the call in its log. */
  readonly session: string
  readonly callId?: string
}

/** What judging a call needs. */
export interface Judgement {
  readonly plan: GuardPlan
  readonly log: GuardLog
  readonly tools: KnownTools
  /** The history has messages that the guard did not know: the model has answered again. */
  readonly isNewStep: boolean
}

/** Judges a call that the model of another loop has written now, and records the decision. */
export async function judgeNew(judgement: Judgement, call: OutsideCall): Promise<GuardVerdict> {
  return judgeOpened(judgement, await openNew(judgement, call), undefined)
}

/**
 * Judges a call again that a human has approved in the other loop. An approval of a call that the guard never asked about,
 * or of other arguments, counts for nothing: such a call is judged as a new one, and a question about it is a denial.
 */
export async function judgeApproved(judgement: Judgement, call: OutsideCall, by: string): Promise<GuardVerdict> {
  const { log } = judgement
  const asked = openCall(log, call.id, call.name)
  const token = asked?.stage === 'waiting' && asked.argsHash === hashJson(toJson(call.input)) && tokenOf(log, asked)
  if (asked && typeof token === 'string') {
    const approval: ApprovalDecision = { id: token, decision: 'approve', by }
    log.add(resolvedEntries(log.state, { approvals: [approval] }).entries)
    return judgeOpened(judgement, asked, approval)
  }
  const opened = await openNew({ ...judgement, isNewStep: true }, call)
  return judgeOpened(judgement, opened, undefined, 'This approval is not for a question of the guard.')
}

/** Records that the model has written a call. */
async function openNew({ plan, log, tools, isNewStep }: Judgement, call: OutsideCall): Promise<CallState> {
  const { state } = log
  if (!state.run)
    throw new ProvostError('empty-log', 'The history of the call is empty.', {
      hint: 'Pass the messages that the model answered.',
    })
  const isFirst = isNewStep || state.run.step === 0
  if (isFirst) {
    closeCalls(log)
    await beforeAnswer(plan, log, tools)
  }
  const place = { ...placeOf(state), step: state.run.step + (isFirst ? 1 : 0) }
  const callId = positionId(place.runId, place.step, 'call', log.nextOffset())
  const input = toJson(call.input)
  const part = { type: 'tool-call', callId, toolCallId: call.id, toolName: call.name, input } as const
  const id = positionId(place.runId, place.step, 'message', log.nextOffset())
  const message = messageFor(log, id, 'assistant', [part], state.viewLabel, plan.name)
  log.add([newEntry(place, id, { type: 'message', message, via: 'model' })])
  const opened = state.run.calls.get(callId)
  if (!opened) throw new ProvostError('empty-log', 'The call could not be recorded.', { hint: 'Report this error.' })
  return opened
}

/** Has the policy derive what it derives before each answer of the model. */
async function beforeAnswer(plan: GuardPlan, log: GuardLog, tools: KnownTools): Promise<void> {
  await plan.policy.hooks['model.request']?.(requestOf(log, tools), contextOf(plan, log, tools, plan.policy))
}

/** Links what the log has so far in the audit. */
export async function linkAudit(plan: GuardPlan, log: GuardLog, tools: KnownTools): Promise<void> {
  await plan.chain.hooks['model.request']?.(requestOf(log, tools), contextOf(plan, log, tools, plan.chain))
}

function contextOf(
  plan: GuardPlan,
  log: GuardLog,
  { infos }: KnownTools,
  extension: GuardPlan['policy'],
  approval?: ApprovalDecision,
): HookContext {
  return guardContext({ log, plan, tools: infos }, extension, approval)
}

function requestOf({ state }: GuardLog, { infos }: KnownTools): ModelRequest {
  return { model: '', spec: '', label: state.viewLabel, messages: state.view, tail: [], tools: infos, params: {} }
}

async function judgeOpened(
  judgement: Judgement,
  call: CallState,
  approval: ApprovalDecision | undefined,
  /** Why a question about the call cannot be asked. */
  unasked?: string,
): Promise<GuardVerdict> {
  const { plan, log, tools } = judgement
  const { state } = log
  const { callId, toolName } = call.part
  const tool = tools.toolOf(toolName)
  const { args } = call
  const answer = isRecord(args)
    ? await decide(judgement, { callId, tool, input: args, label: call.label }, approval)
    : ({ deny: 'The arguments of the call are not an object.' } as const)
  const by = plan.policy.name
  const common = { session: log.session, callId }
  if (answer && plan.mode === 'enforce') {
    const refusal = 'deny' in answer ? answer.deny : 'ask' in answer ? unasked : 'The policy gave an invalid answer.'
    if (refusal !== undefined) {
      log.add(decidedEntries(state, call, { deny: refusal, ...('code' in answer && { code: answer.code }), by }))
      return { decision: 'deny', reason: refusal, ...common }
    }
    if ('ask' in answer && approval === undefined) {
      const { ask } = answer
      const about = subjectOf(tool, call.label, ask.origins ? { origins: ask.origins } : {})
      log.add(decidedEntries(state, call, { ask, about, by }))
      const evidence = ask.evidence === undefined ? {} : { evidence: toJson(ask.evidence) }
      return { decision: 'ask', reason: ask.reason, ...evidence, ...common }
    }
  }
  log.add(decidedEntries(state, call, { proceed: args }))
  startCall(log, call)
  return { decision: 'allow', ...common }
}

async function decide(
  { plan, log, tools }: Judgement,
  call: Parameters<NonNullable<GuardPlan['policy']['hooks']['tool.call']>>[0] & { readonly input: JsonObject },
  approval: ApprovalDecision | undefined,
): Promise<CallAnswer | undefined> {
  const context = contextOf(plan, log, tools, plan.policy, approval)
  return (await plan.policy.hooks['tool.call']?.(call, context)) ?? undefined
}
