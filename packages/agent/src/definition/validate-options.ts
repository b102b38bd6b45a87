import type { JsonSchema, StandardSchemaV1, Tool } from '@provost/core'
import { ProvostError, checkChoice, isRecord, isStandardSchema, toErrorInfo } from '@provost/core'
import { checkModel, checkPrices, checkSettings, hasTiers } from '@provost/provider'
import type { ToolsInput } from '@provost/tools'
import { jsonSchemaOf, listTools } from '@provost/tools'

import type { AgentOptions } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { checkStore } from './check-store.ts'

/** Options as they come from JavaScript, or through an `any`. */
const rules: ReadonlySet<unknown> = new Set(['continue', 'ask', 'refuse'])

type Unchecked = { readonly [K in keyof AgentOptions]: unknown }

/**
 * Rejects invalid options of an agent. Most of these checks only matter to untyped callers.
 *
 * @throws ProvostError `invalid-agent` with the name of the option.
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
  checkStore(options.store, `agent ${name}`)
  checkSettings(options.settings, `agent ${name}`)
  checkPrices(options.prices, `agent ${name}`)
  checkChoice(options.reasoningRetention, ['keep', 'strip'], 'reasoningRetention', `agent ${name}`)
  checkChoice(options.followUps, ['each', 'merge'], 'followUps', `agent ${name}`)
  checkChoice(options.allowSystemMessages, [true, false], 'allowSystemMessages', `agent ${name}`)
  checkExtensions(name, extensions)
  if (options.skills !== undefined && !Array.isArray(options.skills)) {
    throw invalid(
      name,
      'has "skills" that are not an array',
      'Give skills: [{ name, when, content }] or loadSkills(dir).',
    )
  }
  if (output !== undefined && !isStandardSchema(output)) {
    throw invalid(
      name,
      'has an "output" that is not a Standard Schema',
      'Give a Standard Schema such as z.object({ … }).',
    )
  }
  if (toolCollisions !== 'auto-prefix' && toolCollisions !== 'priority' && toolCollisions !== 'error') {
    throw invalid(name, `has toolCollisions: ${String(toolCollisions)}`, "Give 'auto-prefix', 'priority' or 'error'.")
  }
  checkReaders(name, options.resultReaders)
  if (orchestrator !== undefined && typeof orchestrator !== 'function') {
    throw invalid(
      name,
      'has an "orchestrator" that is not a function',
      'Give react(), planAndExecute() or a custom function.',
    )
  }
  const { version, whenChanged = 'continue' } = options
  if (version !== undefined && typeof version !== 'string')
    throw invalid(name, 'has a "version" that is not a text', 'Give a text such as a git commit.')
  if (typeof whenChanged !== 'function' && !rules.has(whenChanged))
    throw invalid(name, `has whenChanged: ${String(whenChanged)}`, "Give 'continue', 'ask', 'refuse' or a function.")
  if (sendMode !== 'steer' && sendMode !== 'queue') {
    throw invalid(name, `has sendMode: ${JSON.stringify(sendMode)}`, "Give 'steer' or 'queue'.")
  }
  for (const option of ['getSteering', 'getFollowUp'] as const) {
    const callback = options[option]
    if (callback === undefined || typeof callback === 'function') continue
    throw invalid(name, `has a "${option}" that is not a function`, `Give ${option}: () => […].`)
  }
  if (stateKey !== undefined && !isKey(stateKey)) {
    throw invalid(
      name,
      'has a "stateKey" that is too short or of the wrong type',
      'Give a random string or Uint8Array of at least 16.',
    )
  }
  // Written as `!(a >= b)` so that NaN, which would mean no limit, is rejected.
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
 * Rejects a tool whose preferred tier the model lacks. A single model passes: a run may bring tiers.
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
  if (!isRecord(readers)) throw invalid(agent, 'has "resultReaders" that are not an object', hint)
  for (const [scheme, reader] of Object.entries(readers)) {
    if (!/^[a-z][a-z0-9+.-]*$/.test(scheme)) {
      throw invalid(agent, `has a result reader for ${JSON.stringify(scheme)}, which is not a lower-case scheme`, hint)
    }
    if (typeof reader !== 'function')
      throw invalid(agent, `has a result reader for ${scheme} that is not a function`, hint)
  }
}

/**
 * Returns the tools of an agent as a plain list.
 *
 * @throws ProvostError `invalid-agent` with the item that is not a tool.
 */
export function toolsOf(agent: string, tools: ToolsInput): readonly Tool[] {
  try {
    return listTools(tools)
  } catch (cause) {
    const { message, hint = '' } = toErrorInfo(cause)
    throw invalid(agent, `has invalid tools. ${message.replace(/\.$/, '')}`, hint, cause)
  }
}

function isKey(key: unknown): boolean {
  return (typeof key === 'string' || key instanceof Uint8Array) && key.length >= 16
}

function checkExtensions(agent: string, list: unknown): void {
  const maker = 'defineExtension({ name, tools, hooks })'
  if (!Array.isArray(list)) {
    throw invalid(agent, 'has "extensions" that are not an array', `Give extensions: [${maker}].`)
  }
  for (const [index, item] of list.entries()) {
    if (isExtension(item)) continue
    throw invalid(agent, `has extensions[${index}], which was not made with defineExtension`, `Make it with ${maker}.`)
  }
}

function isExtension(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { name, tools, skills, hooks } = item
  return typeof name === 'string' && Array.isArray(tools) && Array.isArray(skills) && isRecord(hooks)
}

/**
 * Returns the JSON Schema that a model receives for an agent's answer.
 *
 * @throws ProvostError `invalid-agent` for a schema without a JSON Schema form.
 */
export function outputSchemaOf(agent: string, output: StandardSchemaV1): JsonSchema {
  try {
    return jsonSchemaOf(output)
  } catch (cause) {
    const { message, hint = '' } = toErrorInfo(cause)
    throw invalid(
      agent,
      `has an "output" that cannot be converted to JSON Schema. ${message.replace(/\.$/, '')}`,
      hint,
      cause,
    )
  }
}

function invalid(agent: string, what: string, hint: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-agent', `Agent ${agent} ${what}.`, { hint, cause })
}
