import type {
  AnySchema,
  ContextOf,
  Extension,
  Input,
  Overrides,
  RunResult,
  RunState,
  StandardSchemaV1,
} from '@provost/core'
import { ProvostError, isRecord, scrubError, checkArguments, checkForkOffers, checkOptions } from '@provost/core'
import { memoryStore } from '@provost/sessions'
import type { ToolsIn, ToolsInput } from '@provost/tools'

import { compensateSession } from '../compensation/compensate-session.ts'
import { checkStore } from '../definition/check-store.ts'
import { runChange } from '../definition/definition-change.ts'
import {
  checkAbortOptions,
  checkAgentOptions,
  checkRunOptions,
  checkSessionOptions,
} from '../definition/known-options.ts'
import { registerAgent, resolveAgent } from '../definition/resolved-agent.ts'
import { checkPreferred } from '../definition/validate-options.ts'
import { checkTargets } from '../handoff/active-agent.ts'
import { progressOf } from '../progress/progress.ts'
import { isRunState } from '../result/run-state-data.ts'
import { startRun } from '../run/start-run.ts'
import { liveSession } from '../session/live-session.ts'
import { beginSession, reopenSession } from '../session/open-session.ts'
import { reopenPart } from '../session/reopen-part.ts'
import { startIn } from '../session/session-runner.ts'
import { currentJoin } from '../tree/async-context.ts'
import type {
  Agent,
  AgentOptions,
  HandedTo,
  HandoffTarget,
  SessionBeginning,
  ToToolOptions,
  AgentToolInput,
} from '../types/agent.ts'
import type { ResolvedAgent } from '../types/resolved-agent.ts'
import type { RunHandle } from '../types/run-context.ts'
import type { Session, SessionOptions, UntypedRunOptions } from '../types/session.ts'
import { withMode } from './agent-mode.ts'
import { agentTool } from './agent-tool.ts'
import { overriddenOptions } from './overridden-options.ts'

type OutputFrom<O> = O extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<O> : string

/**
 * Creates an agent. No network access happens before its first run.
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
>(written: AgentOptions<O, T, E, H>): Agent<OutputFrom<O>, ContextOf<ToolsIn<T> | E[number] | HandedTo<H>>> {
  type Output = OutputFrom<O>
  checkAgentOptions(written)
  const options = withMode(written)
  // Lazy handoff targets may not exist yet, so all other options are checked now.
  const alone: AgentOptions<O, T, E> = { ...options, handoffs: [] }
  const first = resolveAgent(typeof options?.handoffs === 'function' ? alone : options)
  checkPreferred(first)
  checkTargets(first)
  let resolved = typeof options.handoffs === 'function' ? undefined : first
  function planned(): ResolvedAgent {
    if (resolved) return resolved
    const made = resolveAgent(options)
    checkTargets(made)
    return (resolved = made)
  }
  const running = new Set<RunHandle<Output>>()

  function start(
    input: Input | RunState<Output>,
    given: UntypedRunOptions | undefined,
    watched: boolean,
  ): RunHandle<Output> {
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

  /** Returns the plan of a session with its own extensions and store, and the overrides of a fork. */
  function agentFor(
    { extensions = [], store = planned().store, overrides: offers }: UntypedSessionOptions,
    overrides?: Overrides,
  ): ResolvedAgent {
    if (extensions.length === 0 && !overrides) return planned()
    const { runtime } = planned()
    const { extensions: its, ...replaced } = overriddenOptions(options.extensions ?? [], overrides, offers)
    const more: AgentOptions<O, T> = { ...options, ...replaced, store, runtime, extensions: [...its, ...extensions] }
    const plan: ResolvedAgent = Object.create(resolveAgent(more), { overrides: { value: overrides, enumerable: true } })
    return plan
  }

  type App = ContextOf<ToolsIn<T> | E[number] | HandedTo<H>>

  async function createSession(given: UntypedSessionOptions & SessionBeginning = {}): Promise<Session<Output, App>> {
    checkSessionOptions(given, true)
    const { id, messages, ...opening } = given
    const { store = planned().store, principal } = opening
    const opened = await beginSession(planned(), store, { id, messages, principal })
    return liveSession(
      { agent: agentFor(opening), ownAgent: planned(), options: opening, track, compensate: compensateSession },
      opened,
    )
  }

  async function resumeSession(id: string, given: UntypedSessionOptions = {}): Promise<Session<Output, App>> {
    checkSessionOptions(given, false)
    const store = given.store ?? planned().store
    const opened = await reopenSession(planned(), store, id)
    const itsAgent = agentFor(given, opened.snapshot.state.overrides)
    const part = await reopenPart(itsAgent, store, given.agents, opened)
    return liveSession(
      { ownAgent: planned(), options: given, track, compensate: compensateSession, agent: itsAgent, ...part },
      opened,
    )
  }

  /** Returns the session to compact. A history gets a session of its own, which nothing keeps. */
  async function sessionOf(
    conversation: Parameters<Agent['compact']>[0],
  ): Promise<Pick<Session, 'compact' | 'messages'>> {
    if (typeof conversation === 'string') return resumeSession(conversation)
    if (isList(conversation)) return createSession({ store: memoryStore(), messages: conversation })
    if (isRecord(conversation) && typeof conversation.compact === 'function') return conversation
    throw new ProvostError('invalid-input', 'agent.compact takes a session, the id of one, or a list of messages.', {
      hint: "Give a session, 'the-id' or [{ role: 'user', content: '…' }].",
    })
  }

  const agent: Agent<Output, App> = {
    name: first.name,
    ...(first.description !== undefined && { description: first.description }),
    get registry() {
      return planned().registry
    },
    progress: progressOf(planned),
    scrub: (value) => scrubError(planned().secrets.scrubber, value),
    stream: (input: Input | RunState<Output>, given?: UntypedRunOptions) => start(input, given, true),
    run: async (input: Input | RunState<Output>, given: UntypedRunOptions = {}): Promise<RunResult<Output>> => {
      if (!isRunState(input)) checkRunOptions(given, false, 'agent.run')
      const join = isRunState(input) || given.session || given.sessionId !== undefined ? undefined : currentJoin()
      if (!join || isRunState(input)) return start(input, given, false).result
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the run of this agent has its output type
      return (await join(agent, input, given)) as RunResult<Output>
    },
    toTool: (given: ToToolOptions & Partial<AgentToolInput<AnySchema>>) => agentTool(agent, given),
    async abort(abortOptions) {
      checkAbortOptions(abortOptions, 'agent.abort')
      await Promise.all([...running].map((handle) => handle.abort(abortOptions)))
    },
    createSession,
    resumeSession,
    async compact(conversation) {
      const session = await sessionOf(conversation)
      await session.compact()
      return [...session.messages]
    },
    async releaseQuarantine(id, given = {}) {
      checkArguments('agent.releaseQuarantine', [id, given], ['text', 'object'])
      checkOptions(given, { store: true }, 'agent.releaseQuarantine')
      checkStore(given.store, 'agent.releaseQuarantine')
      return (given.store ?? planned().store).releaseQuarantine(id)
    },
    async changeSince(state, given = {}) {
      checkArguments('agent.changeSince', [state, given], ['object', 'object'])
      checkOptions(given, { extensions: true, overrides: true }, 'agent.changeSince')
      checkForkOffers(given.overrides, '"overrides" of agent.changeSince')
      return runChange(state, agentFor(given, state.overrides))
    },
  }
  registerAgent(agent, planned, first)
  return Object.freeze(agent)
}

function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value)
}

type UntypedSessionOptions = SessionOptions & { readonly context?: unknown }
