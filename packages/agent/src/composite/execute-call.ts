import type { EffectMark, EffectStatus, ErrorInfo, Label, Timestamp, Tool, ToolResult } from '@provost/core'
import { fillLabel, isPromise, joinLabels, trustedLabel } from '@provost/core'
import { effectEnd } from '@provost/sessions'
import type { ToolOutcome } from '@provost/tools'
import { parseInput, remoteFailure, resultOf, runTool } from '@provost/tools'

import { closeChildren } from '../children/close-children.ts'
import { appendAborting } from '../children/part-session.ts'
import { yieldForBytes } from '../control/paced-work.ts'
import { admitCall, needsAdmission } from '../effects/admit-call.ts'
import type { Admission } from '../effects/admit-call.ts'
import { endsEffect, recordEnd } from '../effects/record-end.ts'
import type { SettledDetails } from '../entries/call-entries.ts'
import { keepsValue, settledEntry, startedEntry } from '../entries/call-entries.ts'
import { unawaitedCalls } from '../entries/closing-entries.ts'
import { uncertainWait } from '../entries/wait-entries.ts'
import { outputText } from '../events/call-events.ts'
import { returnHandoffOf } from '../handoff/return-handoff.ts'
import { around } from '../hooks/around.ts'
import { compositeStateOf } from '../reducers/composite-reducer.ts'
import { byteCount } from '../state/byte-count.ts'
import { statusOf } from '../state/effect-status.ts'
import { toolCall } from '../state/tool-call.ts'
import { toolResult } from '../state/tool-result.ts'
import { claimsEffect, mayRepeat } from '../tools/execution-mode.ts'
import { throughResultHooks } from '../tools/result-hooks.ts'
import type { CompositeCall, RunContext } from '../types/run-context.ts'
import { RunEnding } from '../types/run-ending.ts'
import type { CallState, Delivered } from '../types/session-state.ts'
import { CallContext } from './call-context.ts'

/**
 * Writes the start of a call, and announces those that start with it.
 *
 * @param effect where the ledger of effects admitted the call.
 */
export async function startCall(
  { agent, logWriter, state }: RunContext,
  call: CallState,
  rest?: readonly CallState[],
  effect?: EffectMark,
): Promise<void> {
  const isRepeatable = mayRepeat(agent.info(call.part.toolName))
  await logWriter.append([startedEntry(state, call, logWriter.fence, isRepeatable, rest, effect)])
}

/**
 * Executes one call, of the model or of a composite: the ledger of effects admits it, it starts, its tool runs, and its
 * result is recorded. A result from outside replaces the run of the tool.
 *
 * @param compositeCall for a composite: its operations. They are closed before the result is recorded.
 */
export async function executeCall(
  ctx: RunContext,
  call: CallState,
  signal: AbortSignal = ctx.signal,
  compositeCall?: CompositeCall,
): Promise<void> {
  const { logWriter, state, agent } = ctx
  const tool = agent.tools.get(call.part.toolName)
  let startBy: Timestamp = Number.POSITIVE_INFINITY
  let { effect } = call
  if (tool && !call.delivery && needsAdmission(ctx, tool)) {
    const admission = await admitCall(ctx, call, tool)
    if (admission.admit === 'ask')
      return void (await logWriter.append([uncertainWait(state, call, admission.effectStatus)]))
    if (admission.admit === 'answer') return settleUnstarted(ctx, call, tool, admission)
    if (admission.effect) effect = admission.effect
    if (admission.startBy !== undefined) startBy = admission.startBy
  }
  // Each attempt of a call with an effect key has a start in the log, so that the log knows the one in doubt.
  const isNextAttempt = effect?.attempt !== call.effect?.attempt && claimsEffect(agent, call)
  if (call.stage === 'ready' || isNextAttempt) await startCall(ctx, call, [], effect)
  const others = yieldForBytes(byteCount(call.args))
  if (others) await others
  const { delivery } = call
  if (!delivery) {
    // A stalled process may have lost its lease; then another process owns the call.
    const confirmed = logWriter.confirm()
    if (confirmed) await confirmed
  }
  if (tool && state.clock.now() > startBy) {
    // Another call may have claimed the effect meanwhile.
    await recordEnd(ctx, call, tool, { end: 'failed', by: 'call' })
    return executeCall(ctx, call, signal, compositeCall)
  }
  const made = await (delivery
    ? deliveredOutcome(ctx, call, delivery)
    : perform(ctx, call, effect, signal, compositeCall))
  if (compositeCall) {
    await compositeCall.close()
    if (compositeCall.detached) return
    if (compositeCall.fault) throw compositeCall.fault.error
  }
  const outcome = compositeCall ? labelled(made, compositeStateOf(call).label) : made
  const first = toolResult(toolCall(agent, call), outcome, delivery?.via ?? 'executed')
  const hooked = throughResultHooks(ctx, first)
  const { result, end, isWithheld } = isPromise(hooked) ? await hooked : hooked
  const isSame = result.outcome === outcome.outcome && result.output === outcome.output
  const settling: SettledDetails = {
    durationMs: outcome.durationMs,
    unknown: outcome.unknown,
    keepsValue: keepsValue(tool),
    error: isSame ? outcome.error : delivery || end || isWithheld ? undefined : changedError(outcome, result),
  }
  // Children that were not resumed after a crash would stay open forever.
  const left = compositeCall ? [...(await closeChildren(ctx, state, call)), ...unawaitedCalls(state, call)] : []
  const effectEnded = effectEnd(outcome)
  const isRecorded = endsEffect(ctx, effect, tool, effectEnded)
  // An open end is recorded first: a call that may have taken effect is known even if the run ends here. So is an end that
  // the log cannot tell, because a hook withheld the result.
  const by = delivery ? 'human' : 'call'
  const isFirst = effectEnded === 'unknown' || result.outcome !== outcome.outcome
  const status = tool && isRecorded && isFirst ? await recordEnd(ctx, call, tool, { end: effectEnded, by }) : undefined
  const asked: EffectStatus | undefined = delivery?.effectStatus && { ...delivery.effectStatus, state: effectEnded, by }
  const effectStatus = effect ? statusOf(effect, effectEnded, by) : (asked ?? status)
  const settled = [...left, settledEntry(state, call, result, { ...settling, effectStatus })]
  const { append } = logWriter
  const { offset } = await (left.length > 0 ? appendAborting(ctx, settled, append) : append(settled))
  if (tool && isRecorded && !isFirst) await recordEnd(ctx, call, tool, { end: effectEnded, by, offset })
  if (end) throw end
}

