import type { ChildPlace, FanOut, FanOutResult, Spawnable } from '../hooks/fan-out.ts'
import type { EmittedByExtensions } from '../hooks/hook-context.ts'
import type { EventPayloads } from '../log/event.ts'
import type { RunResult } from '../log/run.ts'
import type { SessionAccess } from '../log/store.ts'
import type { FilterDescriptor } from '../messages/handoff-filter.ts'
import type { Input, Message } from '../messages/message.ts'
import type { Grant } from '../messages/usage.ts'
import type { Runtime } from '../tools/runtime.ts'
import type { CallFlow, ToolResult } from '../tools/tool-info.ts'
import type { Json, MaybePromise } from '../values/json.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Tool } from './tool.ts'

/** What `execute` receives besides its input. */
export interface ToolContext<App = unknown, Secret extends string = never> extends SessionAccess {
  readonly callId: string
  /** The same for every attempt at this call. Pass it to services that accept an idempotency key. */
  readonly idempotencyKey: string
  /** Aborted when the call times out or the run is aborted. */
  readonly signal: AbortSignal
  readonly runtime: Runtime
  /**
   * The values of the secrets that the tool declares, available while the call runs.
   *
   * @throws ProvostError `secret-denied` for an undeclared name, and after the call has ended.
   */
  readonly secrets: Readonly<Record<Secret, string>>
  /** The app value the run was given. */
  readonly context: App
  /** Returns the text without the values of known secrets. Everything that leaves the call is scrubbed anyway. */
  scrub(text: string): string
  /** The messages that the model had received when it wrote the call, without the system prompt and its own response. */
  readonly messages: readonly Message[]
  /** Reports progress to listeners; it never reaches the model. */
  progress(data: unknown): void
  /**
   * Asks a human, and waits while the call stays open: its timeout keeps running. The question is in
   * `session.pending.inputs` and is emitted as `input.requested`. It is lost when the process dies.
   *
   * @returns the answer, not checked against the schema. By convention `null` declines.
   * @throws ProvostError `no-elicitation-handler`; `input-expired` shortly before the call times out.
   */
  ask(question: ToolQuestion): Promise<Json>
}

/** What `compensate` receives besides the output of the call that it undoes. */
export interface CompensationContext<In = unknown, App = unknown, Secret extends string = never> extends ToolContext<
  App,
  Secret
> {
  /** The input of the call that is undone, parsed. */
  readonly input: In
}

/** Options of a call that a composite makes. */
export interface NestedCallOptions {
  readonly key: string
  readonly flow?: CallFlow | undefined
}

/**
 * What a composite acts through. Each operation has a key that is unique in its call. After a crash the composite is
 * entered again from its start: operations whose results are logged return them, in the same order. So the same key
 * must come with the same arguments, and a composite has no side effects outside of these operations.
 */
