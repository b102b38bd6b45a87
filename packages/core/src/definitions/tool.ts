import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { HookContext } from '../hooks/hook-context.ts'
import type { Ask } from '../hooks/hooks.ts'
import type { EffectScope } from '../log/effect.ts'
import type { Tier } from '../messages/model.ts'
import type { NeedsContext } from '../tools/app-context.ts'
import type { ToolInfo } from '../tools/tool-info.ts'
import type { JsonPointer, MaybePromise } from '../values/json.ts'
import type { LabelInit } from '../values/label.ts'
import type { AnySchema } from '../values/schema.ts'
import type { CompensationContext, ToolContext } from './tool-context.ts'

/** A worked example of a call, shown to the model. */
export interface ToolExample<In = unknown> {
  readonly input: In
  readonly output?: unknown
  readonly note?: string
}

/** What the executor needs of a tool, without its types. Made by `tool()`. */
export interface ToolDefinition {
  readonly input: AnySchema
  readonly output?: StandardSchemaV1
  /** Milliseconds for a local call; for a remote tool, milliseconds until its result must arrive. `Infinity`: no limit. */
  readonly timeoutMs: number
  readonly executionMode: 'parallel' | 'sequential'
  readonly trustedFields: readonly JsonPointer[]
  /** Names of the secrets that it receives. */
  readonly secrets?: readonly string[]
  readonly examples: readonly ToolExample[]
  /** The model tier requested for the step after the call. */
  readonly preferredModel?: Tier
  /** How long results are cached, and for which callers. */
  readonly cache?: ToolCaching
  /** A tool that a provider defines: the model receives this instead of a description and a schema. */
  readonly provider?: ProviderTool
  /** Asks the provider to enforce the schema. */
  readonly strict?: boolean
  /** Sent to the provider with the tool. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Receives the input of a call while the model writes it. */
  readonly inputListener?: ToolInputListener
  execute?(input: unknown, ctx: ToolContext): unknown
  needsApproval?(input: unknown, ctx: HookContext, callId: string): MaybePromise<boolean | Ask>
  /** Each call waits for an approval, which one decision gives to all staged calls of a step. */
  readonly stage?: true
  returns?(output: unknown, input: unknown): LabelInit
  /**
   * Called for a call whose outcome is unknown, after a crash or in the live run. Returns its result, or `undefined` for a
   * call without effect, which may then run again. When it throws, the outcome stays unknown.
   */
  lookup?(idempotencyKey: string, input: unknown): MaybePromise<{ readonly output: unknown } | undefined>
  /** Returns the business identity of the call's effect: the same for two calls that must not both take place. */
  effectKey?(input: unknown): string
  /** Where the key is unique. */
  readonly effectScope?: Exclude<EffectScope, 'run'>
  /** Undoes the effect of a call that succeeded. */
  compensate?(output: unknown, ctx: CompensationContext): unknown
  /** Completes asynchronous preparation. Called before the tool is first offered, and again after a failure. */
  prepare?(): MaybePromise<void>
}

/** How results of a tool are cached. */
export interface ToolCaching {
  /** Milliseconds that a result is valid. */
  readonly ttlMs: number
  /** Which callers get a cached result: the same principal in the same session, or all users of the agent. */
  readonly share: 'session' | 'agent'
}

/** A tool that a provider defines, and possibly runs. */
export interface ProviderTool {
  readonly id: `${string}.${string}`
  readonly args: Readonly<Record<string, unknown>>
  /** The provider runs it, and its results are part of the response. */
  readonly executed: boolean
}

/** Receives a call before it is authorized. What it throws is reported and has no effect on the call. */
export interface ToolInputListener {
  start?(callId: string, ctx: HookContext): unknown
  delta?(callId: string, delta: string, ctx: HookContext): unknown
  /** Called only for input that fits the schema; `input` is the parsed value. */
  available?(callId: string, input: unknown, ctx: HookContext): unknown
}

/** A tool, with the types of its input, its output and the app value it needs. */
export interface Tool<In = never, Out = unknown, App = never> extends ToolInfo, NeedsContext<App> {
  readonly '~tool': ToolDefinition
  /** Exists at compile time only. */
  readonly '~types'?: { readonly input: (input: In) => void; readonly output: Out }
}
