import { createServer } from 'provost/server'
import type { Server } from 'provost/server'
import { sqliteStore } from 'provost/sqlite'

import { createDesk } from './agent.ts'
import { scripted } from './scripted.ts'
import { userOf } from './user.ts'

/** Next loads this file more than once, and anew after an edit. One server does the work. */
const shared = globalThis as typeof globalThis & { agentServer?: Server }
let own: Server | undefined

/** Returns the server of the agents. It is made by the first call, since `next build` loads this file too. */
export function agents(): Server {
  if (own) return own
  if (process.env.NODE_ENV !== 'production' || !shared.agentServer) {
    void shared.agentServer?.close()
    shared.agentServer = start()
  }
  own = shared.agentServer
  return own
}

function start(): Server {
  const store = sqliteStore(process.env.STORE ?? 'sessions.db')
  return createServer({
    agents: [createDesk(process.env.PROVOST_MODEL ?? scripted(), store)],
    store,
    authenticate: userOf,
    // Users approve their own calls. `{ by: 'operator' }`, or a function, gives that to others.
    approvals: { by: 'requester' },
  })
}
