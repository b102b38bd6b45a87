import type { JsonSchema, StandardSchemaV1, Tool } from '@provost/core'
import { ProvostError, checkChoice, isRecord, isStandardSchema, toErrorInfo } from '@provost/core'
import { checkModel, checkPrices, checkSettings, hasTiers } from '@provost/provider'
import type { ToolsInput } from '@provost/tools'
import { jsonSchemaOf, listTools } from '@provost/tools'

import type { AgentOptions } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'

/** Options as they come from JavaScript, or through an `any`. */
type Unchecked = { readonly [K in keyof AgentOptions]: unknown }

/**
 * Refuses options that no agent can be made of. Most are for those whom no compiler told.
 *
 * @throws ProvostError `invalid-agent` naming the option.
 */
export function checkOptions(options: Unchecked): void {
  const { name, model, toolCollisions = 'auto-prefix', extensions = [], output, orchestrator } = options
  const { leaseMs = 1, maxSteps = 1, maxParallelTools = 1, hookTimeoutMs = 1, hostBytes = 1, logBytes = 1 } = options
  const { sendMode = 'steer', stateKey } = options
  if (typeof name !== 'string' || name === '') {
    throw new ProvostError('invalid-agent', 'An agent needs a name.', { hint: "Give createAgent({ name: '…' })." })
  }
  if (model === undefined) {
    throw invalid(name, 'has no model', "Give it an AI SDK model or a string such as 'anthropic/claude-sonnet-5'.")
  }
  checkModel(model, `agent ${name}`)
  checkSettings(options.settings, `agent ${name}`)
  checkPrices(options.prices, `agent ${name}`)
  checkChoice(options.reasoningRetention, ['keep', 'strip'], 'reasoningRetention', `agent ${name}`)
  checkChoice(options.allowSystemMessages, [true, false], 'allowSystemMessages', `agent ${name}`)
  checkList(name, 'extensions', extensions, 'skills', 'defineExtension({ name, hooks })')
  if (output !== undefined && !isStandardSchema(output)) {
    throw invalid(name, 'has an output that is no schema', 'Give a Standard Schema such as z.object({ … }).')
  }
  if (toolCollisions !== 'auto-prefix' && toolCollisions !== 'priority' && toolCollisions !== 'error') {
    throw invalid(name, `has toolCollisions: ${String(toolCollisions)}`, "Give 'auto-prefix', 'priority' or 'error'.")
  }
  checkReaders(name, options.resultReaders)
  if (orchestrator !== undefined && typeof orchestrator !== 'function') {
    throw invalid(
      name,
      'has an orchestrator that is no function',
      'Give react(), planAndExecute() or a function of yours.',
    )
  }
  if (sendMode !== 'steer' && sendMode !== 'queue') {
    throw invalid(name, `has sendMode: ${JSON.stringify(sendMode)}`, "Give 'steer' or 'queue'.")
  }
  if (stateKey !== undefined && !isKey(stateKey)) {
    throw invalid(name, 'has a stateKey that is no secret', 'Give a random string or bytes, 16 or more.')
  }
  // What is not a number is never reached: NaN would mean no limit at all.
  for (const [option, count] of Object.entries({
    leaseMs,
    maxSteps,
    maxParallelTools,
    hookTimeoutMs,
    hostBytes,
    logBytes,
  })) {
    if (typeof count !== 'number' || !(count >= 1)) {
      throw invalid(name, `has ${option}: ${String(count)}`, 'Give a number from 1.')
    }
  }
}

/**
 * Refuses a tool that wants a tier which the model lacks. A single model has no tiers, and a run may bring some.
 *
 * @throws ProvostError `invalid-agent`
 */
export function checkPreferred({
  name,
  model,
  infos,
  tools,
}: Pick<ResolvedAgent, 'name' | 'model' | 'infos' | 'tools'>): void {
  if (!hasTiers(model)) return
  for (const info of infos) {
    const tier = tools.get(info.name)?.['~tool'].preferredModel
    if (tier === undefined || model[tier] !== undefined) continue
    const has = Object.keys(model).join(', ')
    throw invalid(
      name,
      `has a tool ${info.name} with preferredModel: '${tier}', and a model with the tiers ${has}`,
      `Give model: { ${tier}: … } too, or another preferredModel.`,
    )
  }
}

function checkReaders(agent: string, readers: unknown): void {
  if (readers === undefined) return
  const hint = "Give functions by scheme: { docs: (uri, { from, to }) => '…' }."
  if (!isRecord(readers)) throw invalid(agent, 'has resultReaders that are no object', hint)
  for (const [scheme, reader] of Object.entries(readers)) {
    if (!/^[a-z][a-z0-9+.-]*$/.test(scheme)) {
      throw invalid(agent, `has a result reader for ${JSON.stringify(scheme)}, which is no scheme in lower case`, hint)
    }
    if (typeof reader !== 'function')
      throw invalid(agent, `has a result reader for ${scheme} that is no function`, hint)
  }
}

/**
 * The tools an agent was given as a plain list.
 *
 * @throws ProvostError `invalid-agent` naming what is no tool.
 */
export function toolsOf(agent: string, tools: ToolsInput): readonly Tool[] {
  try {
    return listTools(tools)
  } catch (cause) {
    const { message, hint = '' } = toErrorInfo(cause)
    throw invalid(agent, `cannot have its tools. ${message.replace(/\.$/, '')}`, hint, cause)
  }
}

function isKey(key: unknown): boolean {
  return (typeof key === 'string' || key instanceof Uint8Array) && key.length >= 16
}

function checkList(agent: string, option: string, list: unknown, mark: string, maker: string): void {
  if (!Array.isArray(list)) throw invalid(agent, `has ${option} that are no list`, `Give ${option}: [${maker}].`)
  for (const [index, item] of list.entries()) {
    if (isRecord(item) && item[mark] !== undefined) continue
    throw invalid(agent, `has ${option}[${index}], which was made by hand`, `Make it with ${maker}.`)
  }
}

/**
 * The JSON Schema that a model gets for an agent's answer.
 *
 * @throws ProvostError `invalid-agent` for a schema that cannot be said in JSON Schema.
 */
export function outputSchemaOf(agent: string, output: StandardSchemaV1): JsonSchema {
  try {
    return jsonSchemaOf(output)
  } catch (cause) {
    const { message, hint = '' } = toErrorInfo(cause)
    throw invalid(agent, `has an output that a model cannot be told of. ${message.replace(/\.$/, '')}`, hint, cause)
  }
}

function invalid(agent: string, what: string, hint: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-agent', `Agent ${agent} ${what}.`, { hint, cause })
}
