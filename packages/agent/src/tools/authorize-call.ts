import type {
  Ask,
  CallAnswer,
  ErrorInfo,
  Extension,
  HookContext,
  Json,
  MaybePromise,
  Tool,
  ToolCall,
  ToolOutput,
  ToolResult,
} from '@provost/core'
import { deepFreeze, fillLabel, isPromise, toJson, trustedLabel } from '@provost/core'
import type { ParsedInput } from '@provost/tools'
import { parseInput, resultOf } from '@provost/tools'

import { report } from '../control/report.ts'
import { stopIfAborted } from '../control/run-ending.ts'
import { authorizeTransfer } from '../handoff/transfer-hooks.ts'
import { inHookTime } from '../hooks/hook-time.ts'
import { invalidAnswer, runHooks } from '../hooks/run-hooks.ts'
import { askedAbout, askedAgain, renewal } from '../question/asked-again.ts'
import { checkAsks } from '../question/unexpected-ask.ts'
import { sessionApproval } from '../reducers/session-approvals.ts'
import { byteCount } from '../state/byte-count.ts'
import { hashJson } from '../state/entry.ts'
import { callOf } from '../state/session-state.ts'
import type { Handoff } from '../types/agent.ts'
import type { Authorization } from '../types/loop.ts'
import type { RunContext } from '../types/run-context.ts'
import type { CallState } from '../types/session-state.ts'
import { throughResultHooks } from './result-hooks.ts'

/** Authorizes the calls of a step one by one, in order: schema, hooks, `needsApproval`, an earlier decision. */
export async function authorizeCalls(ctx: RunContext, calls: readonly ToolCall[]): Promise<readonly Authorization[]> {
  stopIfAborted(ctx)
  const verdicts: Authorization[] = []
  for (const call of calls) {
    // Most calls need no asynchronous check: await only where one does.
    const verdict = authorize(ctx, call)
    verdicts.push(isPromise(verdict) ? await verdict : verdict)
  }
  return verdicts
}