export interface CompositeOps {
  /**
   * Calls a tool of the agent, through the same hooks, approvals and labels as a call of the model. Resolves with the
   * result, also of a failed call: check `outcome`. The tool is given by name or as an object.
   *
   * @param options.key unique in this call.
   * @param options.flow where the arguments come from, for a composite that followed its values: hooks receive it, and the
   *   log keeps it.
   * @throws ProvostError `replay-diverged` where the key was used with another tool or other input.
   *
   * @example
   * const found = await ctx.call('look_up', { id }, { key: 'find' })
   */
  call<In, Out, App>(tool: Tool<In, Out, App>, input: In, options: NestedCallOptions): Promise<ToolResult<Out>>
  call(name: string, input: unknown, options: NestedCallOptions): Promise<ToolResult>
  /**
   * Runs an agent as a child. The child has its own log, the tree-scoped extensions of this agent, and its events are in the
   * stream of this run. Resolves with the result of any outcome: check `status`. What the child waits for is in `pending`
   * of the outermost run.
   *
   * @param options.key unique in this call.
   * @param options.grant what the child may use, within what is left here. Default: all that is left.
   * @throws ProvostError `replay-diverged` where the key was used with another agent or other input; `invalid-input`;
   *   `invalid-budget`; `too-deep`; with `where: 'any'` also `agent-not-served` and `not-portable`
   *
   * @example
   * const { status, output } = await ctx.spawn(researcher, 'Who owns example.org?', { key: 'owner', grant: { tokens: 20_000 } })
   */
  spawn<Out>(agent: Spawnable<Out>, input: Input, options: SpawnOptions): Promise<RunResult<Out>>
  /**
   * Runs children concurrently and merges their outputs; each is a child of this run. After a crash, children that have
   * ended are not repeated.
   *
   * @param options.key unique in this call. Default `fan-out`.
   * @throws ProvostError `fan-out-failed` where there is nothing to merge; `invalid-fan-out`
   *
   * @example
   * const { output } = await ctx.fanOut({ children: drafters.map((agent) => ({ agent, input: task })), mergeStrategy: 'concat' })
   */
  fanOut<T = string>(fanOut: FanOut<T>, options?: { readonly key: string }): Promise<FanOutResult<T>>
  /**
   * Waits for an answer from outside, for days if need be: the run suspends meanwhile. The wait is listed in
   * `pending.inputs` and is answered there by its id, which is `CALLID/wait/TOKEN`.
   *
   * @param token unique in this call.
   * @returns the answer, not checked.
   * @throws ProvostError `wait-expired` where no answer arrived in time.
   */
  wait(token: string, about?: WaitAbout): Promise<Json>
  /** Emits an event of this run, of the types that extensions may emit. It is transient: after a crash it may be repeated. */
  emit<K extends EmittedByExtensions>(type: K, payload: EventPayloads[K]): void
  /** Runs `fn` once for each key and logs its value. After a crash it returns the logged value. */
  memo<T>(key: string, fn: () => MaybePromise<T>): Promise<T>
  /**
   * Marks the composite as busy until `work` settles, even while all its calls wait. Use it for work in another thread that
   * will make further calls.
   */
  busy<T>(work: PromiseLike<T>): Promise<T>
}

/** How a child is started. */
export interface SpawnOptions {
  readonly key: string
  readonly grant?: Grant
  /**
   * Which secrets the child may use. `allowlist` (default): its own, and those of this agent that `inheritSecrets` names.
   * `explicit`: only those named, for the child and all its descendants. `isolated`: only its own; `inheritSecrets` is then
   * refused.
   */
  readonly secrets?: 'allowlist' | 'explicit' | 'isolated'
  /** Names of secrets of this agent. An unknown name fails with `secret-denied`. Default: none. */
  readonly inheritSecrets?: readonly string[]
  /**
   * The part of this run's conversation that precedes the child's input: `filters.lastN(6)`, `filters.summary()`. Reasoning
   * and system prompts are never passed on; each message keeps its label. Default: nothing.
   */
  readonly inputFilter?: FilterDescriptor
  /** Passes on all messages of the child, not only its answer: `handoff` hooks check all of them. Default false. */
  readonly exposeTurns?: boolean
  /**
   * `any`: in a session that a server or a worker runs, the child becomes a session of its own, which any of these processes
   * may run. This run rests meanwhile. Elsewhere, and below a child of the same process, it runs `here`. Needs a `grant`.
   * Default `here`.
   */
  readonly where?: ChildPlace
}

/** What a composite waits for. */
export interface WaitAbout {
  /** Shown to the person who answers. */
  readonly message?: string
  /** The schema of the answer. */
  readonly schema?: JsonSchema
  /** Milliseconds of wall-clock time. Default: no limit. */
  readonly withinMs?: number
  /** The answer is an approval: on a server, only approvers may give it. */
  readonly approves?: true
}

/** What `execute` of a composite receives besides its input. */
export interface CompositeContext<App = unknown> extends ToolContext<App>, CompositeOps {}

/** A question of a running tool to a human. */
export interface ToolQuestion {
  readonly message: string
  /** The schema of the answer. */
  readonly schema?: JsonSchema
}
