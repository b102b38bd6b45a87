import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'

import type { NeedsContext } from './context.ts'
import type { ErrorInfo } from './error.ts'
import type { EventPayloads } from './event.ts'
import type { FanOut, FanOutResult } from './fan-out.ts'
import type { FilterDescriptor } from './handoff.ts'
import type { EmittedByExtensions, HookContext } from './hook-context.ts'
import type { Ask } from './hooks.ts'
import type { Json, JsonPointer, MaybePromise } from './json.ts'
import { isRecord } from './json.ts'
import type { Label, LabelInit } from './label.ts'
import type { CallOutcome, ResultSource } from './log.ts'
import type { Input, Message, ToolOutput } from './message.ts'
import type { Tier } from './model.ts'
import type { RunResult } from './run.ts'
import type { Runtime } from './runtime.ts'
import type { AnySchema, JsonSchema } from './schema.ts'
import type { SessionAccess } from './store.ts'
import type { Grant } from './usage.ts'

/** What a tool does to the world. `egress`: an outside party can learn something from the call. */
export type Effect = 'none' | 'read' | 'write' | 'egress'

/** What an argument means to a policy. */
export type ArgRole = 'destination' | 'content' | 'selector' | 'attachment' | 'credential' | 'amount' | 'time' | 'flag'

/**
 * What becomes of a result that is too long for the model: it keeps the head, it loses the middle, or the whole is kept
 * in the session's store and the model gets a handle to read it by.
 */
export type Truncation = 'head' | 'middle' | 'spill'

/** What everybody may know of a tool. */
export interface ToolInfo {
  readonly name: string
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
  /** About how many tokens of a result the model gets. Absent: 16,384. */
  readonly maxResultTokens?: number
  /** What becomes of a longer result. Absent: `head`. */
  readonly truncation?: Truncation
  /** What a sanitiser does with untrusted results of it, if not what it does with all: `false` leaves them alone. */
  readonly sanitize?: boolean | InboundPolicy
}

/** What is done with suspicious text that comes in: noted, taken out, set between unguessable marks. */
export type InboundPolicy = 'flag' | 'strip' | 'wrap' | 'strip+wrap'

/** What `execute` gets besides its input. */
export interface ToolContext<App = unknown, Secret extends string = never> extends SessionAccess {
  readonly callId: string
  /** The same for every attempt at this call: hand it to services that take one. */
  readonly idempotencyKey: string
  /** Aborted when the call times out or the run is aborted. */
  readonly signal: AbortSignal
  readonly runtime: Runtime
  /**
   * The values of the secrets that the tool declares, while the call goes on.
   *
   * @throws ProvostError `secret-denied` for a name that it does not declare, and once the call is over.
   */
  readonly secrets: Readonly<Record<Secret, string>>
  /** The app value the run was given. */
  readonly context: App
  /** A text without the values of known secrets. Whatever leaves the call is scrubbed anyway. */
  scrub(text: string): string
  /** What the model had been told when it wrote the call: without system prompt, and without the answer it is in. */
  readonly messages: readonly Message[]
  /** Reports progress to listeners; it never reaches the model. */
  progress(data: unknown): void
  /**
   * Puts a question to a human, and waits while the call stays open: the time of the call goes on. It stands in
   * `session.pending.inputs` and comes as `input.requested`; a process that dies takes it along.
   *
   * @returns the answer, as it was given: it has not been checked against the schema. By custom, null declines.
   * @throws ProvostError `nobody-to-ask`; `input-expired` shortly before the call is given up
   */
  ask(question: ToolQuestion): Promise<Json>
}

/**
 * What a composite acts through. Each act has a key that is unique in its call: after a crash the composite is entered
 * again from its start, and keys that were answered are answered from the log, in the order of then. So the same keys
 * must come with the same arguments, and nothing may happen outside.
 */
