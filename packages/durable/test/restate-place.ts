import { createAgent } from '@provost/agent'
import { restateEngine } from '@provost/durable'
import { createWorker } from '@provost/server'
import { postgresStore, sqliteStore } from '@provost/sessions'
import type { EngineModule } from '@provost/testing'
import { tool } from '@provost/tools'

/** Where a conformance check meets its server, as JSON. */
export interface RestatePlace {
  /** The file or the database of the store. */
  readonly storeAt: string
  readonly ingress: string
  readonly admin: string
  /** A service of its own keeps the checks apart. */
  readonly service: string
}

/** Opens a place of a conformance check. */
export const open: EngineModule['open'] = (argument, { tool: options, ...desk }, { desk: asked, ...lead }) => {
  const { storeAt, ...server }: RestatePlace = JSON.parse(argument)
  const store = storeAt.startsWith('postgres:')
    ? postgresStore(storeAt, { connections: 4, queryTimeoutMs: 1_000, pollMs: 100 })
    : sqliteStore(storeAt, { pollMs: 5 })
  const agent = createAgent({ ...desk, tools: [tool(options)], store })
  const chief = createAgent({ ...lead, tools: [agent.toTool(asked)], store })
  const engine = restateEngine({ ...server, port: 0, onFault: () => {} })
  return {
    ...{ store, engine },
    createSession: (session) => agent.createSession(session),
    createChiefSession: (session) => chief.createSession(session),
    createWorker: (worker) =>
      createWorker({ ...worker, engine, agents: [agent, chief], store, pollMs: 100, onError: () => {} }),
  }
}
