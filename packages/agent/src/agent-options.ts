import type {
  ContextOf,
  Decisions,
  Extension,
  HookContext,
  Input,
  MaybePromise,
  Message,
  ModelMessage,
  ModelSettings,
  ModelSpec,
  NeedsContext,
  OnApproval,
  OnInput,
  Principal,
  Runtime,
  SecretRef,
  SessionStore,
  StandardSchemaV1,
} from '@provost/core'
import type { PriceTable } from '@provost/provider'
import type { ResultReaders, ToolCollisions, ToolsIn, ToolsInput } from '@provost/tools'

import type { HandoffTarget } from './handoff/handoff.ts'
import type { Orchestrator } from './orchestrator/orchestrator.ts'
import type { Session } from './session/session.ts'

/** What an agent is made of. */
export interface AgentOptions<
  O extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
  T extends ToolsInput = ToolsInput,
  E extends readonly Extension[] = readonly Extension[],
  H extends readonly HandoffTarget[] = readonly HandoffTarget[],
> {
  readonly name: string
  readonly description?: string
  /** The system prompt; a function is asked once a run. */
  readonly instructions?: string | ((ctx: HookContext<ContextOf<ToolsIn<T> | E[number]>>) => MaybePromise<string>)
  readonly model: ModelSpec
  /** Tools, tool sets and tools of the AI SDK: a list, or a record that gives names. */
  readonly tools?: T
  /**
   * What becomes of a tool whose name is taken; the agent's own come first, then its tool sets, then extensions in their
   * order. Default `auto-prefix`: it is renamed after its set or extension.
   */
  readonly toolCollisions?: ToolCollisions
  /**
   * Agents that it may hand the conversation to, each a tool `transfer_to_NAME` of its own: agents (all crosses but what
   * never does), or `handoff(agent, { filter })`. A function where agents hand over to each other; it is called before
   * the first run.
   */
  readonly handoffs?: H | (() => readonly HandoffTarget[])
  /** In the order in which their hooks run. */
  readonly extensions?: E
  /** Any Standard Schema: the final answer is JSON of this shape, validated, with one repair round. */
  readonly output?: O
  readonly settings?: ModelSettings
  /**
   * What tools may be given, by name: `{ BANK_KEY: secretRef('env:BANK_KEY') }`. A value is read only for a tool that
   * declares its name; everywhere else `⟦secret:BANK_KEY⟧` stands for it.
   */
  readonly secrets?: Readonly<Record<string, SecretRef>>
  /** Where tools act. Default: the Node runtime in the working directory. */
  readonly runtime?: Runtime
  /** Default: one in memory for this agent. */
  readonly store?: SessionStore
  /**
   * Milliseconds after which another process may go on with a run of this one that has died or stands still. A living
   * run renews its claim at a third of that. Default 30,000; shorter ones are taken over sooner, but a process that is
   * kept busy for longer by something else loses its run.
   */
  readonly leaseMs?: number
  /** Model calls a run may take. Default 100. */
  readonly maxSteps?: number
  /**
   * Bytes that a run and its children may give the host to judge: messages, arguments of calls, also of scripts, and
   * results. Default 256 MiB. Beyond it the run fails with `host-bytes-exceeded`.
   */
  readonly hostBytes?: number
  /**
   * Bytes that a run and its children may write to their logs. Default 128 MiB. Beyond it the run fails with
   * `log-bytes-exceeded`.
   */
  readonly logBytes?: number
  /** How the run gets from the input to its answer: `react()`, `planAndExecute()`, your own. Default `agentic()`. */
  readonly orchestrator?: Orchestrator
  /**
   * Milliseconds that a hook of an extension, `needsApproval`, `instructions` or a `tool.call` listener has to answer. One
   * that does not counts as thrown: where it judges, that is a denial. The time of `ctx.generate` and `ctx.within` does
   * not count; `around` and `event` hooks are not timed. Default 30,000; `Infinity` lifts the limit.
   */
  readonly hookTimeoutMs?: number
  /** Tools of a step that run at the same time. Default 8. */
  readonly maxParallelTools?: number
  /** How a message reaches the model; `undefined` is the default of its role. Maps custom roles. */
  readonly convertToModel?: (message: Message) => ModelMessage | readonly ModelMessage[] | undefined
  /** `strip` sends no reasoning back to the model. Default `keep`. */
  readonly reasoningRetention?: 'keep' | 'strip'
  /** Read what `read_result` is asked for by URI, by scheme: `{ docs: (uri, { from, to }) => … }`. With any the agent has it. */
  readonly resultReaders?: ResultReaders
  /** Prices by `provider/model`, before the built-in table. */
  readonly prices?: PriceTable
  /** How `session.send` enters a run that goes on. Default `steer`. */
  readonly sendMode?: SendMode
  /**
   * Takes messages of the role `system` in the input of runs and in `createSession({ messages })`. They are part of the
   * system prompt, so allow them only where your code writes them, never where they come from a client. Default false:
   * they are refused with `system-message-refused`. As `allowSystemInMessages` of the AI SDK.
   */
  readonly allowSystemMessages?: boolean
  /**
   * Signs the run states of this agent (HMAC, SHA-256); states that it did not sign are refused. A secret of 16 bytes
   * or more, the same in every process that resumes. Without one, whoever can write a state can decide what it says.
   */
  readonly stateKey?: string | Uint8Array
}

