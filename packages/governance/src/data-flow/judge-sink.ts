import type { HookContext, Message, Steps, ToolCall, ToolInfo } from '@provost/core'
import { isPromise, isRecord, joinLabels, ProvostError, toJson } from '@provost/core'

import type { DelegatedOrder } from '../contracts/delegated-order.ts'
import { answerTo, ordersOf } from '../contracts/delegated-order.ts'
import { turnCounters } from '../contracts/session-counters.ts'
import type { Amounts, SessionCounters } from '../contracts/session-counters.ts'
import type { CallTerms, ContractOptions, TurnContracts } from '../contracts/turn-contracts.ts'
import type { Turn } from '../contracts/turn.ts'
import { grantsOf } from '../evidence/decision-evidence.ts'
import { valueEvidence } from '../evidence/value-evidence.ts'
import { roleValuesOf } from '../provenance/argument-role.ts'
import { allowedCalls } from '../provenance/contract.ts'
import type { ContractView, Grant } from '../provenance/contract.ts'
import type { DataFlowRule, Implied, RuleAnswer, Sink, TracedValue } from '../provenance/data-flow-rule.ts'
import { knowledgeOf, originSteps } from '../provenance/origin.ts'
import type { Knowledge } from '../provenance/origin.ts'
import type { Provenance } from '../provenance/provenance-state.ts'
import { provenanceFold } from '../provenance/provenance.ts'
import { secretArguments, secretLabel } from '../provenance/secret-argument.ts'
import { forgetForms } from '../wording/exact-form.ts'
import { argumentOrigins } from './argument-origin.ts'
import { impliedByContract } from './contract-intent.ts'
import { excessOf, prohibitionOf } from './contract-rule.ts'
import { impliedByWords, settledIntent } from './intent-match.ts'
import type { IntentFunction } from './intent-match.ts'
import { continuesCall } from './issued-value.ts'
import { askedOnce, grantsTool, listed } from './order-question.ts'

/** What a policy judges sinks by. */
export interface JudgeOptions {
  readonly rules: readonly DataFlowRule[]
  /** Absent where the policy derives no contracts. */
  readonly terms: ContractOptions | undefined
  readonly turns: TurnContracts
  readonly counters: SessionCounters
  readonly readers?: (destination: string) => readonly string[]
  readonly intent?: IntentFunction
}

/** The decision on one sink, and the rule that made it. */
export interface Decision {
  readonly rule: string
  readonly answer: Exclude<RuleAnswer, { allow: true }>
  /** The question is about the contract as a whole. */
  readonly confirms?: boolean
}

/** Returns the decision of the rules and of the contract on a call, or undefined to allow it. */
export async function judgeSink(policy: JudgeOptions, call: ToolCall, ctx: HookContext): Promise<Decision | undefined> {
  try {
    await policy.counters.giveBack(policy.turns.topOf(ctx), ctx)
    const { sink, orders } = await sinkOf(policy, call, ctx)
    const judged = await byRules(policy.rules, sink, ctx)
    if (judged && judged !== 'allow' && 'deny' in judged.answer) return await withPlaces(policy, judged, sink, ctx)
    // What the user excluded is not allowed by any rule, and says more to a human than the origin of a value.
    const allowed = judged === 'allow' ? undefined : (judged ?? exceeding(sink))
    const decision = prohibitionOf(sink) ? exceeding(sink) : allowed
    const asked = policy.terms?.delegation === 'once' ? askedOnce(sink, orders, decision) : decision
    const confirmed = needsConfirmation(policy, sink) ? confirming(sink, asked) : asked
    return confirmed && (await withPlaces(policy, confirmed, sink, ctx))
  } finally {
    forgetForms()
  }
}

/** Adds to the evidence of a decision where the values of the call come from. */
async function withPlaces(
  { turns }: JudgeOptions,
  decision: Decision,
  sink: Sink,
  ctx: HookContext,
): Promise<Decision> {
  const { answer } = decision
  const given = 'deny' in answer ? answer.evidence : answer.ask.evidence
  // A rule of an application may have evidence of another form.
  if (given !== undefined && !isRecord(given)) return decision
  const values = await valueEvidence(sink, ctx, turns.above)
  if (values.length === 0) return decision
  const evidence = { values, ...given }
  return 'deny' in answer
    ? { ...decision, answer: { ...answer, evidence } }
    : { ...decision, answer: { ask: { ...answer.ask, evidence } } }
}

/** Returns the first decision of the rules. A question that yields is outranked by a later denial. */
async function byRules(
  rules: readonly DataFlowRule[],
  sink: Sink,
  ctx: HookContext,
): Promise<Decision | 'allow' | undefined> {
  let question: Decision | undefined
  for (const rule of rules) {
    const answer = await rule(sink, ctx)
    if (!answer) continue
    if ('allow' in answer) return question ?? 'allow'
    if ('deny' in answer) return { rule: rule.name || 'rule', answer }
    if ('ask' in answer) {
      const ask = { origins: argumentOrigins(sink.values), ...answer.ask }
      question ??= { rule: rule.name || 'rule', answer: { ask } }
      if (answer.yields) continue
      return question
    }
    throw new ProvostError('invalid-answer', `The rule ${rule.name} returned an invalid answer.`, {
      hint: 'Return { deny }, { ask } or { allow: true }, or undefined to continue with the next rule.',
    })
  }
  return question
}

/** Returns the question about a call that exceeds its contract. */
function exceeding(sink: Sink): Decision | undefined {
  const excess = excessOf(sink)
  if (!excess) return undefined
  const ask = { ...excess, origins: argumentOrigins(sink.values) }
  // An approval for the session would also cover what the user excludes in a later turn.
  return { rule: 'contract', answer: { ask: prohibitionOf(sink) ? ask : { ...ask, sticky: 'session' } } }
}

