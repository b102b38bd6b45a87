import type {
  AnySchema,
  CompositeContext,
  Confidentiality,
  ContextOf,
  Decisions,
  Extension,
  FanOut,
  FanOutResult,
  FilterDescriptor,
  HandoffMode,
  HookContext,
  Input,
  MaybePromise,
  Message,
  ModelMessage,
  ModelSettings,
  ModelSpec,
  NeedsContext,
  OnApproval,
  ParsedBy,
  Principal,
  RunResult,
  RunState,
  Runtime,
  SecretRef,
  SessionStore,
  SpawnOptions,
  Spawnable,
  StandardSchemaV1,
  Tool,
  WrittenFor,
} from '@provost/core'
import type { PriceTable } from '@provost/provider'
import type { ResultReaders, ToolCollisions, ToolRegistry, ToolsIn, ToolsInput } from '@provost/tools'

import type { Orchestrator } from './orchestrator.ts'
import type { ResumeOptions, RunOptions, Session, SessionOptions } from './session.ts'
import type { AbortOptions, AgentStream, SendMode, With } from './stream.ts'

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

/** Who says whether an output will do. */
export type Evaluator<Out> =
  /** Code of yours; asked once for each output. */
  | {
      readonly kind: 'free-form'
      readonly evaluate: (output: Out, iteration: number) => MaybePromise<EvaluatorVerdict>
    }
  /** The output, or the JSON that its text is, has to satisfy a Standard Schema. */
  | { readonly kind: 'schema'; readonly schema: StandardSchemaV1 }
  /** An agent or a model scores the output from 0 to 1; accepted from the threshold on. Default 0.8. */
  | {
      readonly kind: 'llm-judge'
      /** An agent of yours answers with JSON: `{ score, feedback }`. */
      readonly judge: Spawnable | ModelSpec
      readonly criteria: string
      readonly threshold?: number
    }

/** How an output is made better. */
export interface EvaluatorOptimizerOptions<Out> {
  readonly generator: Spawnable<Out>
  readonly input: Input
  readonly evaluator: Evaluator<NoInfer<Out>>
  /** Outputs that are tried. Default 3. */
  readonly maxIterations?: number
  /**
   * The composite that asks: the tries are children of its run, durable, governed and counted with it. Once in a call of
   * it. What is said below of the session and the run is then its own.
   */
  readonly within?: CompositeContext | undefined
  /** One that a crash broke off goes on where the same is started for the same session. */
  readonly session?: Session<unknown, never> | undefined
  /** Default: one in memory. */
  readonly store?: SessionStore | undefined
  /** Those of scope `tree` cover what it does, as they would be an agent's: telemetry, policies. */
  readonly extensions?: readonly Extension<unknown>[] | undefined
  readonly signal?: AbortSignal | undefined
  readonly onApproval?: OnApproval | undefined
  /** On what it waited for when it was started for the same session before: `error.pending` of a WaitsForSomebodyError. */
  readonly decisions?: Decisions | undefined
  readonly principal?: Principal | undefined
  /** The app value of the tools. */
  readonly context?: unknown
}

/** What an evaluator says of an output. */
export interface EvaluatorVerdict {
  readonly accepted: boolean
  /** What to do better. */
  readonly feedback: string
  /** The higher, the better. Without scores a later output counts as better than an earlier one. */
  readonly score?: number
}

/** How an agent is offered to others. */
export interface ToToolOptions extends Pick<SpawnOptions, 'secrets' | 'inheritSecrets' | 'inputFilter'> {
  readonly name: string
  readonly description: string
  /** Lets the caller's model read all that the child said, turn by turn; otherwise it reads the answer alone. Default false. */
  readonly exposeTurns?: boolean
  /** Milliseconds that the child may run, without the time in which it waits for somebody. Default: as long as it takes. */
  readonly timeoutMs?: number
}

