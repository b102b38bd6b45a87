import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { ArgRole } from './arg-roles.ts'
import type { NeedsContext } from './context.ts'
import type { ErrorInfo } from './error.ts'
import type { HookContext } from './hook-context.ts'
import type { Ask } from './hooks.ts'
import type { Json, JsonPointer, MaybePromise } from './json.ts'
import type { Label, LabelInit } from './label.ts'
import type { CallOutcome, ResultSource } from './log.ts'
import type { ToolOutput } from './message.ts'
import type { Tier } from './model.ts'
import type { Isolation } from './runtime.ts'
import type { AnySchema, JsonSchema } from './schema.ts'
import type { ToolContext } from './tool-context.ts'

/** What a tool does to the world. `egress`: an outside party can learn something from the call. */
export type Effect = 'none' | 'read' | 'write' | 'egress'

/**
 * What becomes of a result that is too long for the model: it keeps the head, it loses the middle, or the whole is kept
 * in the session's store and the model gets a handle to read it by.
 */
export type Truncation = 'head' | 'middle' | 'spill'

/** What everybody may know of a tool. */
export interface ToolInfo {
  readonly name: string
  /** Of its definition: an approval given for one version does not hold for another. */
  readonly version?: string
  readonly title?: string
  readonly description?: string
  readonly effect: Effect
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  /** Running it again with the same idempotency key changes nothing. */
  readonly idempotent: boolean
  /** It has no `execute`: the run waits for a result from elsewhere. */
  readonly remote: boolean
  /** It acts only through the calls it makes, and is entered again after a crash. */
  readonly composite: boolean
  /** Kept out of the catalogue until it is searched for. */
  readonly deferred: boolean
  /** It has to do with the conversation itself: a model calls it, and no script of the model. */
  readonly modelOnly?: true
  /** The tool set it came in, such as the name of an MCP server: its texts are not the developer's own. */
  readonly set?: string
  /**
   * What its definition adds to the label of all that a model writes which was shown it, where nobody has accepted the
   * definition. Absent: nothing.
   */
  readonly reading?: Label
  /** About how many tokens of a result the model gets. Absent: 16,384. */
  readonly maxResultTokens?: number
  /** What becomes of a longer result. Absent: `head`. */
  readonly truncation?: Truncation
  /** What the runtime has to give for what it executes. Absent: nothing is asked for. */
  readonly sandbox?: Exclude<Isolation, 'none'>
  /** What a sanitiser does with untrusted results of it, if not what it does with all: `false` leaves them alone. */
  readonly sanitize?: boolean | InboundPolicy
}

/** What is done with suspicious text that comes in: noted, taken out, set between unguessable marks. */
export type InboundPolicy = 'flag' | 'strip' | 'wrap' | 'strip+wrap'

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

/** A call as hooks see it: the JSON that the model wrote or a hook rewrote, before the schema's transforms. */
export interface ToolCall<In = Json> {
  readonly callId: string
  readonly tool: ToolInfo
  readonly input: In
  /** The label of the words it was written in. */
  readonly label: Label
  /** The composite call that makes this one. */
  readonly parentCallId?: string
}

/** A result as hooks see it. */
export interface ToolResult<Out = Json> {
  readonly callId: string
  /** The composite call that made this one: the result goes to it, and not to the model. */
  readonly parentCallId?: string
  readonly tool: ToolInfo
  readonly input: Json
  readonly outcome: CallOutcome
  readonly via: ResultSource
  readonly value?: Out
  readonly output: ToolOutput
  readonly label: Label
  readonly fields?: Readonly<Record<JsonPointer, Label>>
  readonly details?: Json
  /** Why a call came to nothing, as the composite that made it is told. */
  readonly error?: ErrorInfo
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
