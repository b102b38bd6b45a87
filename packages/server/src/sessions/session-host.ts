import type { Agent, AgentStream, RunOptions, SessionOptions } from '@provost/agent'
import type { Decisions, Input, Message, ModelMessage, Principal, SessionStore } from '@provost/core'
import { ProvostError, sessionQuarantined, uuidv7 } from '@provost/core'
import { countedRead } from '@provost/sessions'

import { unknownSession } from '../http/http-error.ts'
import type { Outward } from '../http/public-errors.ts'
import { createOutward } from '../http/public-errors.ts'
import { isCode, tooMany } from '../http/request-error.ts'
import type { Limits } from '../options/limits.ts'
import type { ErrorPlace, ServerOptions } from '../options/server-options.ts'
import type { TransientWriter } from '../stream/transient-writer.ts'
import type { LiveSession } from './live-session.ts'
import { openSession } from './live-session.ts'
import { localPrincipal, ownership } from './ownership.ts'
import { createRecovery } from './recovery.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { checkRemoteTools } from './remote-tool.ts'

/** What a new session begins with. */
export interface Beginning {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
  readonly tools?: readonly RemoteToolInit[] | undefined
}

/** The sessions that this process has open, and the runs in them. */
export interface SessionHost {
  readonly store: SessionStore
  /** What clients may have of events and errors. */
  readonly outward: Outward
  agentOf(name: string | undefined): Agent<unknown, never>
  /** Undefined where this server has none of that name. */
  agentNamed(name: string): Agent<unknown, never> | undefined
  begin(principal: Principal, beginning: Beginning): Promise<LiveSession>
  /**
   * A session of a principal's own.
   * @throws HttpError 404 where there is none, or it is another's; ProvostError `session-quarantined`
   */
  open(principal: Principal | undefined, id: string): Promise<LiveSession>
  start(live: LiveSession, input: Input, options: RunOptions): AgentStream<unknown>
  decide(live: LiveSession, decisions: Decisions): Promise<void>
  /** Says something in a session, once under a key; resolves when it is in the store. */
  send(live: LiveSession, input: Input, options: Saying): Promise<void>
  /** A session as it can be read without opening it, also in quarantine. @throws HttpError 404 */
  view(principal: Principal | undefined, id: string): Promise<SessionView>
  /** Resumes a run whose process died, unless another process has it. @throws ProvostError `session-quarantined` */
  recover(live: LiveSession): Promise<void>
  /** Looks for such runs. */
  recoverAll(): Promise<void>
  /** From now on no run is taken over. */
  stopRecovery(): void
  /** Ends the quarantine of a session. @returns false where it had none; undefined where there is no such session. */
  releaseQuarantine(id: string): Promise<boolean | undefined>
  forget(id: string): void
  /** Removes a session that a request began which is refused after all; one that has had a run stays. */
  discard(id: string): Promise<void>
  /**
   * Reserves one of the runs that a principal may have at the same time.
   *
   * @returns gives the place back: a run that has begun counts by itself.
   * @throws HttpError 429
   */
  admit(principal: Principal): () => void
  readonly running: ReadonlySet<LiveSession>
}

/** How something is said in a session. */
export interface Saying {
  readonly mode: 'steer' | 'queue'
  readonly key?: string | undefined
  readonly maxSteps?: number | undefined
  /** The run that is meant; default the session's own. */
  readonly to?: string | undefined
}

/** What is known of a session that is not open. */
export interface SessionView {
  readonly agent: string
  readonly quarantined: boolean
}

/** Milliseconds that the opening of a session whose writer died may take before another process tries it. */
const openingMs = 5_000

type Opened = SessionOptions & { readonly context?: unknown }

