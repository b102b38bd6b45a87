import type {
  Ask,
  CallAnswer,
  Extension,
  HookContext,
  Json,
  KnownKeys,
  Message,
  MovedKeys,
  Steps,
  ToolCall,
  ToolInfo,
} from '@provost/core'
import {
  checkChoice,
  checkOptions,
  defineExtension,
  isPromise,
  joinLabels,
  ProvostError,
  toErrorInfo,
  toJson,
} from '@provost/core'

import { argumentOrigins } from '../provenance/argument-origin.ts'
import { roleValuesOf } from '../provenance/argument-role.ts'
import type { DataFlowRule, Implied, RuleAnswer, Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { knowledgeOf, originSteps } from '../provenance/origin.ts'
import type { Knowledge } from '../provenance/origin.ts'
import type { Provenance } from '../provenance/provenance-state.ts'
import { provenanceFold } from '../provenance/provenance.ts'
import { secretArguments, secretLabel } from '../provenance/secret-argument.ts'
import { forgetForms } from '../wording/exact-form.ts'
import { answerCall } from './answer-sink.ts'
import { classicPreset, lethalTrifecta } from './classic-preset.ts'
import { impliedByWords, settledIntent } from './intent-match.ts'
import type { IntentFunction } from './intent-match.ts'
import { intentPreset } from './intent-preset.ts'

/** Sets of rules: `intent` is the default, `classic` has the rules of comparable tools. */
export const presets: { readonly intent: readonly DataFlowRule[]; readonly classic: readonly DataFlowRule[] } =
  Object.freeze({ intent: intentPreset, classic: classicPreset })

/** Options of {@link dataFlowPolicy}. */
export interface DataFlowPolicyOptions {
  /** `shadow` audits each decision and never changes a run. `enforce` applies each decision. */
  readonly mode: 'shadow' | 'enforce'
  /** Rules run in this order; the first decision applies. Default `presets.intent`. */
  readonly rules?: readonly DataFlowRule[]
  /** `deny` turns approval requests into denials. Default `ask`: a human decides, with the evidence at hand. */
  readonly onViolation?: 'ask' | 'deny'
  /** Names of tools that run in spite of a decision. The audit records each such call. */
  readonly declassifySinks?: readonly string[]
  /** Whether every sink needs approval after secret data and untrusted text. Default: the rules decide. */
  readonly guardTrifecta?: boolean
  /** Whether the policy also judges the assistant's answer before listeners receive it. Default false. */
  readonly outputIsSink?: boolean
  /** Returns the readers of a destination, as labels name them. Default: the destination itself. */
  readonly readers?: (destination: string) => readonly string[]
  /** Returns the names of the sink tools that the user's words imply, from `ctx.intent` only. Default: a lexicon. */
  readonly intent?: IntentFunction
}

/** The decision on one sink, and the rule that made it. */
interface Decision {
  readonly rule: string
  readonly answer: Exclude<RuleAnswer, { allow: true }>
}

const blocked = 'dataflow_policy_blocked'

const optionKeys = {
  mode: true,
  rules: true,
  onViolation: true,
  declassifySinks: true,
  guardTrifecta: true,
  outputIsSink: true,
  readers: true,
  intent: true,
} satisfies KnownKeys<DataFlowPolicyOptions>

const movedKeys: MovedKeys = {
  preset: 'Write rules: presets.classic, or presets.intent.',
  presets: 'Write rules: presets.classic, or presets.intent.',
  policy: 'Write rules: [ … ].',
  strictness: 'Name it "onViolation".',
  allow: 'Name it "declassifySinks".',
}

/**
 * Allows, denies or requires approval for calls that write or send, by the origin of their arguments. Denied calls end
 * with the error code `dataflow_policy_blocked`. The policy's state is a fold over the log, so it survives a crash and
 * a change of process.
 *
 * @throws ProvostError `invalid-policy` for an unknown mode.
 *
 * @example
 * createAgent({ name: 'desk', model, tools, extensions: [dataFlowPolicy({ mode: 'enforce' })] })
 */
export function dataFlowPolicy(options: DataFlowPolicyOptions): Extension<unknown> {
  checkOptions(options, optionKeys, 'dataFlowPolicy', movedKeys)
  const { mode, outputIsSink = false } = options
  checkChoice(options.onViolation, ['ask', 'deny'], 'onViolation', 'dataFlowPolicy')
  if (mode !== 'shadow' && mode !== 'enforce') {
    throw new ProvostError('invalid-policy', `Unknown mode ${JSON.stringify(mode)} in dataFlowPolicy.`, {
      hint: "Use 'shadow' to audit decisions, or 'enforce' to apply them.",
    })
  }
  const policy = { ...options, rules: rulesOf(options) }
  return defineExtension({
    name: 'data-flow-policy',
    scope: 'tree',
    ...((mode === 'shadow' || options.onViolation === 'deny') && { asks: false }),
    hooks: {
      'tool.call': (call, ctx) => {
        const { effect } = call.tool
        if (effect === 'none' || effect === 'read') return undefined
        return mode === 'shadow' ? observe(policy, call, ctx) : govern(policy, call, ctx)
      },
      ...((options.intent || outputIsSink) && {
        async 'model.request'(_, ctx) {
          // Settle the intent before the next answer is read. If the function throws, the sink calls it again.
          if (options.intent) await settledIntent(options.intent, ctx).catch(() => [])
          const { integrity, confidentiality } = ctx.view.label
          const buffers =
            outputIsSink && mode === 'enforce' && (integrity === 'untrusted' || confidentiality === 'secret')
          return buffers ? { hold: 'text' } : undefined
        },
      }),
      ...(outputIsSink && { 'model.response': (message, ctx) => governAnswer(policy, message, ctx) }),
    },
  })
}

type Policy = DataFlowPolicyOptions & { readonly rules: readonly DataFlowRule[] }

function rulesOf({ rules = presets.intent, guardTrifecta }: DataFlowPolicyOptions): readonly DataFlowRule[] {
  if (guardTrifecta === undefined) return rules
  const others = rules.filter((rule) => rule !== lethalTrifecta)
  return guardTrifecta ? [...others, lethalTrifecta] : others
}

/** Audits without a decision. A shadow policy never fails a run, so errors are audited too. */
async function observe(policy: Policy, call: ToolCall, ctx: HookContext): Promise<undefined> {
  try {
    const decision = await decide(policy, call, ctx)
    if (decision) await audit(ctx, policy, call, decision, isDeclassified(policy, call) ? 'declassified' : 'flagged')
  } catch (thrown) {
    await auditFailure(ctx, call, thrown, 'flagged').catch(() => {})
  }
  return undefined
}

async function govern(policy: Policy, call: ToolCall, ctx: HookContext): Promise<CallAnswer | undefined> {
  let decision: Decision | undefined
  try {
    decision = await decide(policy, call, ctx)
  } catch (thrown) {
    await auditFailure(ctx, call, thrown, 'blocked')
    return { deny: 'The policy failed to check this call, so the call did not run.', code: blocked }
  }
  if (!decision) return undefined
  const { answer } = decision
  if (isDeclassified(policy, call)) {
    await audit(ctx, policy, call, decision, 'declassified')
    return undefined
  }
  if ('deny' in answer) {
    await audit(ctx, policy, call, decision, 'blocked')
    return { deny: answer.deny, code: blocked }
  }
  if (policy.onViolation === 'deny') {
    await audit(ctx, policy, call, decision, 'blocked')
    return { deny: 'This call needs human approval, which is not available. Continue without it.', code: blocked }
  }
  // The approval is bound to the arguments: the loop checks whether it applies to these.
  await audit(ctx, policy, call, decision, ctx.approval?.decision === 'approve' ? 'declassified' : 'flagged')
  return { ask: answer.ask }
}

async function governAnswer(
  policy: Policy,
  message: Message,
  ctx: HookContext,
): Promise<{ message: { content: Message['content'] } } | { ask: Ask } | undefined> {
  const call = answerCall(message, ctx)
  if (!call) return undefined
  if (policy.mode === 'shadow') return observe(policy, call, ctx)
  const answer = await govern({ ...policy, declassifySinks: policy.declassifySinks ?? [] }, call, ctx)
  if (!answer) return undefined
  if ('ask' in answer) return { ask: answer.ask }
  const rest = message.content.filter(({ type }) => type !== 'text')
  return { message: { content: [...rest, { type: 'text', text: 'The answer was withheld by a policy.' }] } }
}

function isDeclassified({ declassifySinks = [] }: Policy, { tool }: ToolCall): boolean {
  return declassifySinks.includes(tool.name)
}

/** Returns the first decision of the rules, or undefined to allow the call. */
async function decide(policy: Policy, call: ToolCall, ctx: HookContext): Promise<Decision | undefined> {
  try {
    const sink = await sinkOf(policy, call, ctx)
    for (const rule of policy.rules) {
      const answer = await rule(sink, ctx)
      if (!answer) continue
      if ('allow' in answer) return undefined
      if ('deny' in answer) return { rule: rule.name || 'rule', answer }
      if ('ask' in answer) {
        const ask = { origins: argumentOrigins(sink.values), ...answer.ask }
        return { rule: rule.name || 'rule', answer: { ask } }
      }
      throw new ProvostError('invalid-answer', `The rule ${rule.name} returned an invalid answer.`, {
        hint: 'Return { deny }, { ask } or { allow: true }, or undefined to continue with the next rule.',
      })
    }
    return undefined
  } finally {
    forgetForms()
  }
}

async function sinkOf(policy: Policy, call: ToolCall, ctx: HookContext): Promise<Sink> {
  const folding = ctx.foldInTurns(provenanceFold)
  const provenance = isPromise(folding) ? await folding : folding
  if (!provenance)
    throw new ProvostError('empty-log', 'The log is empty, so the data-flow policy cannot judge the call.')
  const known = knowledgeOf(provenance, ctx)
  const tracing = ctx.inTurns(traced(provenance, known, call, ctx))
  const { values, hits } = isPromise(tracing) ? await tracing : tracing
  // The runtime replaces secret tokens in tool arguments only, not in answers.
  const secrets = call.tool.name === 'answer' && !known.tools.has('answer') ? [] : secretArguments(call, values)
  // An approver of edited arguments vouches for their integrity, not for their confidentiality.
  const { confidentiality, readers } = ctx.view.label
  const label = joinLabels(
    call.label,
    { integrity: 'trusted', confidentiality, ...(readers && { readers }), sources: [] },
    ...(secrets.length > 0 ? [secretLabel] : []),
  )
  return {
    call: { ...call, label },
    values,
    hits,
    secrets,
    implied: await impliedOf(policy, call.tool, ctx, known, values),
    readers: policy.readers ?? ((destination) => [destination]),
    known,
  }
}

/** Traces the values of a call to their origins, and finds the spans of untrusted texts in them. */
function* traced(
  provenance: Provenance,
  known: Knowledge,
  call: ToolCall,
  ctx: HookContext,
): Steps<Pick<Sink, 'values' | 'hits'>> {
  for (const text of ctx.intent) yield* exemptOnce(provenance, text)
  const values: TracedValue[] = []
  for (const row of roleValuesOf(call)) {
    if (values.length % 64 === 63) yield
    values.push({ ...row, origin: yield* originSteps(row.value, call.tool, known) })
  }
  return { values, hits: yield* provenance.index.inSteps.check(call.input) }
}

const exempted = new WeakMap<object, WeakSet<Message>>()

/** Exempts the words of the user: they are never evidence against a call. */
function* exemptOnce(provenance: Provenance, message: Message): Steps<void> {
  let seen = exempted.get(provenance)
  if (!seen) exempted.set(provenance, (seen = new WeakSet()))
  if (seen.has(message)) return
  for (const part of message.content) if (part.type === 'text') yield* provenance.index.inSteps.exempt(part.text)
  seen.add(message)
}

async function impliedOf(
  policy: Policy,
  tool: ToolInfo,
  ctx: HookContext,
  known: Knowledge,
  values: readonly TracedValue[],
): Promise<Implied> {
  if (tool.name === 'answer' && !known.tools.has('answer')) return 'asked'
  if (!policy.intent) return impliedByWords(tool, ctx, known, values)
  return (await settledIntent(policy.intent, ctx)).includes(tool.name) ? 'asked' : 'no'
}

type Row = 'flagged' | 'blocked' | 'declassified'

async function audit(ctx: HookContext, { mode }: Policy, call: ToolCall, decision: Decision, row: Row): Promise<void> {
  const { rule, answer } = decision
  const asked = 'ask' in answer
  const reason = asked ? answer.ask.reason : answer.deny
  const given = asked ? answer.ask.evidence : answer.evidence
  const by = ctx.approval?.by
  const evidence: Json = toJson({
    mode,
    decision: asked ? 'ask' : 'deny',
    tool: call.tool.name,
    reason,
    ...(row === 'declassified' && { by: by ?? 'declassifySinks' }),
    ...(given !== undefined && { evidence: given }),
  })
  await ctx.audit(row, { rule, callId: call.callId, sources: call.label.sources, evidence })
}

async function auditFailure(ctx: HookContext, call: ToolCall, thrown: unknown, row: Row): Promise<void> {
  const { code, message } = toErrorInfo(thrown)
  const evidence = { decision: 'deny', tool: call.tool.name, failed: { code, message: message.slice(0, 500) } }
  await ctx.audit(row, { rule: 'failed', callId: call.callId, sources: call.label.sources, evidence })
}
