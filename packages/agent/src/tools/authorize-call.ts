import type {
  Ask,
  ErrorInfo,
  HookContext,
  Json,
  JsonObject,
  MaybePromise,
  Tool,
  ToolCall,
  ToolResult,
} from '@provost/core'
import { deepFreeze, fillLabel, isPromise, isRecord, toJson, trustedLabel } from '@provost/core'
import type { ParsedInput } from '@provost/tools'
import { parseInput, resultOf } from '@provost/tools'

import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { ledger } from '../effects/admit-call.ts'
import { standingEffect } from '../effects/standing-effect.ts'
import type { Standing } from '../effects/standing-effect.ts'
import { authorizeTransfer } from '../handoff/transfer-hooks.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { askedAbout, askedAgain, renewal } from '../question/asked-again.ts'
import { mergeApprovals } from '../question/merge-approvals.ts'
import { sessionApproval } from '../reducers/session-approvals.ts'
import { hashJson } from '../state/entry.ts'
import { callOf } from '../state/session-state.ts'
import { reasonResult, toolResult } from '../state/tool-result.ts'
import type { Handoff } from '../types/agent.ts'
import type { Authorization } from '../types/loop.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import type { HookAnswers, JudgeOptions, ReplacedResult } from './judge-call.ts'
import { judgeCall } from './judge-call.ts'
import { throughResultHooks } from './result-hooks.ts'

/**
 * Authorizes the calls of a step one by one, in order: schema, hooks, `needsApproval`, an earlier decision. If steering
 * input has arrived by then, the calls are skipped, except those that a human approved.
 */
export async function authorizeCalls(ctx: RunContext, calls: readonly ToolCall[]): Promise<readonly Authorization[]> {
  stopIfAborted(ctx)
  const verdicts: Authorization[] = []
  for (const call of calls) {
    // Most calls need no asynchronous check: await only where one does.
    const verdict = authorize(ctx, call)
    verdicts.push(isPromise(verdict) ? await verdict : verdict)
  }
  return ctx.inbox.has('steer') ? verdicts.map((verdict, index) => unlessSteered(ctx, calls[index], verdict)) : verdicts
}

/** Returns `skipped` for a call that could run or ask, unless a human approved it. */
function unlessSteered({ state }: RunContext, call: ToolCall | undefined, verdict: Authorization): Authorization {
  if (!call || !('proceed' in verdict || 'ask' in verdict)) return verdict
  return state.run && callOf(state.run, call.callId)?.approval ? verdict : steered(call)
}

/** Returns the authorization of one call: proceed, deny, ask for approval, or a result without execution. */
export function authorize(ctx: RunContext, call: ToolCall): MaybePromise<Authorization> {
  const tool = ctx.agent.tools.get(call.tool.name)
  if (!tool) return { ...failed(call, 'unknown-tool', unknownTool(ctx, call.tool.name)), by: 'registry' }
  // The offer of a step restricts the model only. Composites and orchestrators may call every tool of the agent.
  const listed = call.parentCallId === undefined && !isOrchestrators(ctx, call)
  if (listed && tool.deferred && ctx.promotedTools && !ctx.promotedTools.has(tool.name)) {
    return { ...failed(call, 'tool-deferred', notLoaded(ctx, tool.name)), by: 'registry' }
  }
  if (listed && ctx.offeredTools && !tool.deferred && !ctx.offeredTools.has(tool.name)) {
    return { ...failed(call, 'unknown-tool', `The tool ${tool.name} is not offered in this step.`), by: 'registry' }
  }
  const parsed = parseInput(tool, call.input)
  return isPromise(parsed)
    ? parsed.then((done) => judgeParsed(ctx, call, tool, done))
    : judgeParsed(ctx, call, tool, parsed)
}

function isOrchestrators({ state }: RunContext, { callId }: ToolCall): boolean {
  return state.run?.calls.get(callId)?.isOrchestrators === true
}

/** Decisions that one call may take. A call that changes after every approval is denied at this count. */
const mostProposals = 8

/** Authorizes a call whose input was parsed. Hooks and approvers only see calls that can run. */
function judgeParsed(ctx: RunContext, call: ToolCall, tool: Tool, parsed: ParsedInput): MaybePromise<Authorization> {
  if (!parsed.ok) return invalidInput(call, parsed)
  const state = ctx.state.run && callOf(ctx.state.run, call.callId)
  const handoff = handoffBy(ctx, call)
  if (handoff && ctx.inbox.has('steer')) return steered(call)
  const { needsApproval, effectKey, stage } = tool['~tool']
  if (handoff || ctx.agent.hooks['tool.call'].length > 0 || needsApproval || stage || effectKey || state?.approval) {
    return judgeByHooks(ctx, call, tool, state)
  }
  ctx.parsedInputs.set(call.callId, parsed.value)
  return { proceed: call.input }
}

