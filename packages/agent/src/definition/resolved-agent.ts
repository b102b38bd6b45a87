import type { Extension, Label, MaybePromise, Tool, ToolInfo } from '@provost/core'
import { ProvostError, defineExtension, isPromise, isRecord, joinLabels } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ModelTool, ToolOffer, ToolSource } from '@provost/tools'
import {
  buildRegistry,
  checkSandboxes,
  createSecretScope,
  modelTool,
  nodeRuntime,
  resultLimits,
  skillCatalogue,
  toolCache,
  toolInputs,
  toolSearch,
} from '@provost/tools'

import { hookTable } from '../hooks/hook-table.ts'
import { defaultHookTimeoutMs } from '../hooks/hook-time.ts'
import { nameOf } from '../prompt/model-name.ts'
import { byteLimitsIn, defaultByteLimits } from '../tree/byte-meter.ts'
import type { AgentOptions } from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import { isAgentic } from './agentic.ts'
import { handoffTool, handoffsOf } from './handoff.ts'
import { initExtension, prepareTool } from './init-extension.ts'
import type { Initialised } from './init-extension.ts'
import { checkOptions, outputSchemaOf, toolsOf } from './validate-options.ts'

/** The default `leaseMs` of an agent: milliseconds until the lease of a dead writer expires. */
const defaultLeaseMs = 10_000

export { registerAgent, resolvedAgentOf } from './agent-registry.ts'

/**
 * Returns the plan of an agent: everything that stays the same from run to run.
 *
 * @throws ProvostError `invalid-agent`, `duplicate-tool`, `sandbox-missing`
 */
export function resolveAgent(options: AgentOptions): ResolvedAgent {
  if (!isRecord(options))
    throw new ProvostError('invalid-agent', 'createAgent got no options object.', {
      hint: "Give createAgent({ name: '…', model: '…' }).",
    })
  const { name, output, store, runtime, orchestrator } = options
  checkOptions(options)
  const own = toolsOf(name, options.tools ?? [])
  const targets = handoffsOf(name, options.handoffs).map((handoff) => ({ handoff, tool: handoffTool(handoff) }))
  const given = options.extensions ?? []
  const skills = [...(options.skills ?? []), ...given.flatMap((extension) => extension.skills)]
  const catalogue = skills.length > 0 ? [skillCatalogue(name, skills)] : []
  const named = [
    ...toolExtensions(
      own,
      given,
      (tool) => tools.get(tool),
      () => infos,
    ),
    ...given,
    ...limits(own, [...given, ...catalogue], options),
  ]
  const doubled = named.find((one) => named.some((other) => other !== one && other.name === one.name))
  if (doubled) {
    throw new ProvostError('duplicate-extension', `Agent ${name} has two extensions named ${doubled.name}.`, {
      hint: 'Give each a unique name: memos, entries and events are stored under it.',
    })
  }
  // An extension of the application may have the name of the catalogue.
  const extensions = [...named, ...catalogue]
  const {
    registry,
    byName: tools,
    byWireName,
  } = buildRegistry(
    toolOffers(
      name,
      own,
      extensions,
      targets.map(({ tool }) => tool),
    ),
    options.toolCollisions,
  )
  const infos: readonly Tool[] = Object.freeze([...tools.values()])
  let lazyRuntime = runtime
  checkSandboxes(name, infos, () => (lazyRuntime ??= nodeRuntime()))
  const offered = infos.some((tool) => tool.deferred) ? Object.freeze(infos.filter((tool) => !tool.deferred)) : infos
  const wires = new Map<string, readonly ModelTool[]>()
  const wireOf = (toolName: string): readonly ModelTool[] => {
    const tool = tools.get(toolName)
    const known = wires.get(toolName)
    if (known || !tool) return known ?? []
    const made = [modelTool(tool)]
    wires.set(toolName, made)
    return made
  }
  let wireTools: readonly ModelTool[] | undefined
  let started: { readonly done: MaybePromise<void> } | undefined
  const initialised: Initialised = new Set()
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
    // Made at the first step: some schemas load asynchronously.
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
    followUps: options.followUps ?? 'each',
    allowSystemMessages: options.allowSystemMessages ?? false,
    ...(options.stateKey !== undefined && { stateKey: options.stateKey }),
    manifest: Object.freeze({
      agent: name,
      extensions: extensions.filter((one) => one.scope === 'tree' && !one.observer).map((one) => one.name),
      // Without deferred tools: there may be thousands, and they change often.
      tools: offered.map((tool) => tool.name),
    }),
    options,
    info: (tool) => tools.get(tool) ?? unknownTool(tool),
    initialised,
    ready() {
      if (started) return started.done
      const done = initialise(name, extensions, infos, offered, initialised)
      started = { done }
      // Retry a failed initialisation in the next run.
      if (isPromise(done)) Promise.resolve(done).catch(() => (started = undefined))
      return done
    },
  }
}

function joined(labels: readonly Label[]): Label | undefined {
  return labels.length > 0 ? joinLabels(...labels) : undefined
}

/** Returns the tools by source. On a name collision the first source keeps the name. */
function toolOffers(
  agent: string,
  own: readonly Tool[],
  extensions: readonly Extension[],
  handoffs: readonly Tool[],
): readonly ToolOffer[] {
  const source: ToolSource = { kind: 'agent', name: agent }
  return [
    { source, tools: own.filter((tool) => tool.set === undefined) },
    { source, tools: own.filter((tool) => tool.set !== undefined) },
    ...extensions.map(({ name, tools }): ToolOffer => ({ source: { kind: 'extension', name }, tools })),
    ...(handoffs.length > 0 ? [{ source: { kind: 'extension', name: 'handoffs' } as const, tools: handoffs }] : []),
  ]
}

/** Returns the extensions for tool search, caches and input listeners. They run before the user's extensions. */
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

/** Returns the extension that cuts long results. It runs last, so that the user's hooks receive complete results. */
function limits(
  own: readonly Tool[],
  extensions: readonly Extension[],
  { resultReaders: readers }: AgentOptions,
): readonly Extension[] {
  const tools = [...own, ...extensions.flatMap((extension) => extension.tools)]
  return tools.length === 0 && readers === undefined ? [] : [resultLimits(tools, readers)]
}

function unknownTool(name: string): ToolInfo {
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
  initialised: Initialised,
): MaybePromise<void> {
  const waits: PromiseLike<unknown>[] = []
  const begin = (done: MaybePromise<void>): void => {
    if (!isPromise(done)) return
    waits.push(done)
    // A later `init` may throw before all are awaited.
    done.then(undefined, () => {})
  }
  for (const tool of offered) begin(prepareTool(tool, extensions))
  for (const extension of extensions) begin(initExtension(extension, { name, tools }, initialised))
  return waits.length > 0 ? Promise.all(waits).then(() => {}) : undefined
}