export function createSessionHost(
  options: ServerOptions,
  store: SessionStore,
  limits: Limits,
  passing: TransientWriter | undefined,
  report: (thrown: unknown, place: ErrorPlace) => void,
): SessionHost {
  const { agents, authenticate, context } = options
  const outward = createOutward(options.exposeErrors === true)
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const open = new Map<string, Promise<LiveSession>>()
  const running = new Set<LiveSession>()
  /** Runs that are about to begin, by principal. */
  const admitted = new Map<string, number>()

  function agentOf(name: string | undefined): Agent<unknown, never> {
    const agent = name === undefined ? agents[0] : byName.get(name)
    if (agent) return agent
    throw new ProvostError('unknown-agent', `There is no agent ${name?.slice(0, 100)}.`, {
      hint: 'Leave `agent` out for the first one.',
    })
  }

  /** @param principal absent for a session of nobody, whose runs are nobody's either. */
  async function openingOf(principal: Principal | undefined): Promise<Opened> {
    const app = context && { context: await context(principal ?? localPrincipal) }
    return { store, ...(principal && { principal }), ...app }
  }

  /**
   * Opens a session. A process that dies of it has been counted by then.
   *
   * @param principal default whose it is.
   */
  async function openAs(
    id: string,
    allowed: (principal: string | undefined) => boolean,
    principal?: Principal,
  ): Promise<LiveSession> {
    const known = await open.get(id)?.catch(() => undefined)
    if (known) {
      if (!allowed(known.principal)) throw unknownSession(id)
      // What was used last is dropped last.
      open.delete(id)
      open.set(id, Promise.resolve(known))
      return known
    }
    return countedRead(store, id, openingMs, async () => {
      const owner = await ownership(store, id)
      const agent = owner && byName.get(owner.agent)
      if (!owner || !agent || !allowed(owner.principal?.id)) throw unknownSession(id)
      const again = open.get(id)
      if (again) return again
      const { tools } = owner
      const whose = principal ?? owner.principal
      const live = openSession({
        id,
        agent,
        principal: whose,
        tools,
        keptEvents: limits.keptEvents,
        outward,
        passing,
        open: async (extensions) => resume(agent, id, { ...(await openingOf(whose)), extensions }),
      })
      return keep(id, live)
    })
  }

  /** Resumes a run. @param broken is told what broke it off before the log saw it end. */
  async function takeUp(live: LiveSession, broken: (thrown: unknown) => void): Promise<void> {
    if (live.session.status === 'running') return
    const stream = live.session.resume()
    void stream[Symbol.asyncIterator]().return?.()
    track(live)
    const started = new Promise<void>((resolve) => {
      const stop = live.feed.listen(() => (stop(), resolve()))
    })
    const ended = stream.result.then(({ status, error }) => {
      if (status === 'failed' && live.session.status === 'suspended') broken(error)
    })
    await Promise.race([started, ended])
  }

  function keep(id: string, live: Promise<LiveSession>): Promise<LiveSession> {
    open.set(id, live)
    live.catch(() => open.delete(id))
    if (open.size > limits.sessions) void drop()
    return live
  }

  /** Lets go of what nothing has happened in for longest; the log has all of it. */
  async function drop(): Promise<void> {
    for (const [id, opening] of open) {
      if (open.size <= limits.sessions) return
      const live = await opening.catch(() => undefined)
      if (live && !running.has(live) && live.feed.listeners === 0 && live.session.status !== 'running') open.delete(id)
    }
  }

  /** Keeps count of a session in which something goes on. */
  function track(live: LiveSession): void {
    if (running.has(live)) return
    running.add(live)
    const settled = async (): Promise<void> => {
      while (live.session.status === 'running') await live.session.waitForIdle().catch(() => {})
    }
    live.idle = settled().finally(() => {
      running.delete(live)
      live.idle = undefined
      live.feed.rest()
      // Something began again before anybody heard that it was over.
      if (live.session.status === 'running') track(live)
    })
    live.idle.catch(() => {})
  }

  const host: SessionHost = {
    store,
    outward,
    running,
    agentOf,
    agentNamed: (name) => byName.get(name),

    async begin(principal, { id = uuidv7(), agent: name, messages, tools = [] }) {
      const agent = agentOf(name)
      checkRemoteTools(tools, limits)
      const opening = await openingOf(principal)
      const live = openSession({
        id,
        agent,
        principal,
        tools,
        keptEvents: limits.keptEvents,
        outward,
        passing,
        open: (extensions) => create(agent, { ...opening, id, extensions, ...(messages && { messages }) }),
      })
      return keep(id, live)
    },

    async open(principal, id) {
      try {
        return await openAs(id, (whose) => whose === principal?.id, principal)
      } catch (thrown) {
        // What is in quarantine is nobody else's to know either.
        if (isCode(thrown, 'session-quarantined')) await host.view(principal, id)
        throw thrown
      }
    },

    async view(principal, id) {
      const owner = await ownership(store, id)
      if (!owner || !byName.has(owner.agent) || owner.principal?.id !== principal?.id) throw unknownSession(id)
      const { quarantinedAt } = await store.leaseState(id)
      return { agent: owner.agent, quarantined: quarantinedAt !== undefined }
    },

    start(live, input, given) {
      const stream = live.session.stream(input, ...contextless(given))
      // Readers are at the feed; nobody iterates this one.
      void stream[Symbol.asyncIterator]().return?.()
      stream.result.catch(() => {})
      track(live)
      return stream
    },

    async decide(live, decisions) {
      try {
        await live.session.resolve(decisions)
      } finally {
        if (live.session.status === 'running') track(live)
      }
    },

    async send(live, input, saying) {
      await live.session.deliver(input, saying)
      if (live.session.status === 'running') track(live)
    },

    async recover(live) {
      try {
        await takeUp(live, () => {})
      } catch {
        // Another process has it, or it is over.
      }
      const { quarantinedAt } = live.session.status === 'running' ? {} : await store.leaseState(live.id)
      if (quarantinedAt === undefined) return
      // The next request for it is refused before anything is opened.
      host.forget(live.id)
      throw sessionQuarantined(live.id)
    },

    recoverAll: () => recovery.look(),
    stopRecovery: () => recovery.stop(),

    async releaseQuarantine(id) {
      const owner = await ownership(store, id)
      if (!owner) return undefined
      host.forget(id)
      return store.releaseQuarantine(id)
    },

    forget(id) {
      open.delete(id)
    },

    async discard(id) {
      for await (const { type } of store.read(id)) if (type === 'run') return
      host.forget(id)
      await store.delete(id)
    },

    admit({ id }) {
      const waiting = admitted.get(id) ?? 0
      let count = waiting
      for (const live of running) if (live.principal === id) count++
      if (count >= limits.runs) throw tooMany('runs', 'Wait for one of your runs to end.')
      admitted.set(id, waiting + 1)
      let held = true
      return () => {
        if (!held) return
        held = false
        const left = (admitted.get(id) ?? 1) - 1
        if (left > 0) admitted.set(id, left)
        else admitted.delete(id)
      }
    },
  }

  const recovery = createRecovery({
    store,
    serves: (agent) => byName.has(agent),
    isRunning: async (id) => (await open.get(id)?.catch(() => undefined))?.idle !== undefined,
    // Where everybody says who they are, there is no context for a run of nobody.
    open: (id) => openAs(id, (whose) => whose !== undefined || !authenticate || !context),
    resume: takeUp,
    report: (thrown, sessionId) => report(thrown, { sessionId }),
  })
  return host
}

/** Whether somebody has answered what a suspended run waits for, and nobody has gone on with it yet. */
export async function hasNews(store: SessionStore, id: string, waits: ReadonlyMap<string, unknown>): Promise<boolean> {
  for await (const { token } of store.inbox(id)) if (waits.has(token)) return true
  return false
}

/** The context of a run is given with its session. */
function contextless(options: RunOptions): [RunOptions & { readonly context: never }] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server knows no agent's app type: `context` of the server gives the value, untyped
  return [options as RunOptions & { readonly context: never }]
}

type Creating = Opened & { readonly id: string; readonly messages?: readonly (Message | ModelMessage)[] }

function create(agent: Agent<unknown, never>, options: Creating): ReturnType<Agent<unknown, never>['createSession']> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return agent.createSession(options as Creating & { readonly context: never })
}

function resume(
  agent: Agent<unknown, never>,
  id: string,
  options: Opened,
): ReturnType<Agent<unknown, never>['resumeSession']> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return agent.resumeSession(id, options as Opened & { readonly context: never })
}
