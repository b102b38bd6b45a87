import type { Agent, AgentStream, RunOptions, SessionOptions } from '@provost/agent'
import type { Decisions, Input, Message, ModelMessage, NewEntry, Principal, SessionStore } from '@provost/core'
import { ProvostError, uuidv7 } from '@provost/core'
import { createdIn, isCreated } from '@provost/sessions'

import { unknownSession } from './http-error.ts'
import type { Limits } from './limits.ts'
import type { LiveSession } from './live-session.ts'
import { openSession, serverExtension, toolsKey } from './live-session.ts'
import type { PassingWriter } from './passing-writer.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { checkRemoteTools, loggedTools } from './remote-tool.ts'
import type { ServerOptions } from './server-options.ts'

/** Whose a session is, as its log says. */
export interface Ownership {
  readonly agent: string
  readonly principal: Principal | undefined
  readonly tools: readonly RemoteToolInit[]
}

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
  agentOf(name: string | undefined): Agent<unknown, never>
  /** Undefined where this server has none of that name. */
  agentNamed(name: string): Agent<unknown, never> | undefined
  begin(principal: Principal, beginning: Beginning): Promise<LiveSession>
  /**
   * A session of a principal's own.
   * @throws HttpError 404 where there is none, or it is somebody else's.
   */
  open(principal: Principal, id: string): Promise<LiveSession>
  start(live: LiveSession, input: Input, options: RunOptions): AgentStream<unknown>
  decide(live: LiveSession, decisions: Decisions): Promise<void>
  /** Says something in a session, once under a key; resolves when it is in the store. */
  send(live: LiveSession, input: Input, options: Saying): Promise<void>
  /** Goes on with a run whose process died, unless another process has it. */
  recover(live: LiveSession): Promise<void>
  /** Looks for such runs. */
  recoverAll(): Promise<void>
  forget(id: string): void
  /** Whether the principal may start another run. */
  mayRun(principal: Principal): boolean
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

/** How often a run is taken up that writes nothing. */
const mostTries = 5

type Opened = SessionOptions & { readonly context?: unknown }

export function createSessionHost(
  options: ServerOptions,
  store: SessionStore,
  limits: Limits,
  passing: PassingWriter | undefined,
): SessionHost {
  const { agents, context } = options
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  const open = new Map<string, Promise<LiveSession>>()
  const running = new Set<LiveSession>()
  /** Runs that were taken up and wrote nothing. */
  const stuck = new Map<string, { offset: number; tries: number }>()

  /** Whether taking a run up again may bring it on. One that fails before its log, each time, waits for somebody to ask. */
  async function isWorthIt(id: string): Promise<boolean> {
    let offset = 0
    for await (const entry of store.read(id)) ({ offset } = entry)
    const before = stuck.get(id)
    const tries = before?.offset === offset ? before.tries + 1 : 1
    stuck.delete(id)
    stuck.set(id, { offset, tries })
    for (const oldest of stuck.keys()) {
      if (stuck.size <= limits.sessions) break
      stuck.delete(oldest)
    }
    return tries <= mostTries
  }

  function agentOf(name: string | undefined): Agent<unknown, never> {
    const agent = name === undefined ? agents[0] : byName.get(name)
    if (agent) return agent
    throw new ProvostError('unknown-agent', `There is no agent ${name?.slice(0, 100)}.`, {
      hint: 'Leave `agent` out for the first one.',
    })
  }

  async function openingOf(principal: Principal): Promise<Opened> {
    return { store, principal, ...(context && { context: await context(principal) }) }
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
        passing,
        open: (extensions) => create(agent, { ...opening, id, extensions, ...(messages && { messages }) }),
      })
      return keep(id, live)
    },

    async open(principal, id) {
      const known = await open.get(id)?.catch(() => undefined)
      if (known) {
        if (known.principal !== principal.id) throw unknownSession(id)
        // What was used last is dropped last.
        open.delete(id)
        open.set(id, Promise.resolve(known))
        return known
      }
      const owner = await ownership(store, id)
      const agent = owner && byName.get(owner.agent)
      if (!owner || !agent || (owner.principal?.id ?? localPrincipal.id) !== principal.id) throw unknownSession(id)
      const again = open.get(id)
      if (again) return again
      const { tools } = owner
      const opening = openingOf(principal)
      return keep(
        id,
        openSession({
          id,
          agent,
          principal,
          tools,
          keptEvents: limits.keptEvents,
          passing,
          open: async (extensions) => resume(agent, id, { ...(await opening), extensions }),
        }),
      )
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
      if (live.session.status === 'running') return
      try {
        const stream = live.session.resume()
        void stream[Symbol.asyncIterator]().return?.()
        track(live)
        const started = new Promise<void>((resolve) => {
          const stop = live.feed.listen(() => (stop(), resolve()))
        })
        await Promise.race([started, stream.result.then(() => {})])
      } catch {
        // Somebody else has it, or it is over.
      }
    },

    async recoverAll() {
      for await (const { id, agent } of store.list({ status: 'running' })) {
        if (!byName.has(agent) || (await open.get(id)?.catch(() => undefined))?.idle) continue
        const lease = await store.lease(id, `look/${id}`, 1)
        if (lease === 'busy') continue
        await store.release(id, lease.fence)
        const owner = await ownership(store, id)
        const live = await host.open(owner?.principal ?? localPrincipal, id).catch(() => undefined)
        if (live && (await isWorthIt(id))) await host.recover(live)
      }
    },

    forget(id) {
      open.delete(id)
    },

    mayRun({ id }) {
      let count = 0
      for (const live of running) if (live.principal === id) count++
      return count < limits.runs
    },
  }
  return host
}

/** Everybody, where nobody is asked who they are. */
export const localPrincipal: Principal = Object.freeze({ id: 'local' })

/** @returns undefined where there is no such session. */
export async function ownership(store: SessionStore, id: string): Promise<Ownership | undefined> {
  let found: Ownership | undefined
  for await (const entry of store.read(id)) {
    const claim: NewEntry = entry
    if (isCreated(claim)) {
      const { agent, principal } = createdIn(claim)
      found = { agent, principal, tools: [] }
    } else if (entry.type === 'run' && entry.op === 'started') {
      // The log of a child is no session.
      if (entry.parent) return undefined
      found ??= { agent: entry.manifest.agent, principal: entry.principal, tools: [] }
    } else if (found && entry.type === 'ext' && entry.name === serverExtension && entry.key === toolsKey) {
      return { ...found, tools: loggedTools(entry.data) }
    } else if (entry.type === 'attempt') return found
  }
  return found
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