export interface CompositeOps {
  /**
   * Calls a tool of the agent, through the hooks, approvals and labels that a call of the model goes through. It resolves
   * with whatever comes of the call: look at `outcome`. Name the tool, or give it.
   *
   * @param options.key unique in this call.
   * @throws ProvostError `replay-diverged` where the key was used with another tool or other input.
   *
   * @example
   * const found = await ctx.call('look_up', { id }, { key: 'find' })
   */
  call<In, Out, App>(tool: Tool<In, Out, App>, input: In, options: { readonly key: string }): Promise<ToolResult<Out>>
  call(name: string, input: unknown, options: { readonly key: string }): Promise<ToolResult>
  /**
   * Runs an agent as a child: in a log of its own, under the tree-scoped extensions of this agent, with its events in the
   * stream of this run. It resolves with whatever comes of the run: look at `status`. What the child waits for stands
   * in `pending` of the outermost run.
   *
   * @param options.key unique in this call.
   * @param options.grant what the child may use; never more than what is left here. Default: all that is left.
   * @throws ProvostError `replay-diverged` where the key was used with another agent or other input; `invalid-input`;
   *   `invalid-budget`; `too-deep`
   *
   * @example
   * const { status, output } = await ctx.spawn(researcher, 'Who owns example.org?', { key: 'owner', grant: { tokens: 20_000 } })
   */
  spawn<Out>(agent: Spawnable<Out>, input: Input, options: SpawnOptions): Promise<RunResult<Out>>
  /**
   * Runs children side by side and makes one output of what they say; each is a child of this run. A crash in the middle
   * repeats none that has ended.
   *
   * @param options.key unique in this call. Default `fan-out`.
   * @throws ProvostError `fan-out-failed` where there is nothing to merge; `invalid-fan-out`
   *
   * @example
   * const { output } = await ctx.fanOut({ children: drafters.map((agent) => ({ agent, input: task })), mergeStrategy: 'concat' })
   */
  fanOut<T = string>(fanOut: FanOut<T>, options?: { readonly key: string }): Promise<FanOutResult<T>>
  /**
   * Waits until somebody outside answers, for days if need be: the run suspends meanwhile. The wait stands in
   * `pending.inputs` and is answered there by its id, which is `CALLID/wait/TOKEN`.
   *
   * @param token unique in this call.
   * @returns the answer as it was given; nobody has checked it.
   * @throws ProvostError `wait-expired` where nobody answered in time.
   */
  wait(token: string, about?: WaitAbout): Promise<Json>
  /** Emits an event of this run, of those that extensions may emit. It passes: after a crash it may come again. */
  emit<K extends EmittedByExtensions>(type: K, payload: EventPayloads[K]): void
  /** Runs `fn` once for each key; after a crash the logged value comes back. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /**
   * Says that the composite is at work until `work` settles, though all that it has called waits: for work in another
   * thread, whose next call has still to come.
   */
  busy<T>(work: PromiseLike<T>): Promise<T>
}

/** How a child is started. */
export interface SpawnOptions {
  readonly key: string
  readonly grant?: Grant
  /**
   * How the child comes by secrets. `allowlist` (default): its own, and those of this agent that `inheritSecrets` names;
   * `explicit`: those named and nothing else, for it and for all below it; `isolated`: its own alone.
   */
  readonly secrets?: 'allowlist' | 'explicit' | 'isolated'
  /** Names of secrets of this agent. Default: none. */
  readonly inheritSecrets?: readonly string[]
  /**
   * What the child gets of this run's conversation, in front of its input: `filters.lastN(6)`, `filters.summary()`. Never
   * reasoning, nor a system prompt; each message keeps its label. Default: nothing.
   */
  readonly inputFilter?: FilterDescriptor
  /** All that the child says goes on, not its answer alone: `handoff` hooks judge all of it. Default false. */
  readonly exposeTurns?: boolean
}

/** An agent, as composites start it. */
export interface Spawnable<out Output = unknown> {
  readonly name: string
  /** There at compile time only. */
  readonly '~output'?: Output
}

/** What a composite waits for. */
export interface WaitAbout {
  /** For whoever answers. */
  readonly message?: string
  /** Of the answer. */
  readonly schema?: JsonSchema
  /** Milliseconds by the clock on the wall. Default: for as long as it takes. */
  readonly withinMs?: number
}

/** What `execute` of a composite gets besides its input. */
export interface CompositeContext<App = unknown> extends ToolContext<App>, CompositeOps {}

/** What a running tool wants to know of a human. */
export interface ToolQuestion {
  readonly message: string
  /** Of the answer. */
  readonly schema?: JsonSchema
}

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

/** A value found under an argument of some role. */
export interface RoleValue {
  readonly path: JsonPointer
  readonly role: ArgRole
  readonly value: string
}

/**
 * One row for each string or number under an argument of these roles, as text.
 *
 * @example
 * argsByRole(call, 'destination') // [{ path: '/to', role: 'destination', value: 'ann@example.com' }]
 */
export function argsByRole(call: ToolCall, ...roles: readonly [ArgRole, ...ArgRole[]]): readonly RoleValue[] {
  const rows: RoleValue[] = []
  for (const [pointer, role] of Object.entries(call.tool.roles)) {
    if (roles.includes(role)) collect(valueAt(call.input, pointer), pointer, role, rows)
  }
  return rows
}

function collect(value: unknown, path: string, role: ArgRole, rows: RoleValue[]): void {
  if (typeof value === 'string' || typeof value === 'number') {
    rows.push({ path: `/${path.slice(1)}`, role, value: String(value) })
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, `${path}/${index}`, role, rows)
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) collect(item, `${path}/${escapePointer(key)}`, role, rows)
  }
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value
  for (const segment of pointer.slice(1).split('/')) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = Reflect.get(at, key)
  }
  return at
}

/** A key as a segment of a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
