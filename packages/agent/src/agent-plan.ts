import type {
  Extension,
  HookContext,
  JsonSchema,
  Manifest,
  MaybePromise,
  ModelSettings,
  ModelSpec,
  Runtime,
  SessionStore,
  Skill,
  StandardSchemaV1,
  Tool,
  ToolInfo,
} from '@provost/core'
import { defineExtension, isPromise, isRecord, ProvostError } from '@provost/core'
import type { PriceTable } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import { nodeRuntime } from '@provost/tools'

import { checkOptions, outputSchemaOf } from './agent-check.ts'
import type { AgentOptions } from './agent-options.ts'
import type { Agent } from './agent.ts'
import type { HookTable } from './hook-table.ts'
import { hookTable } from './hook-table.ts'
import { nameOf } from './model-name.ts'
import { skillTool } from './skill.ts'
import type { WireTool } from './wire-tool.ts'
import { wireTool } from './wire-tool.ts'

/** An agent with everything looked up once: what runs read, and nothing that they write. */
export interface AgentPlan {
  readonly name: string
  readonly description?: string
  /** The system prompt where it is fixed. */
  readonly instructions?: string
  /** The system prompt where it is made for each run. */
  instruct?(ctx: HookContext): MaybePromise<string>
  readonly model: ModelSpec
  readonly modelName: string
  readonly tools: ReadonlyMap<string, Tool>
  readonly infos: readonly ToolInfo[]
  readonly wireTools: readonly WireTool[]
  readonly skills: readonly Skill[]
  readonly extensions: readonly Extension[]
  readonly hooks: HookTable
  /** Stands for the agent itself where a context belongs to an extension. */
  readonly self: Extension
  readonly output?: StandardSchemaV1
  readonly responseFormat?: { readonly schema: JsonSchema; readonly name: string }
  readonly settings: ModelSettings
  readonly runtime: Runtime
  readonly store: SessionStore
  readonly maxSteps: number
  readonly maxParallelTools: number
  readonly convertToModel?: AgentOptions['convertToModel']
  readonly reasoning: 'keep' | 'strip'
  readonly prices?: PriceTable
  readonly manifest: Manifest
  /** The tool of a name; for one that does not exist, a stranger that may do anything. */
  info(name: string): ToolInfo
  /** Runs the `init` of the extensions, once. */
  ready(): MaybePromise<void>
}

const plans = new WeakMap<object, AgentPlan>()

/** Ties a plan to the agent that users hold. */
export function keepPlan(agent: object, plan: AgentPlan): void {
  plans.set(agent, plan)
}

/**
 * The plan of an agent.
 *
 * @throws ProvostError `not-an-agent` for anything that `createAgent` did not make.
 */
export function planOf(agent: Agent<unknown, never>): AgentPlan {
  const plan = plans.get(agent)
  if (plan) return plan
  throw new ProvostError('not-an-agent', 'This object was not made by createAgent.', {
    hint: 'Pass the agent itself, not a copy, and make sure that one version of @provost/agent is installed.',
  })
}

/**
 * Looks everything up that does not change from run to run.
 *
 * @throws ProvostError `invalid-agent`, `duplicate-tool`
 */
export function planAgent(options: AgentOptions): AgentPlan {
  if (!isRecord(options))
    throw new ProvostError('invalid-agent', 'createAgent got no options.', {
      hint: "Give createAgent({ name: '…', model: '…' }).",
    })
  const { name, extensions = [], output, store, runtime } = options
  checkOptions(options)
  const doubled = extensions.find((one) => extensions.some((other) => other !== one && other.name === one.name))
  if (doubled) {
    throw new ProvostError('duplicate-extension', `Agent ${name} has two extensions named ${doubled.name}.`, {
      hint: 'Give each a name of its own: memos, entries and events are kept under it.',
    })
  }
  const skills = extensions.flatMap((extension) => extension.skills)
  const listed = [...(options.tools ?? []), ...extensions.flatMap((extension) => extension.tools)]
  const tools = toolTable(name, skills.length > 0 ? [...listed, skillTool(skills)] : listed)
  const infos = Object.freeze([...tools.values()])
  let initialised: { readonly done: MaybePromise<void> } | undefined
  let lazyStore = store
  let lazyRuntime = runtime
  return {
    name,
    ...(options.description !== undefined && { description: options.description }),
    ...(typeof options.instructions === 'string' && { instructions: options.instructions }),
    ...(typeof options.instructions === 'function' && { instruct: options.instructions }),
    model: options.model,
    modelName: nameOf(options.model),
    tools,
    infos,
    wireTools: infos.map(wireTool),
    skills,
    extensions,
    hooks: hookTable(extensions),
    self: defineExtension({ name }),
    ...(output && { output, responseFormat: { schema: outputSchemaOf(name, output), name: 'output' } }),
    settings: options.settings ?? {},
    get runtime() {
      return (lazyRuntime ??= nodeRuntime())
    },
    get store() {
      return (lazyStore ??= memoryStore())
    },
    maxSteps: options.maxSteps ?? 100,
    maxParallelTools: options.maxParallelTools ?? 8,
    ...(options.convertToModel && { convertToModel: options.convertToModel }),
    reasoning: options.reasoningRetention ?? 'keep',
    ...(options.prices && { prices: options.prices }),
    manifest: Object.freeze({
      agent: name,
      extensions: extensions.filter((one) => one.scope === 'tree').map((one) => one.name),
      tools: [...tools.keys()],
    }),
    info: (tool) => tools.get(tool) ?? stranger(tool),
    ready() {
      if (initialised) return initialised.done
      const done = initialise(name, extensions, infos)
      initialised = { done }
      // What failed once may be tried again by the next run.
      if (isPromise(done)) Promise.resolve(done).catch(() => (initialised = undefined))
      return done
    },
  }
}

function toolTable(agent: string, listed: readonly Tool[]): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>()
  for (const tool of listed) {
    if (tools.has(tool.name)) {
      throw new ProvostError('duplicate-tool', `Agent ${agent} has two tools named ${tool.name}.`, {
        hint: 'Rename one of them.',
      })
    }
    tools.set(tool.name, tool)
  }
  return tools
}

function stranger(name: string): ToolInfo {
  return {
    name,
    effect: 'egress',
    roles: {},
    inputSchema: {},
    idempotent: false,
    remote: false,
    composite: false,
    deferred: false,
  }
}

function initialise(name: string, extensions: readonly Extension[], tools: readonly ToolInfo[]): MaybePromise<void> {
  const waits: PromiseLike<unknown>[] = []
  for (const { init } of extensions) {
    const done = init?.({ name, tools })
    if (isPromise(done)) waits.push(done)
  }
  return waits.length > 0 ? Promise.all(waits).then(() => {}) : undefined
}