/** Settles a call that the ledger of effects answered. */
async function settleUnstarted(
  ctx: RunContext,
  call: CallState,
  tool: Tool,
  admission: Extract<Admission, { admit: 'answer' }>,
): Promise<void> {
  const { result: first, effectStatus } = admission
  const hooked = throughResultHooks(ctx, first)
  const { result, end } = isPromise(hooked) ? await hooked : hooked
  const { offset } = await ctx.logWriter.append([
    settledEntry(ctx.state, call, result, { keepsValue: keepsValue(tool), effectStatus }),
  ])
  await recordEnd(ctx, call, tool, { end: effectEnd(first), by: 'lookup', offset })
  if (end) throw end
}

/**
 * Returns the error of a result that a hook changed: the message is the changed output, since the original repeats what the
 * hook removed. The code stays where a local tool chose it, in the form of a code.
 */
function changedError({ error }: ToolOutcome, { outcome, output }: ToolResult): ErrorInfo | undefined {
  if (!error || outcome === 'ok' || !/^[\w-]{1,100}$/.test(error.code)) return undefined
  return { code: error.code, message: outputText(output) }
}

async function deliveredOutcome(ctx: RunContext, call: CallState, delivered: Delivered): Promise<ToolOutcome> {
  const tool = ctx.agent.tools.get(call.part.toolName)
  if (tool && delivered.fate === 'failed') return remoteFailure(tool, delivered.error)
  if (tool && delivered.fate === 'done') return resultOf(tool, delivered.output, call.args)
  if (delivered.fate === 'expired') return expiredOutcome(call)
  return {
    outcome: 'error',
    output: { type: 'error-text', value: 'The call was abandoned. It is unknown whether it took effect.' },
    label: trustedLabel,
    unknown: true,
    durationMs: 0,
  }
}

function expiredOutcome({ part }: CallState): ToolOutcome {
  const error: ErrorInfo = {
    code: 'tool-timeout',
    message: `The result of ${part.toolName} did not arrive in time, and the call was abandoned.`,
    hint: 'The call may still take effect elsewhere. Check before you repeat it.',
  }
  const output = { type: 'error-text', value: `${error.message}\n${error.hint}` } as const
  return { outcome: 'timeout', output, label: trustedLabel, error, durationMs: 0 }
}

async function perform(
  ctx: RunContext,
  call: CallState,
  effect: EffectMark | undefined,
  signal: AbortSignal,
  compositeCall: CompositeCall | undefined,
): Promise<ToolOutcome> {
  const { agent, step } = ctx
  const { callId, toolName } = call.part
  const tool = agent.tools.get(toolName)
  if (!tool) throw new RunEnding('failed', { code: 'unknown-tool', message: `There is no tool named ${toolName}.` })
  const known = ctx.parsedInputs.has(callId)
  // After a crash another process parsed and authorized the input, so it is parsed again.
  const parsed = known ? { ok: true as const, value: ctx.parsedInputs.get(callId) } : parseInput(tool, call.args)
  const value = isPromise(parsed) ? await parsed : parsed
  ctx.parsedInputs.delete(callId)
  if (!value.ok) {
    return {
      outcome: 'error',
      output: { type: 'error-text', value: value.error.message },
      label: trustedLabel,
      error: value.error,
      durationMs: 0,
    }
  }
  const run = (): Promise<ToolOutcome> =>
    runTool(tool, new CallContext(ctx, call, effect, returnHandoffOf(ctx, call) ?? value.value, signal, compositeCall))
  const parent = call.parentCallId ?? `${ctx.id}/${step}`
  const { sandbox } = tool
  const op = {
    kind: 'tool',
    id: callId,
    parent,
    callId,
    toolName,
    effect: tool.effect,
    ...(sandbox && { sandbox }),
  } as const
  return around(ctx, op, run)
}

/** Joins the label of a composite's output with the labels of the results that it received. */
function labelled(outcome: ToolOutcome, answered: Label): ToolOutcome {
  const { fields, output } = outcome
  const all = (label: Label): Label => joinLabels(label, answered)
  return {
    ...outcome,
    label: all(outcome.label),
    ...(fields && { fields: Object.fromEntries(Object.entries(fields).map(([at, label]) => [at, all(label)])) }),
    ...(output.type === 'content' && {
      output: {
        ...output,
        value: output.value.map((part) =>
          part.label ? { ...part, label: all(fillLabel(part.label, outcome.label)) } : part,
        ),
      },
    }),
  }
}