function invalidInput(call: ToolCall, { error }: Extract<ParsedInput, { ok: false }>): Authorization {
  return { ...failed(call, error.code, errorText(error)), by: 'schema' }
}

function errorText(error: { readonly message: string; readonly hint?: string }): string {
  return error.hint ? `${error.message}\n${error.hint}` : error.message
}

function notLoaded(ctx: RunContext, name: string): string {
  const search = ctx.agent.searchName
  return `The tool ${name} is not loaded.${search === undefined ? '' : ` Find it with ${search} first; it can be called in the step after that.`}`
}

function unknownTool(ctx: RunContext, name: string): string {
  const known = ctx.agent.offered
    .slice(0, 50)
    .map((tool) => tool.name)
    .join(', ')
  return `There is no tool named ${name.slice(0, 100)}. ${known ? `The tools are: ${known}.` : 'There are no tools.'}`
}

function failed(call: ToolCall, code: string, message: string): { result: ToolResult; error: ErrorInfo } {
  return { result: reasonResult(call, 'error', message), error: { code, message } }
}

/** Returns the handoff that a call requests. Calls of a composite request none. */
function handoffBy({ agent }: RunContext, { tool, parentCallId }: ToolCall): Handoff | undefined {
  return parentCallId === undefined ? agent.handoffs.get(tool.name) : undefined
}

/** Skips a call while a steering message waits: the message may make it wrong. */
function steered(call: ToolCall): Authorization {
  return { result: reasonResult(call, 'skipped', 'Skipped: the user said something new first.'), by: 'steer' }
}

async function judgeByHooks(
  ctx: RunContext,
  call: ToolCall,
  tool: Tool,
  state: CallState | undefined,
): Promise<Authorization> {
  const approval = state?.approval
  // Arguments that the approver edited are a new proposal: they carry the approver's label and pass all hooks again.
  const edited =
    approval?.args === undefined ? undefined : deepFreeze(ctx.secrets.scrubber.tokenise(toJson(approval.args)))
  const input = edited === undefined ? call.input : edited
  if (!isRecord(input)) {
    const rejected = await parseInput(tool, input)
    return rejected.ok ? { deny: `The input of ${tool.name} is not an object.` } : invalidInput(call, rejected)
  }
  const proposed: ToolCall<JsonObject> = { ...call, input, ...(edited !== undefined && { label: trustedLabel }) }
  const renewed = approval && renewal(tool, state, approval)
  if (renewed && (state?.decisions ?? 0) >= mostProposals) {
    return { deny: `The definition of ${tool.name} changed after each approval.`, by: tool.name }
  }
  const valid = renewed ? undefined : approval
  const covers = (args: Json): boolean => valid === undefined || answers(valid, state, args, edited)
  // The approver received the arguments after all rewrites.
  const isFinal = approval !== undefined && edited === undefined
  const checked = await askAll(ctx, proposed, tool, { approval: valid, isFinal, covers })
  const current = checked.args === proposed.input ? proposed : { ...proposed, input: checked.args }
  // A hook that always rewrites and an approver that always edits would otherwise loop for ever.
  if (!checked.deny && !covers(current.input) && (state?.decisions ?? 0) >= mostProposals) {
    return { deny: 'A hook rewrote the arguments after each approval.', by: checked.rewrittenBy ?? tool.name }
  }
  const handoff = handoffBy(ctx, call)
  const standing = tool['~tool'].effectKey && !checked.deny ? await standingOf(ctx, current, tool) : undefined
  const flow = handoff && !checked.deny ? await authorizeTransfer(ctx, current, handoff, valid) : undefined
  const asking = standing && 'ask' in standing ? [{ by: ledger, ask: standing.ask }] : []
  const { deny, asks, result } = { ...checked, ...flow, asks: [...checked.asks, ...asking, ...(flow?.asks ?? [])] }
  if (deny) return { deny: deny.reason, by: deny.by, ...(deny.code !== undefined && { code: deny.code }) }
  if (standing && !('ask' in standing)) return standing

  const parsed = await parseInput(tool, current.input)
  if (!parsed.ok) return invalidInput(current, parsed)
  let approvedBy = valid?.by
  if ((asks.length > 0 || renewed) && !answers(valid, state, current.input, edited)) {
    const ask = askedAgain(
      asks.map((one) => one.ask),
      renewed,
    )
    const by = asks.length > 0 ? asks.map((one) => one.by).join(', ') : (state?.askedBy ?? tool.name)
    const granted = ask.sticky && sessionApproval(ctx.state, tool, by, current.input)
    if (granted === undefined) return { ask, args: current.input, by, about: askedAbout(ctx, tool, current, asks) }
    approvedBy = granted
  }
  if (result) {
    const passed = await throughResultHooks(ctx, await hookResult(current, tool, result.answer))
    if (passed.end) throw passed.end
    return { result: passed.result, by: result.by }
  }
  ctx.parsedInputs.set(call.callId, parsed.value)
  return {
    proceed: current.input,
    ...(flow?.crossing && { crossing: flow.crossing }),
    ...(approvedBy !== undefined && { by: approvedBy }),
  }
}

