import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { HookContext } from '../hooks/hook-context.ts'
import type { Ask } from '../hooks/hooks.ts'
import type { Tier } from '../messages/model.ts'
import type { NeedsContext } from '../tools/app-context.ts'
import type { ToolCall, ToolInfo } from '../tools/tool-info.ts'
import type { JsonPointer, MaybePromise } from '../values/json.ts'
import type { LabelInit } from '../values/label.ts'
import type { AnySchema } from '../values/schema.ts'
import type { ToolContext } from './tool-context.ts'

/** A worked example of a call, shown to the model. */
export interface ToolExample<In = unknown> {
  readonly input: In
  readonly output?: unknown
  readonly note?: string
}

/** What the executor needs of a tool, its types erased. Made by `tool()`. */
export interface ToolDefinition {
  readonly input: AnySchema
  readonly output?: StandardSchemaV1
  /** Of a call here; of a remote tool, how long its result is waited for: `Infinity` for as long as it takes. */
  readonly timeoutMs: number
  readonly executionMode: 'parallel' | 'sequential'
  readonly trustedFields: readonly JsonPointer[]
  /** Names of the secrets that it is given. */
  readonly secrets?: readonly string[]
  readonly examples: readonly ToolExample[]
  /** What the step after the call is to be asked of. */
  readonly preferredModel?: Tier
  /** How long results are kept, and for whom. */
  readonly cache?: ToolCaching
  /** A tool that a provider defines: the model gets this instead of a description and a schema. */
  readonly provider?: ProviderTool
  /** Asks the provider to hold the model to the schema. */
  readonly strict?: boolean
  /** Goes to the provider with the tool. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Told of the input of a call while the model writes it. */
  readonly inputListener?: ToolInputListener
  execute?(input: unknown, ctx: ToolContext): unknown
  needsApproval?(input: unknown, ctx: HookContext, callId: string): MaybePromise<boolean | Ask>
  returns?(output: unknown, input: unknown): LabelInit
  /**
   * Asked after a crash about a call that had started: what it came to, or undefined for one that took no effect, which
   * then runs again. Where it throws, nobody knows.
   */
  lookup?(idempotencyKey: string, input: unknown): MaybePromise<{ readonly output: unknown } | undefined>
  /** Makes ready what had to be waited for; called before the tool is first offered, and again after a failure. */
  prepare?(): MaybePromise<void>
}

/** How results of a tool are kept. */
export interface ToolCaching {
  /** Milliseconds that a result is good for. */
  readonly ttlMs: number
  /** Who gets a kept result: the same principal in the same session, or everybody who uses the agent. */
  readonly share: 'session' | 'agent'
}

/** A tool that a provider defines, and perhaps runs. */
export interface ProviderTool {
  readonly id: `${string}.${string}`
  readonly args: Readonly<Record<string, unknown>>
  /** The provider runs it, and its results come with the answer. */
  readonly executed: boolean
}

/** Told of a call before it is judged. What it throws is reported and changes nothing. */
export interface ToolInputListener {
  start?(callId: string, ctx: HookContext): unknown
  delta?(callId: string, delta: string, ctx: HookContext): unknown
  /** Only for input that fits the schema; `input` is the parsed value. */
  available?(callId: string, input: unknown, ctx: HookContext): unknown
}

/** A tool, with the types of its input, its output and the app value it wants. */
export interface Tool<In = never, Out = unknown, App = never> extends ToolInfo, NeedsContext<App> {
  readonly '~tool': ToolDefinition
  /** There at compile time only. */
  readonly '~types'?: { readonly input: (input: In) => void; readonly output: Out }
}

/**
 * Narrows a call to the types of a tool.
 *
 * @example
 * if (isCallTo(call, refund)) call.input.amount
 */
export function isCallTo<In>(call: ToolCall<unknown>, tool: Tool<In>): call is ToolCall<In> {
  // A registry may have renamed the tool, and another may have its name: what it does tells.
  return '~tool' in call.tool ? call.tool['~tool'] === tool['~tool'] : call.tool.name === tool.name
}
