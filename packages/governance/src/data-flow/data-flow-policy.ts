import type {
  Ask,
  CallAnswer,
  Extension,
  HookContext,
  Json,
  KnownKeys,
  Message,
  MovedKeys,
  ToolCall,
} from '@provost/core'
import { checkChoice, checkOptions, defineExtension, ProvostError, toErrorInfo, toJson } from '@provost/core'

import { policyName } from '../contracts/session-counters.ts'
import { sessionCounters } from '../contracts/session-counters.ts'
import type { ContractOptions } from '../contracts/turn-contracts.ts'
import { isSink, turnContracts } from '../contracts/turn-contracts.ts'
import type { DataFlowRule } from '../provenance/data-flow-rule.ts'
import { disclosingLinks, judgedLinks, withoutLinks } from './answer-links.ts'
import { answerCall, mostLinks } from './answer-sink.ts'
import { classicPreset, lethalTrifecta } from './classic-preset.ts'
import { settledIntent } from './intent-match.ts'
import type { IntentFunction } from './intent-match.ts'
import { impliedTool, intentPreset } from './intent-preset.ts'
import type { Decision, JudgeOptions } from './judge-sink.ts'
import { judgeSink, withSink } from './judge-sink.ts'
import { remedyOf, withoutApprover } from './remedy.ts'

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
  /**
   * What of the assistant's answer is judged before listeners receive it. `links` (default) takes out links and images
   * that the model put together of what it read; text up to the first link streams. `true` judges the whole answer by
   * all rules and holds its text until then. `false` judges nothing.
   */
  readonly outputIsSink?: boolean | 'links'
  /** Returns the readers of a destination, as labels name them. Default: the destination itself. */
  readonly readers?: (destination: string) => readonly string[]
  /**
   * Contracts between the human's turn and the calls of a run. `false` turns them off. Default: on with the rule `intent`,
   * unless the option `intent` is given.
   */
  readonly contracts?: boolean | ContractOptions
  /** Returns the names of the sink tools that the user's words imply, from `ctx.intent` only. Default: a lexicon. */
  readonly intent?: IntentFunction
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
  contracts: true,
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
  const { mode, outputIsSink = 'links' } = options
  checkChoice(outputIsSink, [true, false, 'links'], 'outputIsSink', 'dataFlowPolicy')
  checkChoice(options.onViolation, ['ask', 'deny'], 'onViolation', 'dataFlowPolicy')
  if (mode !== 'shadow' && mode !== 'enforce') {
    throw new ProvostError('invalid-policy', `Unknown mode ${JSON.stringify(mode)} in dataFlowPolicy.`, {
      hint: "Use 'shadow' to audit decisions, or 'enforce' to apply them.",
    })
  }
  const { rules, contracts } = selectedRules(options)
  const terms = contractOptions(contracts)
  const policy: Policy = { ...options, rules, terms, turns: turnContracts(terms ?? {}), counters: sessionCounters() }
  // As a child joins, its calls that had no effect return to the account of the outermost run.
  const counted = <T>(next: () => Promise<T>, ctx: HookContext): Promise<T> =>
    next().finally(() =>
      policy.counters.giveBack(policy.turns.topOf(ctx), ctx).catch((thrown) => ctx.report(thrown, 'counters')),
    )
  return defineExtension({
    name: policyName,
    scope: 'tree',
    ...((mode === 'shadow' || options.onViolation === 'deny') && { asks: false }),
    watches: () => ({ ops: ['run'], events: false }),
    hooks: {
      around: (op, next, ctx) => (op.kind === 'run' ? policy.turns.whileItRuns(ctx, () => counted(next, ctx)) : next()),
      'tool.call': (call, ctx) => {
        if (!isSink(call.tool)) return undefined
        const judged = mode === 'shadow' ? observe(policy, call, ctx) : govern(policy, call, ctx)
        return judged.finally(() => policy.counters.release(call.callId))
      },
      ...((terms || options.intent || outputIsSink) && {
        async 'model.request'(_, ctx) {
          // Derive the contract before anything untrusted is read. If this fails, the sink derives it again.
          if (terms && ctx.tools.some(isSink)) await policy.turns.contractOf(ctx).catch(() => undefined)
          // Settle the intent before the next answer is read. If the function throws, the sink calls it again.
          if (options.intent) await settledIntent(options.intent, ctx).catch(() => [])
          const { integrity, confidentiality } = ctx.view.label
          const buffers =
            outputIsSink && mode === 'enforce' && (integrity === 'untrusted' || confidentiality === 'secret')
          return buffers ? { hold: outputIsSink === 'links' ? 'links' : 'text' } : undefined
        },
      }),
      ...(outputIsSink && {
        'model.response': (message, ctx) =>
          outputIsSink === 'links' ? governLinks(policy, message, ctx) : governAnswer(policy, message, ctx),
      }),
    },
  })
}

type Policy = DataFlowPolicyOptions & JudgeOptions

const contractKeys = { planner: true, confirm: true, delegation: true } satisfies KnownKeys<ContractOptions>

function contractOptions(contracts: boolean | ContractOptions): ContractOptions | undefined {
  if (typeof contracts === 'boolean') return contracts ? {} : undefined
  checkOptions(contracts, contractKeys, 'dataFlowPolicy contracts')
  checkChoice(contracts.confirm, ['always', 'doubtful', 'never'], 'confirm', 'dataFlowPolicy contracts')
  checkChoice(contracts.delegation, ['once', 'each'], 'delegation', 'dataFlowPolicy contracts')
  return contracts
}

