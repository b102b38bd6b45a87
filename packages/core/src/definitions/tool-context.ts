import type { FanOut, FanOutResult, Spawnable } from '../hooks/fan-out.ts'
import type { EmittedByExtensions } from '../hooks/hook-context.ts'
import type { EventPayloads } from '../log/event.ts'
import type { RunResult } from '../log/run.ts'
import type { SessionAccess } from '../log/store.ts'
import type { FilterDescriptor } from '../messages/handoff-filter.ts'
import type { Input, Message } from '../messages/message.ts'
import type { Grant } from '../messages/usage.ts'
import type { Runtime } from '../tools/runtime.ts'
import type { ToolResult } from '../tools/tool-info.ts'
import type { Json, MaybePromise } from '../values/json.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Tool } from './tool.ts'

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
   * @throws ProvostError `no-elicitation-handler`; `input-expired` shortly before the call is given up
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
   * `explicit`: those named and nothing else, for it and for all below it; `isolated`: its own alone, so that
   * `inheritSecrets` is refused.
   */
  readonly secrets?: 'allowlist' | 'explicit' | 'isolated'
  /** Names of secrets of this agent; one that it lacks is refused with `secret-denied`. Default: none. */
  readonly inheritSecrets?: readonly string[]
  /**
   * What the child gets of this run's conversation, in front of its input: `filters.lastN(6)`, `filters.summary()`. Never
   * reasoning, nor a system prompt; each message keeps its label. Default: nothing.
   */
  readonly inputFilter?: FilterDescriptor
  /** All that the child says goes on, not its answer alone: `handoff` hooks judge all of it. Default false. */
  readonly exposeTurns?: boolean
}

/** What a composite waits for. */
export interface WaitAbout {
  /** For whoever answers. */
  readonly message?: string
  /** Of the answer. */
  readonly schema?: JsonSchema
  /** Milliseconds by the clock on the wall. Default: for as long as it takes. */
  readonly withinMs?: number
  /** The answer is an approval: over a server, those who may approve give it. */
  readonly approves?: true
}

/** What `execute` of a composite gets besides its input. */
export interface CompositeContext<App = unknown> extends ToolContext<App>, CompositeOps {}

/** What a running tool wants to know of a human. */
export interface ToolQuestion {
  readonly message: string
  /** Of the answer. */
  readonly schema?: JsonSchema
}
