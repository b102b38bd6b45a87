import type {
  AgentEvent,
  AnySchema,
  ContextOf,
  Decisions,
  Extension,
  FanOutResult,
  Input,
  Message,
  ModelMessage,
  NeedsContext,
  RunResult,
  RunState,
  SessionStore,
  Spawnable,
  StandardSchemaV1,
  Tool,
  WrittenFor,
} from '@provost/core'
import { scrubError } from '@provost/core'
import type { ToolRegistry, ToolsIn, ToolsInput } from '@provost/tools'

import { checkPreferred } from './agent-check.ts'
import type { AbortOptions, AgentOptions, HandedTo, ResumeOptions, RunOptions, With } from './agent-options.ts'
import type { AgentPlan } from './agent-plan.ts'
import { keepPlan, planAgent } from './agent-plan.ts'
import type { AskedBy, ToToolOptions } from './agent-tool.ts'
import { agentTool } from './agent-tool.ts'
import { currentJoin } from './current-run.ts'
import type { FanOutOptions } from './fan-out/run-fan-out.ts'
import { fanOutFor } from './fan-out/run-fan-out.ts'
import type { HandoffTarget } from './handoff/handoff.ts'
import { checkAbortOptions, checkAgentOptions, checkRunOptions, checkSessionOptions } from './known-options.ts'
import type { Progress } from './progress/progress.ts'
import { progressOf } from './progress/progress.ts'
import type { RunHandle } from './run-handle.ts'
import { isRunState } from './run-state.ts'
import { startRun } from './run.ts'
import { liveSession } from './session/live-session.ts'
import { beginSession, reopenSession } from './session/origin.ts'
import { startIn } from './session/session-runner.ts'
import type { Session, SessionOptions } from './session/session.ts'

/** A run while it goes on: its events in order, and its result. Iterating is optional. */
export interface AgentStream<Output = string> extends AsyncIterable<AgentEvent> {
  readonly result: Promise<RunResult<Output>>
  /** The output alone; rejects when the run did not complete. */
  readonly output: Promise<Output>
  readonly runId: string
  /** Enters before the next model call; calls that have not started are skipped. */
  steer(input: Input): void
  /** Enters when the run would end. */
  followUp(input: Input): void
  /** Answers approvals, remote calls and uncertain calls of this run. */
  resolve(decisions: Decisions): Promise<void>
  /** Resolves when the run has ended. */
  abort(options?: AbortOptions): Promise<void>
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
  toTool<S extends AnySchema>(options: ToToolOptions & AskedBy<S>): Tool<WrittenFor<S>, Output, App>
  /**
   * Runs agents side by side and makes one output of what they say: what governs this agent governs them.
   *
   * @throws ProvostError `fan-out-failed` where there is nothing to merge; `invalid-fan-out`; `waits-for-somebody`; `aborted`
   */
  fanOut<R = string>(options: FanOutOptions<R>): Promise<FanOutResult<R>>
}

/** What a session begins with. */
export interface SessionBeginning {
  readonly id?: string | undefined
  /** Of ours or of the AI SDK. */
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
}

type OutputFrom<O> = O extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<O> : string

/**
 * Makes an agent. Nothing is contacted until its first run.
 *
 * @throws ProvostError `unknown-option`; `invalid-agent`, `invalid-model`, `invalid-price`, `duplicate-tool`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model: 'anthropic/claude-sonnet-5', tools: [refund] })
 * const { text } = await agent.run('Refund order 17')
 */
export function createAgent<
  O extends StandardSchemaV1 | undefined = undefined,
  const T extends ToolsInput = readonly [],
  const E extends readonly Extension[] = readonly [],
  const H extends readonly HandoffTarget[] = readonly [],
>(options: AgentOptions<O, T, E, H>): Agent<OutputFrom<O>, ContextOf<ToolsIn<T> | E[number] | HandedTo<H>>> {
  type Output = OutputFrom<O>
  checkAgentOptions(options)
  // Targets that are given by a function may not be there yet: all else is checked now.
  const alone: AgentOptions<O, T, E> = { ...options, handoffs: [] }
  const first = planAgent(typeof options?.handoffs === 'function' ? alone : options)
  checkPreferred(first)
  let plan = typeof options.handoffs === 'function' ? undefined : first
  const planned = (): AgentPlan => (plan ??= planAgent(options))
  const running = new Set<RunHandle<Output>>()

  function start(input: Input | RunState<Output>, given: Given | undefined, watched: boolean): RunHandle<Output> {
    checkRunOptions(given, isRunState(input), watched ? 'agent.stream' : 'agent.run')
    if (given?.session && !isRunState(input)) return startIn<Output>(given.session, planned(), input, given, watched)
    const handle = startRun<Output>(planned(), isRunState(input) ? { resume: input } : { input }, given ?? {}, watched)
    track(handle)
    return handle
  }

  function track(handle: RunHandle<Output>): void {
    running.add(handle)
    handle.ended.then(
      () => running.delete(handle),
      () => running.delete(handle),
    )
  }

  /** The plan of a session that has extensions of its own. */
  function planFor({ extensions = [], store = planned().store }: SessionGiven): AgentPlan {
    if (extensions.length === 0) return planned()
    const { runtime } = planned()
    const more: AgentOptions<O, T> = {
      ...options,
      store,
      runtime,
      extensions: [...(options.extensions ?? []), ...extensions],
    }
    return planAgent(more)
  }

  type App = ContextOf<ToolsIn<T> | E[number] | HandedTo<H>>
  const agent: Agent<Output, App> = {
    name: first.name,
    get registry() {
      return planned().registry
    },
    progress: progressOf(planned),
    scrub: (value) => scrubError(planned().secrets.scrubber, value),
    stream: (input: Input | RunState<Output>, given?: Given) => start(input, given, true),
    run: async (input: Input | RunState<Output>, given: Given = {}): Promise<RunResult<Output>> => {
      if (!isRunState(input)) checkRunOptions(given, false, 'agent.run')
      const join = isRunState(input) || given.session || given.sessionId !== undefined ? undefined : currentJoin()
      if (!join || isRunState(input)) return start(input, given, false).result
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what this very agent gives
      return (await join(agent, input, given)) as RunResult<Output>
    },
    fanOut: (given) => fanOutFor(options, given),
    toTool: (given: ToToolOptions & Partial<AskedBy<AnySchema>>) => agentTool(agent, given),
    async abort(abortOptions) {
      checkAbortOptions(abortOptions, 'agent.abort')
      await Promise.all([...running].map((handle) => handle.abort(abortOptions)))
    },
    async createSession(given: SessionGiven & SessionBeginning = {}) {
      checkSessionOptions(given, true)
      const { id, messages, ...opening } = given
      const { store = planned().store, principal } = opening
      const opened = await beginSession(planned(), store, { id, messages, principal })
      return liveSession({ plan: planFor(opening), agentPlan: planned(), options: opening, track }, opened)
    },
    async resumeSession(id: string, given: SessionGiven = {}) {
      checkSessionOptions(given, false)
      const opened = await reopenSession(planned(), given.store ?? planned().store, id)
      return liveSession({ plan: planFor(given), agentPlan: planned(), options: given, track }, opened)
    },
    releaseQuarantine: (id, { store = planned().store } = {}) => store.releaseQuarantine(id),
  }
  keepPlan(agent, planned)
  return Object.freeze(agent)
}

/** Options of any run, its app value untyped: the agent's type has checked it. */
export type Given = ResumeOptions & { readonly context?: unknown }

type SessionGiven = SessionOptions & { readonly context?: unknown }