/** Returns the rules that options select, in order, and whether there are contracts. */
export function selectedRules(options: DataFlowPolicyOptions): {
  readonly rules: readonly DataFlowRule[]
  readonly contracts: boolean | ContractOptions
} {
  const { guardTrifecta } = options
  const given = options.rules ?? presets.intent
  const others = guardTrifecta === undefined ? given : given.filter((rule) => rule !== lethalTrifecta)
  const rules = guardTrifecta ? [...others, lethalTrifecta] : others
  return { rules, contracts: options.contracts ?? (options.intent === undefined && rules.includes(impliedTool)) }
}

/** Audits without a decision. A shadow policy never fails a run, so errors are audited too. */
async function observe(policy: Policy, call: ToolCall, ctx: HookContext): Promise<undefined> {
  try {
    const decision = await judgeSink(policy, call, ctx)
    if (decision) await audit(ctx, policy, call, decision, isDeclassified(policy, call) ? 'declassified' : 'flagged')
    await policy.counters.record(policy.turns.topOf(ctx), call.callId)
  } catch (thrown) {
    await auditFailure(ctx, call, thrown, 'flagged').catch(() => {})
  }
  return undefined
}

async function govern(policy: Policy, call: ToolCall, ctx: HookContext): Promise<CallAnswer | undefined> {
  let decision: Decision | undefined
  try {
    decision = await judgeSink(policy, call, ctx)
    const asks = decision && 'ask' in decision.answer && policy.onViolation !== 'deny'
    if (!decision || asks || isDeclassified(policy, call))
      await policy.counters.record(policy.turns.topOf(ctx), call.callId)
  } catch (thrown) {
    await auditFailure(ctx, call, thrown, 'blocked')
    return { deny: 'The policy failed to check this call, so the call did not run.', code: blocked }
  }
  const isApproved = ctx.approval?.decision === 'approve'
  if (!decision || isDeclassified(policy, call)) {
    if (decision) await audit(ctx, policy, call, decision, 'declassified')
    return undefined
  }
  const { answer } = decision
  if ('deny' in answer) {
    await audit(ctx, policy, call, decision, 'blocked')
    return { deny: answer.deny, code: blocked }
  }
  if (policy.onViolation === 'deny') {
    await audit(ctx, policy, call, decision, 'blocked')
    return { deny: withoutApprover(decision.rule), code: blocked }
  }
  // The approval is bound to the arguments: the loop checks whether it applies to these.
  await audit(ctx, policy, call, decision, isApproved ? 'declassified' : 'flagged')
  if (isApproved && decision.confirms) await policy.turns.confirm(ctx)
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
  return { message: { content: withheldContent(message) } }
}

/** Takes links out of an answer that would disclose what the model read. */
async function governLinks(
  policy: Policy,
  message: Message,
  ctx: HookContext,
): Promise<{ message: { content: Message['content'] } } | undefined> {
  const targets = judgedLinks(message)
  if (targets.length === 0) return undefined
  const addresses = [...new Set(targets.map(({ address }) => address))]
  const isTooMany = targets.length > mostLinks
  const call = answerCall(message, ctx, addresses.slice(0, mostLinks))
  if (!call) return undefined
  const isShadow = policy.mode === 'shadow'
  try {
    const links = await withSink(policy, call, ctx, (sink) => disclosingLinks(sink, ctx))
    if (links.length === 0 && !isTooMany) return undefined
    const evidence = toJson(links.slice(0, 20).map((link) => link.evidence))
    const answer = {
      deny: 'The model assembled the address of a link from data it read.',
      evidence: { links: evidence },
    }
    await audit(ctx, policy, call, { rule: 'answer-link', answer }, isShadow ? 'flagged' : 'blocked')
    if (isShadow) return undefined
    const content = isTooMany ? undefined : withoutLinks(message, targets, links)
    return { message: { content: content ?? withheldContent(message) } }
  } catch (thrown) {
    await auditFailure(ctx, call, thrown, isShadow ? 'flagged' : 'blocked')
    return isShadow ? undefined : { message: { content: withheldContent(message) } }
  }
}

function withheldContent(message: Message): Message['content'] {
  const rest = message.content.filter(({ type }) => type !== 'text')
  return [...rest, { type: 'text', text: 'The answer was withheld by a policy.' }]
}

function isDeclassified({ declassifySinks = [] }: Policy, { tool }: ToolCall): boolean {
  return declassifySinks.includes(tool.name)
}

type Row = 'flagged' | 'blocked' | 'declassified'

async function audit(ctx: HookContext, { mode }: Policy, call: ToolCall, decision: Decision, row: Row): Promise<void> {
  const { rule, answer } = decision
  const asked = 'ask' in answer
  const reason = asked ? answer.ask.reason : answer.deny
  const given = asked ? answer.ask.evidence : answer.evidence
  const by = ctx.approval?.by
  const remedy = row === 'declassified' ? undefined : remedyOf(rule)
  const evidence: Json = toJson({
    mode,
    decision: asked ? 'ask' : 'deny',
    tool: call.tool.name,
    reason,
    ...(row === 'declassified' && { by: by ?? 'declassifySinks' }),
    ...(remedy !== undefined && { remedy }),
    ...(given !== undefined && { evidence: given }),
  })
  await ctx.audit(row, { rule, callId: call.callId, sources: call.label.sources, evidence })
}

async function auditFailure(ctx: HookContext, call: ToolCall, thrown: unknown, row: Row): Promise<void> {
  const { code, message } = toErrorInfo(thrown)
  const evidence = { decision: 'deny', tool: call.tool.name, failed: { code, message: message.slice(0, 500) } }
  await ctx.audit(row, { rule: 'failed', callId: call.callId, sources: call.label.sources, evidence })
}
