import { hash as digest } from 'node:crypto'

import type { Answer, HookContext, Json, KnownKeys, ToolCall, ToolInfo } from '@provost/core'
import { canonicalJson, checkOptions, isRecord, toErrorInfo, toJson } from '@provost/core'
import type { DataFlowRule, RuleAnswer, Sink } from '@provost/governance'

import { argumentsType, typedArguments, UntypedValue } from './argument-type.ts'
import type { CedarAnswer } from './cedar-engine.ts'
import { judge, preparePolicies } from './cedar-engine.ts'
import { invalidPolicy } from './cedar-error.ts'
import type { CalledTool, Fact } from './cedar-schema.ts'
import { cedarSchema, factValues } from './cedar-schema.ts'
import type { Counter } from './counter.ts'
import { amountOf, appliesTo, countersIn, sumName } from './counter.ts'
import type { PolicyPart } from './policy-parts.ts'
import { policyParts } from './policy-parts.ts'
import { sharedContext } from './request-context.ts'

/** Options of {@link cedarRule}. */
export interface CedarRuleOptions {
  /** The text of the policy file. */
  readonly policy: string
  /** Name of the rule in decisions, reports and coverage, where several files are used. Default `cedar`. */
  readonly name?: string
  /** The tools of the agents, whose arguments the policy reads. A call of any other tool is denied. */
  readonly tools: readonly ToolInfo[]
  /** Values that policies read as `context.facts`: texts, whole numbers, booleans, lists of texts. */
  readonly facts?: Readonly<Record<string, Fact>>
  /** Labels that policies read as `context.labels`, if the function returns a text. A function that throws denies. */
  readonly labels?: Readonly<Record<string, (sink: Sink, ctx: HookContext) => Answer<string>>>
}

/** A rule that a Cedar policy decides. */
export interface CedarRule extends DataFlowRule {
  /** SHA-256 of the policy, its schema, counters and facts: each of its decisions names it. */
  readonly hash: string
}

const optionKeys = {
  policy: true,
  name: true,
  tools: true,
  facts: true,
  labels: true,
} satisfies KnownKeys<CedarRuleOptions>

/**
 * Returns a rule for `dataFlowPolicy` that judges calls by a Cedar policy. It can only tighten: a permitted call goes on to
 * the next rule, and a denial by a later rule outranks a question. Whatever fails is denied.
 *
 * @throws ProvostError `invalid-cedar-policy` for a policy that does not parse, does not fit the tools, or never applies.
 *
 * @example
 * const house = cedarRule({ policy: readFileSync('house.cedar', 'utf8'), tools: [refund, sendEmail] })
 * createAgent({ name: 'desk', model, tools: [refund, sendEmail],
 *   extensions: [dataFlowPolicy({ mode: 'enforce', rules: [house, ...presets.intent] })] })
 */
export function cedarRule(options: CedarRuleOptions): CedarRule {
  checkOptions(options, optionKeys, 'cedarRule')
  const { policy, name = 'cedar', labels = {} } = options
  if (typeof policy !== 'string') throw invalidPolicy('The option policy of cedarRule is not a text.')
  if (typeof name !== 'string' || name === '') throw invalidPolicy('The option name of cedarRule is not a name.')
  const facts = checkedFacts(options.facts ?? {})
  checkNames(Object.keys(labels))
  const tools = withAnswer(toolsOf(options.tools))
  const counters = countersIn(policy, tools)
  const parts = policyParts(policy)
  const schema = cedarSchema({ tools, counters, facts, labels: Object.keys(labels) })
  const hash = digest('sha256', canonicalJson(toJson({ policy, schema, facts })))
  preparePolicies(hash, parts, schema)

  const byId = new Map(parts.map((part) => [part.id, part]))
  const known = new Map(tools.map((tool) => [tool.name, { tool, type: argumentsType(tool.inputSchema) }]))
  const factual = factValues(facts)

  const rule = async (sink: Sink, ctx: HookContext): Promise<RuleAnswer | undefined> => {
    const { call } = sink
    const found = known.get(call.tool.name)
    if (!found) return failed(hash, call, [`the policy has no tool ${call.tool.name}`])
    let sums: Readonly<Record<string, number>>
    let answer: CedarAnswer
    try {
      sums = sumsOf(counters, sink)
      const args = typedArguments(call.input, found.tool.inputSchema, found.type)
      const labelled = await labelValues(labels, sink, ctx)
      const user = ctx.principal?.id
      const principal = { type: 'Agent', id: ctx.agent.name }
      const resource = { type: 'Tool', id: call.tool.name }
      answer = judge(hash, {
        principal,
        action: { type: 'Action', id: call.tool.name },
        resource,
        context: { ...sharedContext(sink), args, counters: { ...sums }, facts: factual, labels: labelled },
        entities: [
          { uid: principal, attrs: user === undefined ? {} : { user }, parents: [] },
          { uid: resource, attrs: { effect: call.tool.effect }, parents: [] },
        ],
      })
    } catch (thrown) {
      return failed(hash, call, [thrown instanceof UntypedValue ? thrown.message : toErrorInfo(thrown).message])
    }
    if ('failed' in answer) return failed(hash, call, answer.failed)
    return answer.permitted ? undefined : refusal(hash, call, partsOf(answer.policies, byId), sums)
  }
  Object.defineProperty(rule, 'name', { value: name })
  const counts = (call: ToolCall): Readonly<Record<string, number>> =>
    Object.fromEntries(
      counters
        .filter(({ tools: names }) => names.includes(call.tool.name))
        .map((counter) => [sumName(counter, call.input), amountOf(counter, call.input)]),
    )
  return Object.assign(rule, { hash, ...(counters.length > 0 && { counts }) })
}

