import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { Agent } from '@provost/agent'
import { isAgent, resolvedAgentOf } from '@provost/agent/internal'
import type { ToolInfo } from '@provost/core'
import { isRecord, ProvostError, toErrorInfo } from '@provost/core'

import type { DataFlowPolicyOptions } from '../data-flow/data-flow-policy.ts'
import { dataFlowPolicy, presets } from '../data-flow/data-flow-policy.ts'
import type { DataFlowRule } from '../provenance/data-flow-rule.ts'

/** Makes a rule of a policy file in another language, for these tools. */
export type PolicyFormat = (text: string, tools: readonly ToolInfo[]) => DataFlowRule | Promise<DataFlowRule>

/** What files say of policies and agents. */
export interface PolicyFile {
  readonly policy?: DataFlowPolicyOptions
  readonly agents: readonly Agent<unknown, never>[]
  readonly tools: readonly ToolInfo[]
}

/** Characters of the longest policy file in another language. */
const longestPolicy = 1_000_000

/**
 * Reads a module that exports `policy` (or a default), agents, each by itself or in lists, and `tools`. A file in another language becomes the first
 * rule before the default ones.
 *
 * @param formats rule makers by the ending of file names, such as `.cedar`.
 * @param known agents and tools of another file, for a language without them.
 * @throws ProvostError `invalid-policy`
 */
export async function readPolicyFile(
  path: string,
  formats: Readonly<Record<string, PolicyFormat>>,
  known?: PolicyFile,
): Promise<PolicyFile> {
  const format = Object.hasOwn(formats, extname(path)) ? formats[extname(path)] : undefined
  try {
    if (format) return await inFormat(path, format, known)
    if (!modules.has(extname(path))) throw invalid(path, `Files that end in ${extname(path)} are not supported.`)
    return fromModule(path, await import(pathToFileURL(resolve(path)).href))
  } catch (cause) {
    if (cause instanceof ProvostError) throw cause
    throw invalid(path, toErrorInfo(cause).message, cause)
  }
}

const modules: ReadonlySet<string> = new Set(['.js', '.mjs', '.ts', '.mts'])

async function inFormat(path: string, format: PolicyFormat, known: PolicyFile | undefined): Promise<PolicyFile> {
  const { agents = [], tools = [] } = known ?? {}
  const text = await readFile(path, 'utf8')
  if (text.length > longestPolicy) throw invalid(path, `It is longer than ${longestPolicy} characters.`)
  const all = new Map(agents.flatMap((agent) => resolvedAgentOf(agent).infos).map((tool) => [tool.name, tool]))
  for (const tool of tools) if (!all.has(tool.name)) all.set(tool.name, tool)
  const rule = await format(text, [...all.values()])
  return { policy: { mode: 'enforce', rules: [rule, ...presets.intent] }, agents, tools }
}

function fromModule(path: string, module: unknown): PolicyFile {
  const exported = isRecord(module) ? module : { ...(typeof module === 'object' ? module : {}) }
  const from = (name: string): unknown => Reflect.get(exported, name)
  const policy = from('policy') ?? from('default')
  const listed = from('agents') ?? []
  const tools = from('tools') ?? []
  if (!Array.isArray(listed) || !Array.isArray(tools)) throw invalid(path, 'Its agents and tools are not lists.')
  for (const one of listed) resolvedAgentOf(one)
  const agents = [...new Set(Object.values(exported).flat().filter(isAgent))]
  if (policy === undefined) return { agents, tools }
  if (!isPolicy(policy)) throw invalid(path, 'Its policy is not an object with the options of dataFlowPolicy.')
  dataFlowPolicy(policy)
  return { policy, agents, tools }
}

function isPolicy(value: unknown): value is DataFlowPolicyOptions {
  return isRecord(value)
}

function invalid(path: string, why: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-policy', `The policy file ${path} cannot be used. ${why}`, {
    hint: 'Export `policy` with the options of dataFlowPolicy, and `agents`, from a module.',
    ...(cause !== undefined && { cause }),
  })
}
