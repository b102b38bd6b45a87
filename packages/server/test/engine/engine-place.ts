import { createAgent } from '@provost/agent'
import { createWorker } from '@provost/server'
import { postgresStore, sqliteStore } from '@provost/sessions'
import type { EngineModule } from '@provost/testing'
import { tool } from '@provost/tools'

import { localEngine } from './local-engine.ts'

/** Opens a place of a conformance check: the file or the database of a store, after the name of the engine. */
export const open: EngineModule['open'] = (argument, { tool: options, ...desk }, { desk: asked, ...lead }) => {
  const [name = '', at = ''] = argument.split(' ')
  const store = at.startsWith('postgres:')
    ? postgresStore(at, { connections: 4, queryTimeoutMs: 1_000, pollMs: 100 })
    : sqliteStore(at, { pollMs: 5 })
  const agent = createAgent({ ...desk, tools: [tool(options)], store })
  const chief = createAgent({ ...lead, tools: [agent.toTool(asked)], store })
  const engine = name === 'local' ? { engine: localEngine() } : {}
  return {
    ...{ store, ...engine },
    createSession: (session) => agent.createSession(session),
    createChiefSession: (session) => chief.createSession(session),
    createWorker: (worker) =>
      createWorker({ ...worker, ...engine, agents: [agent, chief], store, pollMs: 20, onError: () => {} }),
  }
}