/** The call to `answer` that a policy with `outputIsSink` judges. */
const answerTool: CalledTool = {
  name: 'answer',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      links: { type: 'array', items: { type: 'string' } },
      reader: { type: 'string' },
    },
    required: ['text', 'links', 'reader'],
  },
}

function withAnswer(tools: readonly ToolInfo[]): readonly CalledTool[] {
  return tools.some(({ name }) => name === answerTool.name) ? tools : [...tools, answerTool]
}

function toolsOf(tools: unknown): readonly ToolInfo[] {
  if (!Array.isArray(tools) || !tools.every(isTool))
    throw invalidPolicy('The option tools of cedarRule is not a list of tools.')
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalidPolicy(`The option tools of cedarRule has two tools with the name ${twice}.`)
  return tools
}

function isTool(value: unknown): value is ToolInfo {
  return isRecord(value) && typeof value['name'] === 'string' && isRecord(value['inputSchema'])
}

function checkedFacts(facts: Readonly<Record<string, unknown>>): Readonly<Record<string, Fact>> {
  const checked: Record<string, Fact> = {}
  checkNames(Object.keys(facts))
  for (const [name, fact] of Object.entries(facts)) {
    if (!isFact(fact)) {
      throw invalidPolicy(`The fact ${name} is not a text, a whole number, a boolean or a list of texts.`)
    }
    checked[name] = fact
  }
  return checked
}

function isFact(value: unknown): value is Fact {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string')
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)
}

function checkNames(names: readonly string[]): void {
  const bad = names.find((name) => !/^[A-Za-z]\w{0,63}$/.test(name))
  if (bad !== undefined) throw invalidPolicy(`${bad.slice(0, 80)} is not a valid name of a fact or a label.`)
}

function sumsOf(counters: readonly Counter[], { call, counted }: Sink): Readonly<Record<string, number>> {
  return Object.fromEntries(
    counters
      .filter((counter) => appliesTo(counter, call.tool.name))
      .map((counter) => [counter.name, counted(sumName(counter, call.input))]),
  )
}

async function labelValues(
  labels: NonNullable<CedarRuleOptions['labels']>,
  sink: Sink,
  ctx: HookContext,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {}
  for (const [name, label] of Object.entries(labels)) {
    const value = await label(sink, ctx)
    if (value === undefined) continue
    if (typeof value !== 'string') throw new Error(`the label ${name} is not a text`)
    values[name] = value
  }
  return values
}

function partsOf(ids: readonly string[], byId: ReadonlyMap<string, PolicyPart>): readonly PolicyPart[] {
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function refusal(
  hash: string,
  call: ToolCall,
  parts: readonly PolicyPart[],
  counters: Readonly<Record<string, number>>,
): RuleAnswer {
  const reasons = parts.map(({ id, reason }) => reason ?? `the policy "${id}" forbids it`)
  const evidence: Json = { tool: call.tool.name, policy: hash, policies: parts.map(({ id }) => id), counters }
  const isAsked = parts.length > 0 && parts.every(({ decision }) => decision === 'ask')
  if (isAsked) return { ask: { reason: `${call.tool.name}: ${reasons.join('; ')}`, evidence }, yields: true }
  // The model learns the reasons that the operator wrote for it, and no other part of the policy.
  const said = parts.flatMap(({ reason, decision }) => (reason === undefined || decision === 'ask' ? [] : [reason]))
  return { deny: said.join('; ') || 'A policy of the operator does not allow this call.', evidence }
}

/** Denies what has no answer. Only the operator reads why. */
function failed(hash: string, call: ToolCall, why: readonly string[]): RuleAnswer {
  const failures = why.slice(0, 5).map((one) => one.slice(0, 300))
  return {
    deny: 'The policy of the operator could not be evaluated for this call, so the call did not run.',
    evidence: { tool: call.tool.name, policy: hash, failed: failures },
  }
}
