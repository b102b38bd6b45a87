import { compensatedSession } from '@provost/agent'
import type { NewEntry, Principal, SessionStore } from '@provost/core'
import { createdIn, isCreated } from '@provost/sessions'

import { serverExtension, toolsKey } from './live-session.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { loggedTools } from './remote-tool.ts'

/** The owner of a session, from its log. */
export interface Ownership {
  readonly agent: string
  /** Absent for a session that code created without a principal: no request reaches it. */
  readonly principal: Principal | undefined
  readonly tools: readonly RemoteToolInit[]
}

/** The principal of all requests to a server without `authenticate`. */
export const localPrincipal: Principal = Object.freeze({ id: 'local' })

/** Returns the owner of a session; undefined for an unknown session. */
export async function ownership(store: SessionStore, id: string): Promise<Ownership | undefined> {
  // The log of its compensations belongs to a session, and is none.
  if (compensatedSession(id) !== undefined) return undefined
  let found: Ownership | undefined
  for await (const entry of store.read(id)) {
    const claim: NewEntry = entry
    if (isCreated(claim)) {
      const { agent, principal } = createdIn(claim)
      found = { agent, principal, tools: [] }
    } else if (entry.type === 'run' && entry.op === 'started') {
      // The log of a child is not a session, unless it was created as one.
      if (entry.parent && !found) return undefined
      found ??= { agent: entry.manifest.agent, principal: entry.principal, tools: [] }
    } else if (found && entry.type === 'ext' && entry.name === serverExtension && entry.key === toolsKey) {
      return { ...found, tools: loggedTools(entry.data) }
    } else if (entry.type === 'attempt') return found
  }
  return found
}