/** Targets whose tools and extensions want an app value: the run that is handed over needs it from its start. */
export type HandedTo<H extends readonly HandoffTarget[]> = H[number] extends infer T
  ? T extends NeedsContext<infer App>
    ? [App] extends [never]
      ? never
      : T
    : never
  : never

/** How what is said enters a run: before its next model call, or where it would end. */
export type SendMode = 'steer' | 'queue'

/** How one run is made. */
export interface RunOptions {
  /** Runs in this session, which has to be of this agent. Its listeners hear of the run. */
  readonly session?: Session<unknown, never> | undefined
  /** Continues the session of this id, or begins it. Default: a new one. */
  readonly sessionId?: string | undefined
  readonly principal?: Principal | undefined
  /** Aborts the run, as `stream.abort()` does. */
  readonly signal?: AbortSignal | undefined
  /** Asked for each approval while the run is alive; without an answer the run is suspended. */
  readonly onApproval?: OnApproval | undefined
  /** Asked for each question of a running tool, such as one of an MCP server; others may answer it too. */
  readonly onInput?: OnInput | undefined
  /** Instead of the agent's. */
  readonly model?: ModelSpec | undefined
  /** Over the agent's. */
  readonly settings?: ModelSettings | undefined
  /** Instead of the agent's. */
  readonly maxSteps?: number | undefined
  /** Instead of the agent's. Of a child the limits of its root count. */
  readonly hostBytes?: number | undefined
  /** Instead of the agent's. */
  readonly logBytes?: number | undefined
  /** Asked before each step and between tools: what it returns enters before the next model call. */
  readonly getSteering?: (() => MaybePromise<readonly Input[]>) | undefined
  /** Asked when the run would end: what it returns goes on with it. */
  readonly getFollowUp?: (() => MaybePromise<readonly Input[]>) | undefined
}
/** How a run is resumed. */
export type ResumeOptions = RunOptions & Decisions

/** `context` is asked for exactly when a tool or an extension of the agent wants one. */
export type With<Options, App> = unknown extends App
  ? [options?: Options & { readonly context?: unknown }]
  : [options: Options & { readonly context: App }]

/** How a run is aborted. Default: hard, with 50 ms for tools, and what waits for a human is denied. */
export interface AbortOptions {
  /** Lets the present step end first. Default false: everything stops at once. */
  readonly drain?: boolean
  /** Milliseconds that tools in flight have to stop by themselves. Default 50. */
  readonly graceMs?: number
  /** What becomes of calls that wait for a human. Default `deny`; `hold` suspends the run instead of ending it. */
  readonly onPendingApprovals?: 'deny' | 'hold' | 'fail'
}
