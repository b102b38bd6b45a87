import type {
  AnySchema,
  Confidentiality,
  ContextOf,
  DefinitionChange,
  Extension,
  FilterDescriptor,
  ForkOffers,
  HandoffMode,
  HookContext,
  Input,
  MaybePromise,
  Message,
  ModelMessage,
  ModelSettings,
  ModelSpec,
  NeedsContext,
  ParsedBy,
  RunChange,
  RunResult,
  RunState,
  Runtime,
  SecretRef,
  SessionStore,
  Skill,
  SpawnOptions,
  Spawnable,
  StandardSchemaV1,
  Tool,
  WrittenFor,
} from '@provost/core'
import type { PriceTable } from '@provost/provider'
import type { ResultReaders, ToolCollisions, ToolRegistry, ToolsIn, ToolsInput } from '@provost/tools'

import type { Orchestrator } from './orchestrator.ts'
import type { SessionState } from './session-state.ts'
import type { ResumeOptions, RunOptions, Session, SessionOptions } from './session.ts'
import type { AbortOptions, AgentStream, FollowUps, SendMode, With } from './stream.ts'

/** Decides whether a run is resumed with changed code. */
export type ResumeRule =
  | 'continue'
  | 'ask'
  | 'refuse'
  | ((change: DefinitionChange) => MaybePromise<'continue' | 'ask' | 'refuse'>)

/** A way of working: extensions that belong together, and an orchestrator if they need one. */
export interface AgentMode {
  readonly name: string
  /** They run before the agent's own. */
  readonly extensions: readonly Extension[]
  readonly orchestrator?: Orchestrator
}

/** What an agent is made of. */
export interface AgentOptions<
  O extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
  T extends ToolsInput = ToolsInput,
  E extends readonly Extension[] = readonly Extension[],
  H extends readonly HandoffTarget[] = readonly HandoffTarget[],