/** Returns the authorization of one call: proceed, deny, ask for approval, or a result without execution. */
export function authorize(ctx: RunContext, call: ToolCall): MaybePromise<Authorization> {
  const tool = ctx.agent.tools.get(call.tool.name)
  if (!tool) return { ...failed(call, 'unknown-tool', unknownTool(ctx, call.tool.name)), by: 'registry' }
  // The offer of a step restricts the model only. A composite may call every tool of the agent.
  const listed = call.parentCallId === undefined
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

/** Decisions that one call may take. A call that changes after every approval is denied at this count. */
const mostProposals = 8

/** Authorizes a call whose input was parsed. Hooks and approvers only see calls that can run. */
function judgeParsed(ctx: RunContext, call: ToolCall, tool: Tool, parsed: ParsedInput): MaybePromise<Authorization> {
  if (!parsed.ok) return { ...failed(call, parsed.error.code, errorText(parsed.error)), by: 'schema' }
  const state = ctx.state.run && callOf(ctx.state.run, call.callId)
  const handoff = handoffBy(ctx, call)
  if (handoff && ctx.pendingInputs.steering.length > 0) return steered(call)
  if (handoff || ctx.agent.hooks['tool.call'].length > 0 || tool['~tool'].needsApproval || state?.approval) {
    return judgeByHooks(ctx, call, tool, state)
  }
  ctx.parsedInputs.set(call.callId, parsed.value)
  return { proceed: call.input }
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
  const { callId, tool, input } = call
  const output: ToolOutput = { type: 'error-text', value: message }
  return {
    result: { callId, tool, input, outcome: 'error', via: 'log', output, label: trustedLabel },
    error: { code, message },
  }
}

/** Returns the handoff that a call requests. Calls of a composite request none. */
function handoffBy({ agent }: RunContext, { tool, parentCallId }: ToolCall): Handoff | undefined {
  return parentCallId === undefined ? agent.handoffs.get(tool.name) : undefined
}

/** Skips a handoff while a steering message waits: the message may change the target. */
function steered(call: ToolCall): Authorization {
  const { callId, tool, input } = call
  const output = { type: 'error-text', value: 'Skipped: the user said something new first.' } as const
  return { result: { callId, tool, input, outcome: 'skipped', via: 'log', output, label: trustedLabel }, by: 'steer' }
}

/** A result that a hook returns in place of the execution. */
type ReplacedResult = Extract<CallAnswer, { result: unknown } | { replay: unknown }>

/** The combined answers of all `tool.call` hooks and of `needsApproval`. */
interface HookAnswers {
  readonly asks: readonly { readonly by: string; readonly ask: Ask }[]
  readonly deny?: { readonly by: string; readonly reason: string; readonly code?: string }
  readonly result?: { readonly by: string; readonly answer: ReplacedResult }
  /** The arguments after all rewrites of this pass. */
  readonly args: Json
  readonly rewrittenBy?: string
  /** The last hook that changed the arguments. Set even if a later hook restored them: hooks between saw other arguments. */
  readonly movedBy?: string
}

async function judgeByHooks(
  ctx: RunContext,
  call: ToolCall,
  tool: Tool,
  state: CallState | undefined,
): Promise<Authorization> {
  const approval = state?.approval
  if (approval && approval.decision !== 'approve') {
    return { deny: approval.reason ?? 'The call was not approved.', by: approval.by ?? 'approver' }
  }
  // Arguments that the approver edited are a new proposal: they carry the approver's label and pass all hooks again.
  const edited =
    approval?.args === undefined ? undefined : deepFreeze(ctx.secrets.scrubber.tokenise(toJson(approval.args)))
  let current: ToolCall = edited === undefined ? call : { ...call, input: edited, label: trustedLabel }

  const renewed = approval && renewal(tool, state, approval)
  if (renewed && (state?.decisions ?? 0) >= mostProposals) {
    return { deny: `The definition of ${tool.name} changed after each approval.`, by: tool.name }
  }
  const valid = renewed ? undefined : approval
  let checked = await askHooks(ctx, current, tool, valid)
  if (checked.rewrittenBy !== undefined && !checked.deny) {
    current = { ...current, input: checked.args }
    // An approval covers only the arguments that were approved.
    const holds = answers(valid, state, current.input, edited)
    const second = await askHooks(ctx, current, tool, holds ? valid : undefined)
    if (second.movedBy !== undefined) {
      return { deny: 'A hook rewrote the arguments again after all hooks had checked them.', by: second.movedBy }
    }
    // A hook that always rewrites and a program that always approves would otherwise loop for ever.
    if (approval && !holds && (state?.decisions ?? 0) >= mostProposals) {
      return { deny: 'A hook rewrote the arguments after each approval.', by: checked.rewrittenBy }
    }
    checked = { ...second, args: current.input }
  }
  const handoff = handoffBy(ctx, call)
  const flow = handoff && !checked.deny ? await authorizeTransfer(ctx, current, handoff, valid) : undefined
  const { deny, asks, result } = { ...checked, ...flow, asks: [...checked.asks, ...(flow?.asks ?? [])] }
  if (deny) return { deny: deny.reason, by: deny.by, ...(deny.code !== undefined && { code: deny.code }) }

  const parsed = await parseInput(tool, current.input)
  if (!parsed.ok) return { ...failed(current, parsed.error.code, errorText(parsed.error)), by: 'schema' }
  let approvedBy = valid?.by
  if ((asks.length > 0 || renewed) && !answers(valid, state, current.input, edited)) {
    const ask = askedAgain(
      asks.map((one) => one.ask),
      renewed,
    )
    const by = asks.length > 0 ? asks.map((one) => one.by).join(', ') : (state?.askedBy ?? tool.name)
    const standing = ask.sticky && sessionApproval(ctx.state, tool, by, current.input)
    if (standing === undefined) return { ask, args: current.input, by, about: askedAbout(ctx, tool, current, asks) }
    approvedBy = standing
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

async function askHooks(
  ctx: RunContext,
  call: ToolCall,
  tool: Tool,
  approval: HookContext['approval'],
): Promise<HookAnswers> {
  const unchanged: HookAnswers = { asks: [], args: call.input }
  const asked = runHooks(ctx, 'tool.call', unchanged, {
    changes: approval && { approval },
    bytes: ({ args }) => byteCount(args),
    call: (hook, hookContext, { args }) => hook(args === call.input ? call : { ...call, input: args }, hookContext),
    answered: (answer, before, by) => afterAnswer(ctx, call, before, answer, by),
    ends: ({ deny }) => deny !== undefined,
    failed: (before, { name: by }) => ({ ...before, deny: { by, reason: `${by} failed to check this call.` } }),
  })
  const answered = isPromise(asked) ? await asked : asked
  if (answered.deny) return answered
  const wish = await toolAsk(ctx, call, tool, answered.args, approval)
  if (!wish) return answered
  if ('deny' in wish) return { ...answered, deny: { by: tool.name, reason: wish.deny } }
  return { ...answered, asks: [...answered.asks, { by: tool.name, ask: wish }] }
}

/** Returns the combined answers after one more. */
function afterAnswer(
  { secrets }: RunContext,
  call: ToolCall,
  before: HookAnswers,
  answer: CallAnswer,
  extension: Extension,
): HookAnswers {
  const by = extension.name
  if ('deny' in answer) {
    const { deny: reason, code } = answer
    return { ...before, deny: { by, reason, ...(code !== undefined && { code }) } }
  }
  if ('ask' in answer) {
    checkAsks(extension)
    return { ...before, asks: [...before.asks, { by, ask: answer.ask }] }
  }
  if ('result' in answer || 'replay' in answer) return { ...before, result: before.result ?? { by, answer } }
  if (!('args' in answer)) throw invalidAnswer(extension, 'tool.call')
  // Frozen, so that the checked arguments are the executed ones.
  const args = deepFreeze(secrets.scrubber.tokenise(toJson(answer.args)))
  const moved = hashJson(args) !== hashJson(call.input)
  return { ...before, args, rewrittenBy: by, ...(moved && { movedBy: by }) }
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
  if ('replay' in answer) {
    const { value, output, label, fields, details } = answer.replay
    return {
      callId: call.callId,
      tool: call.tool,
      input: call.input,
      outcome: 'ok',
      via: 'cache',
      output,
      label,
      ...(value !== undefined && { value }),
      ...(fields && { fields }),
      ...(details !== undefined && { details }),
    }
  }
  const made = await resultOf(tool, answer.result, call.input)
  const { outcome, output, value, fields, details } = made
  return {
    callId: call.callId,
    tool: call.tool,
    input: call.input,
    outcome,
    via: 'hook',
    output,
    label: fillLabel(answer.label, made.label),
    ...(value !== undefined && { value }),
    ...(fields && { fields }),
    ...(details !== undefined && { details }),
  }
}