/** What the caller's model writes, and what the child is told of it. */
export interface AgentToolInput<S extends AnySchema> {
  readonly input: S
  readonly prompt: (input: ParsedBy<S>) => Input
}

/** How a fan-out runs that no agent has called for. */
export interface FanOutOptions<T = string> extends FanOut<T> {
  /** One that a crash broke off goes on where the same fan-out is started for the same session. */
  readonly session?: Session<unknown, never> | undefined
  /** Those of scope `tree` cover what it does, as they would be an agent's: telemetry, policies. */
  readonly extensions?: readonly Extension<unknown>[] | undefined
  readonly signal?: AbortSignal | undefined
  /** Asked for what children want approved. */
  readonly onApproval?: OnApproval | undefined
  /** On what it waited for when it was started for the same session before: `error.pending` of a WaitsForSomebodyError. */
  readonly decisions?: Decisions | undefined
  readonly principal?: Principal | undefined
  /** The app value of the children's tools. */
  readonly context?: unknown
}

/** What agents leave for one another, and for whoever goes on after a crash: kept in the store, whole or not at all. */
export interface Progress {
  /**
   * Writes an artifact for the run that this is called in. Known secrets are taken out. When it resolves, the artifact is
   * in the store; a reader sees it as a whole or not at all. What a run wrote goes with its session when that is deleted;
   * `store.delete('progress/agent/' + name)` removes what was written outside of runs.
   *
   * @param content up to 16 MiB.
   * @throws ProvostError `invalid-artifact`, `progress-busy` when other processes keep writing.
   *
   * @example
   * await writer.progress.write('1. outline 2. draft', { role: 'plan', seq: 1 })
   */
  write(content: string | Uint8Array, meta: ProgressMeta): Promise<{ readonly id: string }>
  /**
   * Reads artifacts, sorted by number.
   *
   * @throws ProvostError `invalid-artifact` for a filter that is none.
   *
   * @example
   * for (const { content } of await critic.progress.read({ runId, role: 'draft', sinceSeq: 3 }))
   *   console.log(new TextDecoder().decode(content))
   */
  read(filter?: ProgressFilter): Promise<readonly ProgressArtifact[]>
}

/** Says what an artifact is. */
export interface ProgressMeta {
  /** Who or what it is for: `plan`, `draft`. Any text of up to 200 characters. */
  readonly role: string
  /** Which of its role, from 0. Written again under the same number it takes the place of the one before. */
  readonly seq: number
  /** Default: in a run as confidential as what it has read, else `internal`. */
  readonly confidentiality?: Confidentiality
  /** Up to 32. */
  readonly tags?: readonly string[]
}

/** What was written. */
export interface ProgressArtifact {
  readonly id: string
  /** Absent: it was written outside of any run. */
  readonly runId?: string
  readonly agent: string
  readonly role: string
  readonly seq: number
  readonly content: Uint8Array
  readonly confidentiality: Confidentiality
  readonly tags: readonly string[]
  readonly at: number
}

/** Which artifacts are read. */
export interface ProgressFilter {
  /** The run that wrote them. Default: in a run that run, else all runs of the agent and what it wrote outside of any. */
  readonly runId?: string
  readonly role?: string
  /** Only later ones. */
  readonly sinceSeq?: number
  /** Those with the lowest numbers. Default 100, at most 1,000. */
  readonly maxArtifacts?: number
}

