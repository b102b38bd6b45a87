import { setTimeout as sleep } from 'node:timers/promises'

import { compensationLog } from '@provost/agent'
import type { Agent, AgentStream, CompensateOptions, RunOptions, SessionOptions } from '@provost/agent'
import { stopWaking } from '@provost/agent/internal'
import type {
  Compensation,
  Decisions,
  ForkOffers,
  Input,
  Message,
  ModelMessage,
  Principal,
  Rest,
  SessionStore,
} from '@provost/core'
import { ProvostError, sessionQuarantined, uuidv7 } from '@provost/core'
import { countedRead } from '@provost/sessions'

import { unknownSession } from '../http/http-error.ts'
import type { ClientRedaction } from '../http/public-errors.ts'
import { createClientRedaction } from '../http/public-errors.ts'
import { isCode, tooMany } from '../http/request-error.ts'
import type { Limits } from '../options/limits.ts'
import type { RequestedOptions } from '../options/request-options.ts'
import type { ServerOptions } from '../options/server-options.ts'
import type { TransientWriter } from '../stream/transient-writer.ts'
import { divideDecisions } from './compensation-waits.ts'
import type { LiveSession } from './live-session.ts'
import { openSession } from './live-session.ts'
import { localPrincipal, ownership } from './ownership.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { checkRemoteTools } from './remote-tool.ts'
import { hasRun } from './session-end.ts'

/** Initial content of a new session. */
export interface Beginning {
  readonly id?: string | undefined
  readonly agent?: string | undefined
  readonly messages?: readonly (Message | ModelMessage)[] | undefined
  readonly tools?: readonly RemoteToolInit[] | undefined
}

/** The open sessions of this process, and their runs. */
export interface SessionHost {
  readonly store: SessionStore
  /** What forks may name. */
  readonly forks: ForkOffers
  /** Redacts events and errors for clients. */
  readonly redaction: ClientRedaction
  /** Names of the agents, in the order of the server's options. */
  readonly agentNames: readonly string[]
  agentOf(name: string | undefined): Agent<unknown, never>
  /** Returns the agent of a name; undefined if this server has none. */
  agentNamed(name: string): Agent<unknown, never> | undefined
  begin(principal: Principal, beginning: Beginning): Promise<LiveSession>
  /**
   * Opens a session of a principal.
   * @throws HttpError 404 if it does not exist or belongs to another principal; ProvostError `session-quarantined`
   */
  open(principal: Principal | undefined, id: string): Promise<LiveSession>
  start(live: LiveSession, input: Input, options: RunRequest): AgentStream<unknown>
  /** Delivers decisions to the run of a session and to its compensation, which then continues. */
  decide(live: LiveSession, decisions: Decisions): Promise<void>
  /** Undoes effects of a session, or continues to. */
  compensate(live: LiveSession, options: Pick<CompensateOptions, 'since' | 'decisions'>): Promise<Compensation>
  /** Sends input to a session, once for each key; resolves when the store has it. */
  send(live: LiveSession, input: Input, options: SendOptions): Promise<void>
  /** Reads a session without opening it, also in quarantine. @throws HttpError 404 */
  view(principal: Principal | undefined, id: string): Promise<SessionView>
  /** Resumes a run whose process died, unless another process has resumed it. @throws ProvostError `session-quarantined` */
  recover(live: LiveSession): Promise<void>
  /** Advances a session until it rests, for its own principal. The store counts a takeover before the log is read. */
  advance(id: string): Promise<Rest>
  /**
   * Resumes the last run of a session, whose agent changed, for its own principal. Resolves when it has begun.
   *
   * @param change id of the accepted change.
   * @throws SessionBusyError; ProvostError `definition-changed`, `nothing-to-resume`
   */
  accept(id: string, change: string): Promise<void>
  /** Returns the number of sessions that run here or are being opened to run. */
  occupied(): number
  isRunning(id: string): boolean
  /** Asks the oldest run of a principal to rest at its next step. */
  yieldOne(principal: string | undefined): void
  /** Ends the quarantine of a session. @returns false if it is not in quarantine; undefined for an unknown session. */
  releaseQuarantine(id: string): Promise<boolean | undefined>
  forget(id: string): void
  /** Removes a session whose first request is rejected; keeps a session that has had a run. */
  discard(id: string): Promise<void>
  /**
   * Reserves one of the concurrent runs of a principal.
   *
   * @returns a function that releases the reservation; a run that has begun is counted separately.
   * @throws HttpError 429
   */
  admit(principal: Principal): () => void
  readonly running: ReadonlySet<LiveSession>
  /** Resolves when no compensation is in progress. */
  compensated(): Promise<void>
  /** Aborts compensations: the next request continues them. */
  stopCompensating(): void
}

/** Options of {@link SessionHost.start}. */
export interface RunRequest extends RequestedOptions {
  readonly maxSteps?: number | undefined
}

/** Options of {@link SessionHost.send}. */
export interface SendOptions {
  readonly mode: 'steer' | 'queue'
  readonly key?: string | undefined
  readonly maxSteps?: number | undefined
  /** Options for this input: they replace those of a run that takes it. Default: the run keeps its options. */
  readonly requested?: RequestedOptions | undefined
  /** Id of the receiving run; default the session's own. */
  readonly to?: string | undefined
}

