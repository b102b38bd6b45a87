import type {
  Extension,
  HookContext,
  JsonSchema,
  Label,
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
import { defineExtension, isPromise, isRecord, joinLabels, ProvostError } from '@provost/core'
import type { PriceTable } from '@provost/provider'
import { memoryStore } from '@provost/sessions'
import {
  buildRegistry,
  checkSandboxes,
  createSecretScope,
  nodeRuntime,
  resultLimits,
  toolCache,
  toolInputs,
  toolSearch,
} from '@provost/tools'
import type { SecretScope, ToolOffer, ToolRegistry, ToolSource } from '@provost/tools'

import { checkOptions, outputSchemaOf, toolsOf } from './agent-check.ts'
import type { AgentOptions, SendMode } from './agent-options.ts'
import type { ByteLimits } from './byte-meter.ts'
import { byteLimitsIn, defaultByteLimits } from './byte-meter.ts'
import type { Handoff } from './handoff/handoff.ts'
import { handoffsOf, handoffTool } from './handoff/handoff.ts'
import type { HookTable } from './hook-table.ts'
import { hookTable } from './hook-table.ts'
import { defaultHookTimeoutMs } from './hook-time.ts'
import { defaultLeaseMs } from './lease.ts'
import { nameOf } from './model-name.ts'
import { isAgentic } from './orchestrator/agentic.ts'
import type { Orchestrator } from './orchestrator/orchestrator.ts'
import { checkSkills, skillTool } from './skill.ts'
import type { WireTool } from './wire-tool.ts'
import { wireTool } from './wire-tool.ts'

export { keepPlan, planOf } from './known-plan.ts'

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
  readonly registry: ToolRegistry
  /** All tools, deferred ones included. */
  readonly infos: readonly ToolInfo[]
  /** Those that are in the catalogue from the start. */
  readonly offered: readonly ToolInfo[]
  /** What definitions that nobody has accepted add to the label of the model's words. */
  readonly reading: Label | undefined
  /** The same in the form a model call takes. */
  readonly wireTools: readonly WireTool[]
  /** What the search tool is called, where there is one. */
  readonly searchName: string | undefined
  /** By the name of the tool that asks for each. */
  readonly handoffs: ReadonlyMap<string, Handoff>
  readonly skills: readonly Skill[]
  readonly extensions: readonly Extension[]
  /** Hang on the hooks of this run alone, whichever agent is active; those with the scope `tree` on its children's, too. */
  readonly listeners: readonly Extension[]
  /** What it was made of: as a target of others it is planned again, with their extensions. */
  readonly options: AgentOptions
  readonly hooks: HookTable
  /** Stands for the agent itself where a context belongs to an extension. */
  readonly self: Extension
  readonly output?: StandardSchemaV1
  readonly responseFormat?: { readonly schema: JsonSchema; readonly name: string }
  readonly settings: ModelSettings
  readonly runtime: Runtime
  /** The agent's own: what a run of it has unless its parent grants it others. */
  readonly secrets: SecretScope
  readonly store: SessionStore
  readonly leaseMs: number
  readonly maxSteps: number
  readonly byteLimits: ByteLimits
  readonly maxParallelTools: number
  /** Milliseconds that hooks have to answer. */
  readonly hookTimeoutMs: number
  /** Absent where it is the default one: the loop then runs on its own. */
  readonly orchestrator?: Orchestrator
  readonly convertToModel?: AgentOptions['convertToModel']
  readonly reasoning: 'keep' | 'strip'
  readonly prices?: PriceTable
  readonly sendMode: SendMode
  /** Whether what code says may be part of the system prompt. */
  readonly allowSystemMessages: boolean
  /** Signs run states. */
  readonly stateKey?: string | Uint8Array
  readonly manifest: Manifest
  /** The tool of a name; for one that does not exist, a stranger that may do anything. */
  info(name: string): ToolInfo
  /** The form a model call takes of the tool of a name; empty where there is none. */
  wireOf(name: string): readonly WireTool[]
  /** The tool behind a name that a provider uses. Undefined where all have their own. */
  readonly toolName: ((wireName: string) => string) | undefined
  /** Makes tools ready and runs the `init` of the extensions, once. */
  ready(): MaybePromise<void>
}

