import type {
  AgentEvent,
  ContextOf,
  Decisions,
  Extension,
  Input,
  NeedsContext,
  RunResult,
  RunState,
  StandardSchemaV1,
} from '@provost/core'
import type { ToolRegistry, ToolsIn, ToolsInput } from '@provost/tools'

import type { AbortOptions, AgentOptions, ResumeOptions, RunOptions, With } from './agent-options.ts'
import { keepPlan, planAgent } from './agent-plan.ts'
import { isRunState } from './run-state.ts'
import type { RunHandle } from './run.ts'
import { startRun } from './run.ts'

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
export interface Agent<Output = string, App = unknown> extends NeedsContext<App> {
  readonly name: string
  /** Its tools, where each came from, and which had to be renamed. */
  readonly registry: ToolRegistry
  /** Starts or resumes a run and gives its events. The run goes on whether or not anybody iterates. */
  stream(state: RunState<Output>, ...options: With<ResumeOptions, App>): AgentStream<Output>
  stream(input: Input, ...options: With<RunOptions, App>): AgentStream<Output>
  /** Starts or resumes a run and gives its result. Resolves whatever the model or a tool does. */
  run(state: RunState<Output>, ...options: With<ResumeOptions, App>): Promise<RunResult<Output>>
  run(input: Input, ...options: With<RunOptions, App>): Promise<RunResult<Output>>
  /** Aborts all runs of this agent in this process; resolves when they have ended. */
  abort(options?: AbortOptions): Promise<void>
}

type OutputFrom<O> = O extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<O> : string

/**
 * Makes an agent. Nothing is contacted until its first run.
 *
 * @throws ProvostError `invalid-agent`, `duplicate-tool`
 *
 * @example
 * const agent = createAgent({ name: 'desk', model: 'anthropic/claude-sonnet-5', tools: [refund] })
 * const { text } = await agent.run('Refund order 17')
 */
export function createAgent<
  O extends StandardSchemaV1 | undefined = undefined,
  const T extends ToolsInput = readonly [],
  const E extends readonly Extension[] = readonly [],
>(options: AgentOptions<O, T, E>): Agent<OutputFrom<O>, ContextOf<ToolsIn<T> | E[number]>> {
  type Output = OutputFrom<O>
  const plan = planAgent(options)
  const running = new Set<RunHandle<Output>>()

  function start(input: Input | RunState<Output>, given: Given | undefined, watched: boolean): RunHandle<Output> {
    const handle = startRun<Output>(plan, isRunState(input) ? { resume: input } : { input }, given ?? {}, watched)
    running.add(handle)
    handle.ended.then(
      () => running.delete(handle),
      () => running.delete(handle),
    )
    return handle
  }

  const agent: Agent<Output, ContextOf<ToolsIn<T> | E[number]>> = {
    name: plan.name,
    registry: plan.registry,
    stream: (input: Input | RunState<Output>, given?: Given) => start(input, given, true),
    run: async (input: Input | RunState<Output>, given?: Given) => start(input, given, false).result,
    async abort(abortOptions) {
      await Promise.all([...running].map((handle) => handle.abort(abortOptions)))
    },
  }
  keepPlan(agent, plan)
  return Object.freeze(agent)
}

/** Options of any run, its app value untyped: the agent's type has checked it. */
export type Given = ResumeOptions & { readonly context?: unknown }