> {
  readonly name: string
  readonly description?: string
  /** The system prompt. A function is called once per run. */
  readonly instructions?: string | ((ctx: HookContext<ContextOf<ToolsIn<T> | E[number]>>) => MaybePromise<string>)
  readonly model: ModelSpec
  /** Tools, tool sets and tools of the AI SDK: a list, or a record that gives names. */
  readonly tools?: T
  /**
   * What happens to a tool whose name is taken. The agent's own tools come first, then its tool sets, then its
   * extensions in order. Default `auto-prefix`: the tool is renamed after its set or extension.
   */
  readonly toolCollisions?: ToolCollisions
  /**
   * Agents that can take over the conversation; each becomes a tool `transfer_to_NAME`. An agent receives everything
   * that may cross; `handoff(agent, { filter })` selects less. Pass a function where agents hand over to each other: it
   * is called before the first run.
   */
  readonly handoffs?: H | (() => readonly HandoffTarget[])
  /** Texts that the model loads when it needs them, before those of extensions. */
  readonly skills?: readonly Skill[]
  /** Extensions, in the order in which their hooks run. */
  readonly extensions?: E
  /** Any Standard Schema. The final answer is validated JSON of this shape, with one repair round. */
  readonly output?: O
  readonly settings?: ModelSettings
  /**
   * Secrets that tools may receive, by name: `{ BANK_KEY: secretRef('env:BANK_KEY') }`. A value is read only for a tool
   * that declares its name; everywhere else `⟦secret:BANK_KEY⟧` replaces it.
   */
  readonly secrets?: Readonly<Record<string, SecretRef>>
  /** Where tools act. Default: the Node runtime in the working directory. */
  readonly runtime?: Runtime
  /** Default: a store in memory for this agent. */
  readonly store?: SessionStore
  /**
   * Milliseconds after which another process may take over a run whose process died or hangs. A live run renews its
   * lease after a third of this time. Default 10,000. With a shorter lease the takeover is sooner, but a process that
   * is blocked for longer loses its run.
   */
  readonly leaseMs?: number
  /** Maximum number of model calls in a run. Default 100. */
  readonly maxSteps?: number
  /**
   * Maximum bytes that the host checks for a run and its children: messages, call arguments (also of scripts) and
   * results. Default 256 MiB. Above it the run fails with `host-bytes-exceeded`.
   */
  readonly hostBytes?: number
  /**
   * Maximum bytes that a run and its children write to their logs. Default 128 MiB. Above it the run fails with
   * `log-bytes-exceeded`.
   */
  readonly logBytes?: number
  /** How the run gets from the input to its answer: `react()`, `planAndExecute()` or your own. Default `agentic()`. */
  readonly orchestrator?: Orchestrator
  /** A way of working that another package defines, such as `planned()` of `@provost/code-mode`. */
  readonly mode?: AgentMode
  /**
   * Time limit in milliseconds for a hook of an extension, `needsApproval`, `instructions` or a `tool.call` listener. A
   * hook that exceeds it counts as having thrown; a hook that authorizes then denies. The time of `ctx.generate` and
   * `ctx.within` does not count. `around` and `event` hooks are not timed. Default 30,000; `Infinity` lifts the limit.
   */
  readonly hookTimeoutMs?: number
  /** Version of the code, such as a git commit: recorded in the log of each run. Any change of it counts as a change. */
  readonly version?: string
  /**
   * Whether a run that began with other code is resumed. The code is the version, the instructions and the definitions of
   * the tools. Default `continue`.
   *
   * - `continue`: with the new code. Approvals still hold for one definition of their tool only.
   * - `ask`: fails with `definition-changed` until it is resumed with `acceptChanges`.
   * - `refuse`: fails with `definition-changed`. A process with the earlier code can resume it.
   * - a function decides for each change.
   */
  readonly whenChanged?: ResumeRule
  /** Maximum number of tools of a step that run at the same time. Default 8. */
  readonly maxParallelTools?: number
  /** Converts a message for the model; `undefined` selects the default of its role. Use it to map custom roles. */
  readonly convertToModel?: (message: Message) => ModelMessage | readonly ModelMessage[] | undefined
  /** `strip` sends no reasoning back to the model. Default `keep`. */
  readonly reasoningRetention?: 'keep' | 'strip'
  /**
   * Readers for `read_result`, by URI scheme: `{ docs: (uri, { from, to }) => … }`. With a reader the agent offers that
   * tool.
   */
  readonly resultReaders?: ResultReaders
  /** Prices by `provider/model`; they override the built-in table. */
  readonly prices?: PriceTable
  /** How `session.send` enters a run in progress. Default `steer`. */
  readonly sendMode?: SendMode
  /** How queued inputs enter a run: one for each turn (`each`), or all of them in one turn (`merge`). Default `each`. */
  readonly followUps?: FollowUps
  /**
   * Called before each step and between tools of every run that begins with this agent, unless the run has its own. The
   * inputs it returns enter before the next model call.
   */
  readonly getSteering?: RunOptions['getSteering']
  /**
   * Called when a run that began with this agent would end, unless the run has its own. The inputs it returns continue
   * the run.
   */
  readonly getFollowUp?: RunOptions['getFollowUp']
  /**
   * Accepts messages with the role `system` in run inputs and in `createSession({ messages })`. They become part of the
   * system prompt: allow them only where your code writes them, never where they come from a client. Default false:
   * they are rejected with `system-message-refused`. Corresponds to `allowSystemInMessages` of the AI SDK.
   */
  readonly allowSystemMessages?: boolean
  /**
   * Key that signs the run states of this agent (HMAC, SHA-256); states without its signature are rejected. Use a
   * secret of at least 16 bytes, the same in every process that resumes. Without a key, any client that can write a
   * state can change it.
   */
  readonly stateKey?: string | Uint8Array
}

/** Handoff targets whose tools and extensions need an app value: the run needs it from its start. */
export type HandedTo<H extends readonly HandoffTarget[]> = H[number] extends infer T
  ? T extends NeedsContext<infer App>
    ? [App] extends [never]
      ? never
      : T
    : never
  : never

/** How an agent is offered to other agents. */
export interface ToToolOptions extends Pick<
  SpawnOptions,
  'secrets' | 'inheritSecrets' | 'inputFilter' | 'grant' | 'where'