/** What a session begins with. */
export interface SessionBeginning {
  readonly id?: string | undefined
  /** Of ours or of the AI SDK. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
}

/** An agent: immutable, re-entrant, any number of runs at a time. */
export interface Agent<Output = string, App = unknown> extends NeedsContext<App>, Spawnable<Output> {
  readonly name: string
  /** Its tools, where each came from, and which had to be renamed. */
  readonly registry: ToolRegistry
  /** What it leaves for other agents, and for whoever goes on after a crash. */
  readonly progress: Progress
  /**
   * Returns a value without the secrets that this agent knows, for logs and consoles: texts, and errors with their
   * stacks, fields and causes. What holds none is returned as it is.
   *
   * @example
   * console.error(agent.scrub(error))
   */
  scrub(value: unknown): unknown
  /** Starts or resumes a run and gives its events. The run goes on whether or not anybody iterates. */
  stream(state: RunState<Output>, ...options: With<ResumeOptions, App>): AgentStream<Output>
  stream(input: Input, ...options: With<RunOptions, App>): AgentStream<Output>
  /**
   * Starts or resumes a run and gives its result. Resolves whatever the model or a tool does. In the `invoke` of a fan-out
   * it is a child of the run that fans out, unless it names a session.
   */
  run(state: RunState<Output>, ...options: With<ResumeOptions, App>): Promise<RunResult<Output>>
  run(input: Input, ...options: With<RunOptions, App>): Promise<RunResult<Output>>
  /** Aborts all runs of this agent in this process; resolves when they have ended. */
  abort(options?: AbortOptions): Promise<void>
  /**
   * Begins a session. `messages` are imported: repaired where that is needed (`session.repairs` says how), and labelled
   * untrusted, whatever they say of themselves.
   *
   * @param options.id default: a new UUID.
   * @throws ProvostError `session-exists`, also where another process created it; `invalid-input` for what is no message
   *
   * @example
   * const session = await agent.createSession({ messages: history })
   * session.on('text.delta', (e) => process.stdout.write(e.delta)).send('Where were we?')
   * await session.waitForIdle()
   */
  createSession(...options: With<SessionOptions & SessionBeginning, App>): Promise<Session<Output, App>>
  /**
   * Opens a session that is in the store: all is read from its log. A run that was suspended, or broken off by a crash,
   * goes on with `session.resume()` or with the first decision.
   *
   * @throws ProvostError `unknown-session`, `wrong-agent`, `session-quarantined`
   */
  resumeSession(id: string, ...options: With<SessionOptions, App>): Promise<Session<Output, App>>
  /**
   * Ends the quarantine of a session, so that its run can be resumed. For operators: first find out what its writers died of.
   *
   * @param options.store default the agent's.
   * @returns false when it was not in quarantine.
   */
  releaseQuarantine(id: string, options?: { readonly store?: SessionStore | undefined }): Promise<boolean>
  /**
   * This agent as a tool of others: it runs as a child, in a log of its own, beside the other calls of its step. It gets
   * the task alone, and of the caller's history what `inputFilter` lets across; what governs the caller governs it.
   *
   * @throws ProvostError `invalid-filter`, for functions too
   *
   * @example
   * const desk = createAgent({ name: 'desk', model, tools: [lawyer.toTool({ name: 'ask_lawyer', description: 'Ask the lawyer.' })] })
   */
  toTool(options: ToToolOptions): Tool<{ task: string }, Output, App>
  /** The same with an input of your own, and what the agent is told of it. */
  toTool<S extends AnySchema>(options: ToToolOptions & AgentToolInput<S>): Tool<WrittenFor<S>, Output, App>
  /**
   * Runs agents side by side and makes one output of what they say: what governs this agent governs them.
   *
   * @throws ProvostError `fan-out-failed` where there is nothing to merge; `invalid-fan-out`; `pending-input`; `aborted`
   */
  fanOut<R = string>(options: FanOutOptions<R>): Promise<FanOutResult<R>>
}

/** An agent as the target of another, with what crosses. Made by `handoff`. */
export interface Handoff<App = never> extends NeedsContext<App> {
  readonly to: string
  readonly mode: HandoffMode
  readonly filter: FilterDescriptor
  /** When to hand over, for the model. */
  readonly description?: string
}

/** What `handoffs` takes: an agent stands for `handoff(agent)`. */
export type HandoffTarget = Agent<unknown, never> | Handoff