/**
 * Looks everything up that does not change from run to run.
 *
 * @throws ProvostError `invalid-agent`, `duplicate-tool`, `sandbox-missing`
 */
export function planAgent(options: AgentOptions): AgentPlan {
  if (!isRecord(options))
    throw new ProvostError('invalid-agent', 'createAgent got no options.', {
      hint: "Give createAgent({ name: '…', model: '…' }).",
    })
  const { name, output, store, runtime, orchestrator } = options
  checkOptions(options)
  const own = toolsOf(name, options.tools ?? [])
  const targets = handoffsOf(name, options.handoffs).map((handoff) => ({ handoff, tool: handoffTool(handoff) }))
  const given = options.extensions ?? []
  const extensions = [
    ...toolExtensions(
      own,
      given,
      (tool) => tools.get(tool),
      () => infos,
    ),
    ...given,
    ...limits(own, given, options.resultReaders),
  ]
  const doubled = extensions.find((one) => extensions.some((other) => other !== one && other.name === one.name))
  if (doubled) {
    throw new ProvostError('duplicate-extension', `Agent ${name} has two extensions named ${doubled.name}.`, {
      hint: 'Give each a name of its own: memos, entries and events are kept under it.',
    })
  }
  const skills = extensions.flatMap((extension) => extension.skills)
  checkSkills(name, skills)
  const {
    registry,
    byName: tools,
    byWireName,
  } = buildRegistry(
    toolOffers(
      name,
      own,
      extensions,
      skills,
      targets.map(({ tool }) => tool),
    ),
    options.toolCollisions,
  )
  const infos: readonly Tool[] = Object.freeze([...tools.values()])
  let lazyRuntime = runtime
  checkSandboxes(name, infos, () => (lazyRuntime ??= nodeRuntime()))
  const offered = infos.some((tool) => tool.deferred) ? Object.freeze(infos.filter((tool) => !tool.deferred)) : infos
  const wires = new Map<string, readonly WireTool[]>()
  const wireOf = (toolName: string): readonly WireTool[] => {
    const tool = tools.get(toolName)
    const known = wires.get(toolName)
    if (known || !tool) return known ?? []
    const made = [wireTool(tool)]
    wires.set(toolName, made)
    return made
  }
  let wireTools: readonly WireTool[] | undefined
  let initialised: { readonly done: MaybePromise<void> } | undefined
  let lazyStore = store
  return {
    name,
    ...(options.description !== undefined && { description: options.description }),
    ...(typeof options.instructions === 'string' && { instructions: options.instructions }),
    ...(typeof options.instructions === 'function' && { instruct: options.instructions }),
    model: options.model,
    modelName: nameOf(options.model),
    tools,
    registry,
    infos,
    offered,
    reading: joined(infos.flatMap(({ reading }) => (reading ? [reading] : []))),
    // Made at the first step: some schemas have to be waited for.
    get wireTools() {
      return (wireTools ??= offered.flatMap((tool) => wireOf(tool.name)))
    },
    wireOf,
    toolName: byWireName.size > 0 ? (wireName) => byWireName.get(wireName) ?? wireName : undefined,
    searchName: infos.find((tool) =>
      extensions.some((one) => one.name === 'tool-search' && one.tools.some((its) => its['~tool'] === tool['~tool'])),
    )?.name,
    handoffs: new Map(
      infos.flatMap((tool) => {
        const target = targets.find((one) => one.tool['~tool'] === tool['~tool'])
        return target ? [[tool.name, target.handoff] as const] : []
      }),
    ),
    skills,
    extensions,
    listeners: [],
    hooks: hookTable(extensions),
    self: defineExtension({ name }),
    ...(output && { output, responseFormat: { schema: outputSchemaOf(name, output), name: 'output' } }),
    settings: options.settings ?? {},
    secrets: createSecretScope(options.secrets),
    get runtime() {
      return (lazyRuntime ??= nodeRuntime())
    },
    get store() {
      return (lazyStore ??= memoryStore())
    },
    leaseMs: options.leaseMs ?? defaultLeaseMs,
    maxSteps: options.maxSteps ?? 100,
    byteLimits: { ...defaultByteLimits, ...byteLimitsIn(options) },
    maxParallelTools: options.maxParallelTools ?? 8,
    hookTimeoutMs: options.hookTimeoutMs ?? defaultHookTimeoutMs,
    ...(orchestrator && !isAgentic(orchestrator) && { orchestrator }),
    ...(options.convertToModel && { convertToModel: options.convertToModel }),
    reasoning: options.reasoningRetention ?? 'keep',
    ...(options.prices && { prices: options.prices }),
    sendMode: options.sendMode ?? 'steer',
    allowSystemMessages: options.allowSystemMessages ?? false,
    ...(options.stateKey !== undefined && { stateKey: options.stateKey }),
    manifest: Object.freeze({
      agent: name,
      extensions: extensions.filter((one) => one.scope === 'tree' && !one.observer).map((one) => one.name),
      // Deferred ones come and go by the thousand.
      tools: offered.map((tool) => tool.name),
    }),
    options,
    info: (tool) => tools.get(tool) ?? stranger(tool),
    ready() {
      if (initialised) return initialised.done
      const done = initialise(name, extensions, infos, offered)
      initialised = { done }
      // What failed once may be tried again by the next run.
      if (isPromise(done)) Promise.resolve(done).catch(() => (initialised = undefined))
      return done
    },
  }
}