> {
  readonly name: string
  readonly description: string
  /** Shows the caller's model every turn of the child; otherwise it reads only the answer. Default false. */
  readonly exposeTurns?: boolean
  /** Time limit of the child in milliseconds, without the time in which it waits for outside input. Default: none. */
  readonly timeoutMs?: number
}

/** The input that the caller's model writes, and the prompt that the child receives for it. */
export interface AgentToolInput<S extends AnySchema> {
  readonly input: S
  readonly prompt: (input: ParsedBy<S>) => Input
}

/**
 * Artifacts for other agents and for the process that resumes after a crash. The store keeps each whole or not at all.
 */
export interface Progress {
  /**
   * Writes an artifact for the run that calls this. Known secrets are removed. Once it resolves, the artifact is in the
   * store; a reader sees the whole artifact or none. Artifacts of a run are deleted with its session;
   * `store.delete('progress/agent/' + name)` removes artifacts that were written outside of runs.
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
   * @throws ProvostError `invalid-artifact` for an invalid filter.
   *
   * @example
   * for (const { content } of await critic.progress.read({ runId, role: 'draft', sinceSeq: 3 }))
   *   console.log(new TextDecoder().decode(content))
   */
  read(filter?: ProgressFilter): Promise<readonly ProgressArtifact[]>
}

/** Describes an artifact. */
export interface ProgressMeta {
  /** Purpose of the artifact, such as `plan` or `draft`. Up to 200 characters. */
  readonly role: string
  /** Number within the role, from 0. Writing the same number again replaces the artifact. */
  readonly seq: number
  /** Default: in a run the confidentiality of what it has read, otherwise `internal`. */
  readonly confidentiality?: Confidentiality
  /** Up to 32 tags. */
  readonly tags?: readonly string[]
}

/** A stored artifact. */
export interface ProgressArtifact {
  readonly id: string
  /** Absent for an artifact that was written outside of a run. */
  readonly runId?: string
  readonly agent: string
  readonly role: string
  readonly seq: number
  readonly content: Uint8Array
  readonly confidentiality: Confidentiality
  readonly tags: readonly string[]
  readonly at: number
}

/** Selects the artifacts to read. */
export interface ProgressFilter {
  /** The run that wrote them. Default: in a run that run, otherwise all artifacts of the agent. */
  readonly runId?: string
  readonly role?: string
  /** Only artifacts with a higher number. */
  readonly sinceSeq?: number
  /** Returns the artifacts with the lowest numbers. Default 100, at most 1,000. */
  readonly maxArtifacts?: number
}

