import type {
  Extension,
  HookContext,
  JsonSchema,
  Label,
  Manifest,
  MaybePromise,
  ModelSettings,
  ModelSpec,
  Overrides,
  Runtime,
  SessionStore,
  StandardSchemaV1,
  Tool,
  ToolInfo,
} from '@provost/core'
import type { PriceTable } from '@provost/provider'
import type { ModelTool, SecretScope, ToolRegistry } from '@provost/tools'

import type { AgentOptions, Handoff } from './agent.ts'
import type { HookTable } from './hooks.ts'
import type { Orchestrator } from './orchestrator.ts'
import type { ByteLimits } from './run-tree.ts'
import type { FollowUps, SendMode } from './stream.ts'

/** An agent with all lookups done once. Runs read it and never write to it. */
export interface ResolvedAgent {
  readonly name: string
  readonly description?: string
  /** The system prompt, if it is fixed. */
  readonly instructions?: string
  /** Creates the system prompt for each run. */
  instruct?(ctx: HookContext): MaybePromise<string>
  readonly model: ModelSpec
  readonly modelName: string
  readonly tools: ReadonlyMap<string, Tool>
  readonly registry: ToolRegistry
  /** All tools, deferred ones included. */
  readonly infos: readonly ToolInfo[]
  /** Tools that are in the catalogue from the start. */
  readonly offered: readonly ToolInfo[]
  /** Label that tool definitions without acceptance add to the model's answers. */
  readonly reading: Label | undefined
  /** The offered tools in the form of a model call. */
  readonly wireTools: readonly ModelTool[]
  /** Name of the search tool, if there is one. */
  readonly searchName: string | undefined
  /** Handoffs by the name of their tool. */
  readonly handoffs: ReadonlyMap<string, Handoff>
  readonly extensions: readonly Extension[]
  /** What a fork replaced in this plan. */
  readonly overrides?: Overrides | undefined
  /** Extensions of this run only, for each active agent. With the scope `tree` they also apply to children. */
  readonly listeners: readonly Extension[]
  /** The agent's own options. As a handoff target it is resolved again, with the extensions of the other agent. */
  readonly options: AgentOptions
  readonly hooks: HookTable
  /** Represents the agent itself where a context belongs to an extension. */
  readonly self: Extension
  readonly output?: StandardSchemaV1
  readonly responseFormat?: { readonly schema: JsonSchema; readonly name: string }
  readonly settings: ModelSettings
  readonly runtime: Runtime
  /** The agent's own secrets: a run has them unless its parent grants others. */
  readonly secrets: SecretScope
  readonly store: SessionStore
  readonly leaseMs: number
  readonly maxSteps: number
  readonly byteLimits: ByteLimits
  readonly maxParallelTools: number
  /** Time limit of hooks in milliseconds. */
  readonly hookTimeoutMs: number
  /** Absent for the default: the loop then runs without an orchestrator. */
  readonly orchestrator?: Orchestrator
  readonly convertToModel?: AgentOptions['convertToModel']
  readonly reasoning: 'keep' | 'strip'
  readonly prices?: PriceTable
  readonly sendMode: SendMode
  readonly followUps: FollowUps
  /** Whether inputs may contain system messages. */
  readonly allowSystemMessages: boolean
  /** Key that signs run states. */
  readonly stateKey?: string | Uint8Array
  readonly manifest: Manifest
  /** Returns the tool of a name; for an unknown name, a tool that may have any effect. */
  info(name: string): ToolInfo
  /** Returns the tool of a name in the form of a model call; empty for an unknown name. */
  wireOf(name: string): readonly ModelTool[]
  /** Returns the tool for a name that a provider uses; undefined if all names are the tools' own. */
  readonly toolName: ((wireName: string) => string) | undefined
  /** The `init` functions of extensions that have completed. */
  readonly initialised: ReadonlySet<NonNullable<Extension['init']>>
  /** Prepares tools and runs the `init` of the extensions, once. */
  ready(): MaybePromise<void>
}
