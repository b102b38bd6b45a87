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
import type { ModelCall, PriceTable } from '@provost/provider'
import type { SecretScope, ToolRegistry } from '@provost/tools'

import type { AgentOptions, Handoff } from './agent.ts'
import type { HookTable } from './hooks.ts'
import type { Orchestrator } from './orchestrator.ts'
import type { ByteLimits } from './run-tree.ts'
import type { SendMode } from './stream.ts'

/** A tool in the form a model call takes. */
export type ModelTool = NonNullable<ModelCall['tools']>[number]

/** An agent with everything looked up once: what runs read, and nothing that they write. */
export interface ResolvedAgent {
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
  readonly wireTools: readonly ModelTool[]
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
  wireOf(name: string): readonly ModelTool[]
  /** The tool behind a name that a provider uses. Undefined where all have their own. */
  readonly toolName: ((wireName: string) => string) | undefined
  /** Makes tools ready and runs the `init` of the extensions, once. */
  ready(): MaybePromise<void>
}