/** What a session starts with. */
export interface SessionBeginning {
  readonly id?: string | undefined
  /** Messages of Provost or of the AI SDK. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
}

/** An agent: immutable and re-entrant, with any number of concurrent runs. */
export interface Agent<Output = string, App = unknown> extends NeedsContext<App>, Spawnable<Output> {
  readonly name: string
  /** What it does, for people and other agents. */
  readonly description?: string
  /** Its tools, where each came from, and which were renamed. */
  readonly registry: ToolRegistry
  /** Artifacts for other agents and for the process that resumes after a crash. */
  readonly progress: Progress
  /**
   * Returns a value without the secrets that this agent knows, for logs and consoles: texts, and errors with their
   * stacks, fields and causes. A value without secrets is returned unchanged.
   *
   * @example
   * console.error(agent.scrub(error))
   */
  scrub(value: unknown): unknown
  /** Starts or resumes a run and returns its event stream. The run continues even if no code iterates. */
  stream(state: RunState<Output>, ...options: With<ResumeOptions, App>): AgentStream<Output>
  stream(input: Input, ...options: With<RunOptions, App>): AgentStream<Output>
  /**
   * Starts or resumes a run and returns its result. Failures of the model or of a tool are part of the result. In the
   * `invoke` of a fan-out the run is a child of the run that fans out, unless it names a session.
   */
  run(state: RunState<Output>, ...options: With<ResumeOptions, App>): Promise<RunResult<Output>>
  run(input: Input, ...options: With<RunOptions, App>): Promise<RunResult<Output>>
  /** Aborts all runs of this agent in this process. Resolves when they have ended. */
  abort(options?: AbortOptions): Promise<void>
  /**
   * Creates a session. `messages` are imported: repaired where needed (`session.repairs` lists how), and labelled
   * untrusted whatever labels they carry.
   *
   * @param options.id default: a new UUID.
   * @throws ProvostError `session-exists`, also if another process created it; `invalid-input` for an invalid message
   *
   * @example
   * const session = await agent.createSession({ messages: history })
   * session.on('text.delta', (e) => process.stdout.write(e.delta)).send('Where were we?')
   * await session.waitForIdle()
   */
  createSession(...options: With<SessionOptions & SessionBeginning, App>): Promise<Session<Output, App>>
  /**
   * Opens a session from the store by reading its log. A suspended or interrupted run resumes with `session.resume()`
   * or with the first decision.
   *
   * @throws ProvostError `unknown-session`, `wrong-agent`, `session-quarantined`; for the session of a child that may run on
   *   any worker `agent-not-served` without the option `agents`, and `missing-extension`
   */
  resumeSession(id: string, ...options: With<SessionOptions, App>): Promise<Session<Output, App>>
  /**
   * Compacts what the model sees of a session, as `session.compact()` does, or a history that belongs to no session.
   *
   * @param conversation a session of this agent, the id of one in its store, or messages of Provost or the AI SDK.
   * @returns what the model sees now.
   * @throws what `session.compact()` and `resumeSession` throw; ProvostError `invalid-input` for any other value.
   *
   * @example
   * const shorter = await agent.compact(history)
   */
  compact(
    conversation: Session<unknown, never> | string | readonly (Message | ModelMessage)[],
  ): Promise<readonly Message[]>
  /**
   * Releases a session from quarantine, so that its run can be resumed. For operators: find out first why its writers
   * died.
   *
   * @param options.store default the agent's.
   * @returns false if the session was not in quarantine.
   */
  releaseQuarantine(id: string, options?: { readonly store?: SessionStore | undefined }): Promise<boolean>
  /**
   * Returns what changed in this agent since the last run of a session began or was resumed, and what `whenChanged` decides
   * about it.
   *
   * @param state of the session: `foldLog` of its entries.
   * @param options.extensions of the session, if it has its own: their tools are compared, too.
   * @param options.overrides what the overrides of a fork name, as for `resumeSession`.
   * @returns undefined if nothing changed, or the run has completed.
   *
   * @example
   * const change = await agent.changeSince(foldLog(entries))
   * if (change?.rule === 'ask' && (await confirm(changeText(change)))) session.resume({ acceptChanges: change.id })
   */
  changeSince(
    state: SessionState,
    options?: {
      readonly extensions?: readonly Extension[] | undefined
      readonly overrides?: ForkOffers | undefined
    },
  ): Promise<RunChange | undefined>
  /**
   * Returns this agent as a tool for other agents. It runs as a child with its own log, beside the other calls of its
   * step. It receives the task, and of the caller's history only what `inputFilter` passes. The caller's policies also
   * apply to it.
   *
   * @throws ProvostError `invalid-filter`, also for functions
   *
   * @example
   * const desk = createAgent({ name: 'desk', model, tools: [lawyer.toTool({ name: 'ask_lawyer', description: 'Ask the lawyer.' })] })
   */
  toTool(options: ToToolOptions): Tool<{ task: string }, Output, App>
  /** The same with your own input schema, and the prompt that the agent receives for it. */
  toTool<S extends AnySchema>(options: ToToolOptions & AgentToolInput<S>): Tool<WrittenFor<S>, Output, App>
}

/** An agent as a handoff target, with the context that it receives. Created by `handoff`. */
export interface Handoff<App = never> extends NeedsContext<App> {
  readonly to: string
  readonly mode: HandoffMode
  readonly filter: FilterDescriptor
  /** Tells the model when to hand over. */
  readonly description?: string
}

/** An entry of `handoffs`; an agent is short for `handoff(agent)`. */
export type HandoffTarget = Agent<unknown, never> | Handoff