function needsConfirmation({ terms }: JudgeOptions, sink: Sink): boolean {
  if (!sink.contract || sink.contract.confirmed) return false
  if (terms?.confirm === 'always') return true
  return terms?.confirm === 'doubtful' && sink.implied === 'unknown' && grantsOf(sink).length > 0
}

/** Returns the question about the contract as a whole, with what else there is to decide about the call. */
function confirming(sink: Sink, decision: Decision | undefined): Decision {
  const asked = decision && 'ask' in decision.answer ? decision.answer.ask : undefined
  const { grants = [], forbidden = [] } = sink.contract?.contract ?? {}
  const reason = `the request is understood to allow ${listed(grants) || 'no call'}`
  return {
    rule: decision?.rule ?? 'contract',
    confirms: true,
    answer: {
      ask: {
        origins: argumentOrigins(sink.values),
        reason: asked ? `${asked.reason}; ${reason}` : reason,
        evidence: { ...(isRecord(asked?.evidence) && asked.evidence), confirms: { grants, forbidden } },
      },
    },
  }
}

/** Returns whether a call is the assistant's answer. */
function isAnswer(tool: ToolInfo, { tools }: HookContext): boolean {
  return tool.name === 'answer' && !tools.some(({ name }) => name === 'answer')
}

/** Traces the values of a call that no rule judges, and passes them on. */
export async function withSink<T>(
  policy: JudgeOptions,
  call: ToolCall,
  ctx: HookContext,
  judge: (sink: Sink) => Promise<T>,
): Promise<T> {
  try {
    return await judge((await sinkOf(policy, call, ctx)).sink)
  } finally {
    policy.counters.release(call.callId)
    forgetForms()
  }
}

async function sinkOf(
  policy: JudgeOptions,
  call: ToolCall,
  ctx: HookContext,
): Promise<{ readonly sink: Sink; readonly orders: readonly DelegatedOrder[] }> {
  const folding = ctx.foldInTurns(provenanceFold)
  const provenance = isPromise(folding) ? await folding : folding
  if (!provenance)
    throw new ProvostError('empty-log', 'The log is empty, so the data-flow policy cannot judge the call.')
  const turn = policy.turns.turnOf(ctx)
  const hasTerms = policy.terms && !isAnswer(call.tool, ctx)
  const read = knowledgeOf(provenance, call, ctx, turn.confirmed)
  const orders =
    hasTerms && policy.terms?.delegation === 'once'
      ? ordersOf(await policy.turns.contractOf(ctx), turn, ctx.tools, read)
      : []
  const top = policy.turns.topOf(ctx)
  const agreed = orders.filter((order) => answerTo(top, order) === 'agreed')
  const confirmed = [...turn.confirmed, ...agreed.map(({ text }) => text)]
  const known = agreed.length > 0 ? knowledgeOf(provenance, call, ctx, confirmed) : read
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
  const terms = hasTerms ? await policy.turns.termsOf(call.tool, ctx, agreed) : undefined
  const earlier = terms && turnCounters(turn.id, { tool: call.tool, input: toJson(call.input) }, values)
  const amounts = {
    ...amountsOf(policy.rules, call),
    ...Object.fromEntries(terms?.limits.map(({ counter }) => [counter, 1]) ?? []),
    ...earlier?.amounts,
  }
  const counted = policy.counters.reserve(policy.turns.topOf(ctx), call.callId, amounts)
  const grants = terms?.contract.grants.filter((grant) => grant.tool === call.tool.name) ?? []
  const contract = terms && earlier && { ...viewOf(terms, grants, counted), ...earlier.compare(counted, grants) }
  const open = orders.filter((order) => answerTo(top, order) === 'open')
  const implied = contract
    ? continuesCall(call.tool, values, known)
      ? 'asked'
      : impliedByContract(call.tool, contract, known, values)
    : await impliedOf(policy, call.tool, ctx, turn, known, values)
  const sink: Sink = {
    call: { ...call, label },
    values,
    hits,
    secrets,
    // What an open order asks for is a question, not a denial.
    implied: implied === 'no' && open.some((order) => grantsTool(order, call)) ? 'unknown' : implied,
    ...(contract && { contract }),
    turn: turn.messages,
    counted,
    readers: policy.readers ?? ((destination) => [destination]),
    known,
  }
  return { sink, orders: open }
}

/** Returns a contract with the calls of a tool that were used, by the limit that is the nearest. */
function viewOf(
  { contract, confirmed, limits }: CallTerms,
  grants: readonly Grant[],
  counted: Sink['counted'],
): Pick<ContractView, 'contract' | 'used' | 'confirmed'> {
  const left = Math.min(...limits.map(({ counter, calls }) => calls - counted(counter)))
  const allowed = allowedCalls(grants)
  return { contract, confirmed, used: Number.isFinite(left) ? Math.max(0, allowed - left) : 0 }
}

/** Returns what a call adds to the counters of all rules. */
function amountsOf(rules: readonly DataFlowRule[], call: ToolCall): Amounts {
  const amounts: Record<string, number> = {}
  for (const rule of rules) Object.assign(amounts, rule.counts?.(call))
  return amounts
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
    values.push({ ...row, origin: yield* originSteps(row.value, call.tool, known, row.role) })
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
  policy: JudgeOptions,
  tool: ToolInfo,
  ctx: HookContext,
  turn: Turn,
  known: Knowledge,
  values: readonly TracedValue[],
): Promise<Implied> {
  if (isAnswer(tool, ctx)) return 'asked'
  if (!policy.intent) return impliedByWords(tool, turn, known, values)
  return (await settledIntent(policy.intent, ctx)).includes(tool.name) ? 'asked' : 'no'
}