/** Returns what the ledger of effects says of a call. An effect that cannot be identified does not take place. */
async function standingOf(
  ctx: RunContext,
  call: ToolCall,
  tool: Tool,
): Promise<Exclude<Authorization, { readonly ask: Ask }> | { readonly ask: Ask } | undefined> {
  const parsed = await parseInput(tool, call.input)
  if (!parsed.ok) return undefined
  let standing: Standing | undefined
  try {
    standing = await standingEffect(ctx, tool, call, parsed.value)
  } catch (thrown) {
    report(ctx, thrown, { kind: 'tool', name: tool.name })
    return { deny: `The effectKey of ${tool.name} failed.`, by: tool.name }
  }
  if (!standing || 'ask' in standing) return standing
  const passed = await throughResultHooks(ctx, standing.result)
  if (passed.end) throw passed.end
  return { result: passed.result, by: ledger, effectStatus: standing.effectStatus }
}

/** Whether an approval covers these arguments: those that were shown, or those that the approver wrote. */
function answers(
  approval: CallState['approval'],
  state: CallState | undefined,
  input: Json,
  edited: Json | undefined,
): boolean {
  if (approval?.decision !== 'approve') return false
  const shown = edited === undefined ? state?.argsHash : hashJson(edited)
  return shown === hashJson(input)
}

/** Asks the hooks, and then the tool about the final arguments. */
async function askAll(
  ctx: RunContext,
  call: ToolCall<JsonObject>,
  tool: Tool,
  options: JudgeOptions,
): Promise<HookAnswers> {
  const answered = await judgeCall(ctx, call, options)
  if (answered.deny) return answered
  const approval = options.covers(answered.args) ? options.approval : undefined
  const wish = await toolAsk(ctx, call, tool, answered.args, approval)
  if (wish && 'deny' in wish) return { ...answered, deny: { by: tool.name, reason: wish.deny } }
  const staged = tool['~tool'].stage && { reason: `${tool.title ?? tool.name} is staged` }
  const asks = [wish, staged].filter((ask) => ask !== undefined)
  return asks.length > 0
    ? { ...answered, asks: [...answered.asks, { by: tool.name, ask: mergeApprovals(asks) }] }
    : answered
}

/** Returns the answer of the tool's own `needsApproval`, which receives the parsed value. */
async function toolAsk(
  ctx: RunContext,
  call: ToolCall,
  tool: Tool,
  args: Json,
  approval: HookContext['approval'],
): Promise<Ask | { readonly deny: string } | undefined> {
  const definition = tool['~tool']
  if (!definition.needsApproval) return undefined
  const parsed = await parseInput(tool, args)
  // Arguments that cannot run need no approval.
  if (!parsed.ok) return undefined
  try {
    const hookContext = ctx.contextFor(ctx.agent.self, approval && { approval })
    const asked = definition.needsApproval(parsed.value, hookContext, call.callId)
    const wish = await inHookTime(ctx, ctx.agent.self, 'needsApproval', asked)
    if (wish === false) return undefined
    return wish === true ? { reason: `${call.tool.title ?? call.tool.name} needs approval` } : wish
  } catch (thrown) {
    report(ctx, thrown, { kind: 'tool', name: tool.name })
    return { deny: `needsApproval of ${tool.name} failed.` }
  }
}

async function hookResult(call: ToolCall, tool: Tool, answer: ReplacedResult): Promise<ToolResult> {
  // The tool returned this result before: it is validated and labelled.
  if ('replay' in answer) return toolResult(call, { ...answer.replay, outcome: 'ok' }, 'cache')
  const made = await resultOf(tool, answer.result, call.input)
  return toolResult(call, { ...made, label: fillLabel(answer.label, made.label) }, 'hook')
}