/** The state of a session that is not open. */
export interface SessionView {
  readonly agent: string
  readonly quarantined: boolean
}

/** Milliseconds to open a session whose writer died. After them another process may try. */
const openingMs = 5_000
/** Tries to resume a run with an accepted change, while another process finds out that it may not. */
const mostTries = 20
const betweenTriesMs = 50

/** The options of a server or a worker that its sessions use. */
export type HostOptions = Pick<
  ServerOptions,
  'agents' | 'context' | 'exposeErrors' | 'requestOptions' | 'forks' | 'authenticate'
>

type Opened = SessionOptions & { readonly context?: unknown }

export function createSessionHost(
  options: HostOptions,
  store: SessionStore,
  limits: Limits,
  passing: TransientWriter | undefined,
): SessionHost {
  const { agents, authenticate, context } = options
  const redaction = createClientRedaction(options.exposeErrors === true)
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const open = new Map<string, Promise<LiveSession>>()
  const running = new Set<LiveSession>()
  /** Open sessions without a run, the longest unused first. */
  const idle = new Map<string, LiveSession>()
  const compensating = new Set<Promise<unknown>>()
  const stopped = new AbortController()
  /** Sessions that are being opened to run. */
  let starting = 0
  /** Runs that are about to begin, by principal. */
  const admitted = new Map<string, number>()

  function agentOf(name: string | undefined): Agent<unknown, never> {
    const agent = name === undefined ? agents[0] : byName.get(name)
    if (agent) return agent
    throw new ProvostError('unknown-agent', `This server has no agent ${name?.slice(0, 100)}.`, {
      hint: 'Leave `agent` out to use the first one.',
    })
  }

  /** @param principal absent for a session without a principal, whose runs have none either. */
  async function openingOf(principal: Principal | undefined): Promise<Opened> {
    const app = context && { context: await context(principal ?? localPrincipal) }
    const { forks } = options
    return { store, agents, ...(forks && { overrides: forks }), ...(principal && { principal }), ...app }
  }

  /**
   * Opens a session. The store counts the takeover first, so a log that kills the process is counted.
   *
   * @param principal default: the principal of the session.
   */
  async function openAs(
    id: string,
    allowed: (principal: string | undefined) => boolean,
    principal?: Principal,
  ): Promise<LiveSession> {
    const known = await open.get(id)?.catch(() => undefined)
    if (known) {
      if (!allowed(known.principal)) throw unknownSession(id)
      if (idle.has(id)) rests(known)
      return known
    }
    return countedRead(store, id, openingMs, async () => {
      const owner = await ownership(store, id)
      const agent = owner && byName.get(owner.agent)
      if (!owner || !agent || !allowed(owner.principal?.id)) throw unknownSession(id)
      const again = open.get(id)
      if (again) return again
      const { tools } = owner
      const sessionPrincipal = principal ?? owner.principal
      const live = openSession({
        id,
        agent,
        principal: sessionPrincipal,
        tools,
        requestOptions: options.requestOptions,
        keptEvents: limits.keptEvents,
        redaction,
        passing,
        open: async (extensions) => resume(agent, id, { ...(await openingOf(sessionPrincipal)), extensions }),
      })
      return keep(id, live)
    })
  }

  /** Opens a session to run it for its own principal. With `authenticate`, a run without a principal has no app context. */
  async function openToRun(id: string): Promise<LiveSession> {
    starting++
    try {
      return await openAs(id, (sessionPrincipal) => sessionPrincipal !== undefined || !authenticate || !context)
    } finally {
      starting--
    }
  }

  /** Resumes a run. Resolves when it has begun, or cannot. */
  async function takeUp(live: LiveSession): Promise<void> {
    if (live.session.status === 'running') return
    const stream = live.session.resume()
    void stream[Symbol.asyncIterator]().return?.()
    track(live)
    const started = new Promise<void>((resolve) => {
      const stop = live.feed.listen(() => (stop(), resolve()))
    })
    await Promise.race([started, stream.result])
  }

  function keep(id: string, live: Promise<LiveSession>): Promise<LiveSession> {
    open.set(id, live)
    live.then(rests, () => open.delete(id))
    return live
  }

  /** Adds a session to the idle ones as the last used, and drops those unused for longest; their logs have everything. */
  function rests(live: LiveSession): void {
    idle.delete(live.id)
    if (running.has(live)) return
    idle.set(live.id, live)
    for (const [id, { feed, session }] of idle) {
      if (idle.size <= limits.sessions) return
      if (feed.listeners > 0 || session.status === 'running') continue
      stopWaking(session)
      idle.delete(id)
      open.delete(id)
    }
  }

  /** Counts a session as active until it is idle. @param work that may start runs. */
  function track(live: LiveSession, work?: Promise<unknown>): void {
    if (running.has(live)) return
    running.add(live)
    if (idle.get(live.id) === live) idle.delete(live.id)
    const settled = async (): Promise<void> => {
      await work?.catch(() => {})
      while (live.session.status === 'running') await live.session.waitForIdle().catch(() => {})
    }
    live.idle = settled().finally(() => {
      running.delete(live)
      live.idle = undefined
      live.feed.trim()
      // A new run started before this callback ran.
      if (live.session.status === 'running') track(live)
      // Unless the session was forgotten, and perhaps opened anew.
      else void open.get(live.id)?.then((known) => known === live && rests(live))
    })
    live.idle.catch(() => {})
  }

  const host: SessionHost = {
    store,
    forks: options.forks ?? {},
    redaction,
    running,
    agentNames: agents.map(({ name }) => name),
    agentOf,
    agentNamed: (name) => byName.get(name),

    async begin(principal, { id = uuidv7(), agent: name, messages, tools = [] }) {
      const agent = agentOf(name)
      checkRemoteTools(tools, limits)
      const opening = await openingOf(principal)
      // An open session stays open, with its run and its readers.
      const known = open.get(id)
      if (known && (await known.catch(() => undefined))) throw sessionExists(id)
      const live = openSession({
        id,
        agent,
        principal,
        tools,
        requestOptions: options.requestOptions,
        keptEvents: limits.keptEvents,
        redaction,
        passing,
        open: (extensions) => create(agent, { ...opening, id, extensions, ...(messages && { messages }) }),
      })
      return keep(id, live)
    },

    async open(principal, id) {
      try {
        return await openAs(id, (sessionPrincipal) => sessionPrincipal === principal?.id, principal)
      } catch (thrown) {
        // The view checks the owner: other principals do not learn of the quarantine.
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

    start(live, input, { maxSteps, ...requested }) {
      const stream = live.session.stream(input, ...contextless(maxSteps === undefined ? {} : { maxSteps }))
      // The run reads them with its input, after it has the lease.
      live.requested?.begin(stream, requested)
      // Readers use the feed; this iterator is not read.
      void stream[Symbol.asyncIterator]().return?.()
      stream.result.catch(() => {})
      track(live)
      return stream
    },

    async compensate(live, { since, decisions }) {
      const work = live.session.compensate({ since, decisions, signal: stopped.signal })
      compensating.add(work)
      try {
        return await work
      } finally {
        compensating.delete(work)
      }
    },
    async compensated() {
      while (compensating.size > 0) await Promise.allSettled(compensating)
    },
    stopCompensating() {
      stopped.abort()
    },

    async decide(live, decisions) {
      const { run, compensation } = await divideDecisions(store, live.id, decisions, live.session.pending)
      if (compensation) await host.compensate(live, { decisions: compensation })
      if (!run) return
      try {
        await live.session.resolve(run)
      } finally {
        if (live.session.status === 'running') track(live)
      }
    },

    async send(live, input, { requested, ...saying }) {
      const data = requested && live.requested?.dataOf(requested)
      await live.session.deliver(input, { ...saying, data })
      if (live.session.status === 'running') track(live)
    },

    async recover(live) {
      try {
        await takeUp(live)
      } catch {
        // Another process has the run, or it has ended.
      }
      const { quarantinedAt } = live.session.status === 'running' ? {} : await store.leaseState(live.id)
      if (quarantinedAt === undefined) return
      // The next request for this session is rejected before the log is opened.
      host.forget(live.id)
      throw sessionQuarantined(live.id)
    },

    async advance(id) {
      const live = await openToRun(id)
      const advancing = live.session.advance()
      track(live, advancing)
      return advancing
    },
    async accept(id, change) {
      const live = await openToRun(id)
      for (let tries = 1; ; tries++) {
        // An attempt without the acceptance is about to end.
        while (live.session.status === 'running') await live.session.waitForIdle().catch(() => {})
        const stream = live.session.resume({ acceptChanges: change })
        track(live)
        for await (const { type } of stream) if (type === 'agent.resumed') return
        const result = await stream.result
        if (result.status !== 'failed') return
        if (result.error.code !== 'session-busy' || tries === mostTries) throw result.error
        await sleep(betweenTriesMs)
      }
    },
    occupied: () => running.size + starting,
    isRunning(id) {
      for (const live of running) if (live.id === id) return true
      return false
    },
    yieldOne(principal) {
      for (const live of running) if (live.principal === principal) return live.session.yield()
    },

    async releaseQuarantine(id) {
      const owner = await ownership(store, id)
      if (!owner) return undefined
      host.forget(id)
      const ofCompensation = await store.releaseQuarantine(compensationLog(id))
      return (await store.releaseQuarantine(id)) || ofCompensation
    },

    forget(id) {
      open.delete(id)
      idle.delete(id)
    },

    async discard(id) {
      if (await hasRun(store, id)) return
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

  return host
}

function sessionExists(id: string): ProvostError {
  return new ProvostError('session-exists', `Session ${id} already exists.`, { hint: 'Use another id.' })
}

/** Casts run options: the session has the app context already. */
function contextless(options: RunOptions): [RunOptions & { readonly context: never }] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server does not know the app type of an agent: its `context` option returns an untyped value
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