function joined(labels: readonly Label[]): Label | undefined {
  return labels.length > 0 ? joinLabels(...labels) : undefined
}

/** Where each tool comes from: who stands first keeps its name. */
function toolOffers(
  agent: string,
  own: readonly Tool[],
  extensions: readonly Extension[],
  skills: readonly Skill[],
  handoffs: readonly Tool[],
): readonly ToolOffer[] {
  const source: ToolSource = { kind: 'agent', name: agent }
  return [
    { source, tools: own.filter((tool) => tool.set === undefined) },
    { source, tools: own.filter((tool) => tool.set !== undefined) },
    ...extensions.map(({ name, tools }): ToolOffer => ({ source: { kind: 'extension', name }, tools })),
    ...(skills.length > 0
      ? [{ source: { kind: 'extension', name: 'skills' } as const, tools: [skillTool(skills)] }]
      : []),
    ...(handoffs.length > 0 ? [{ source: { kind: 'extension', name: 'handoffs' } as const, tools: handoffs }] : []),
  ]
}

/** What tools ask for beside being run is done by extensions like any other. They stand before those of the user. */
function toolExtensions(
  own: readonly Tool[],
  extensions: readonly Extension[],
  find: (name: string) => Tool | undefined,
  all: () => readonly Tool[],
): readonly Extension[] {
  const tools = [...own, ...extensions.flatMap((extension) => extension.tools)]
  return [
    ...(tools.some((tool) => tool.deferred) ? [toolSearch(() => all().filter((tool) => tool.deferred))] : []),
    ...(tools.some((tool) => tool['~tool'].cache) ? [toolCache(find)] : []),
    ...(tools.some((tool) => tool['~tool'].inputListener) ? [toolInputs(find)] : []),
  ]
}

/** Results are cut behind all hooks of the user's, who see them whole. */
function limits(
  own: readonly Tool[],
  extensions: readonly Extension[],
  readers: AgentOptions['resultReaders'],
): readonly Extension[] {
  const tools = [...own, ...extensions.flatMap((extension) => extension.tools)]
  const idle = tools.length === 0 && readers === undefined && extensions.every(({ skills }) => skills.length === 0)
  return idle ? [] : [resultLimits(tools, readers)]
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

function initialise(
  name: string,
  extensions: readonly Extension[],
  tools: readonly ToolInfo[],
  offered: readonly Tool[],
): MaybePromise<void> {
  const waits: PromiseLike<unknown>[] = []
  for (const tool of offered) {
    const done = tool['~tool'].prepare?.()
    if (isPromise(done)) waits.push(done)
  }
  for (const { init } of extensions) {
    const done = init?.({ name, tools })
    if (isPromise(done)) waits.push(done)
  }
  return waits.length > 0 ? Promise.all(waits).then(() => {}) : undefined
}
