import type { NewEntry, Principal, SessionStore } from '@provost/core'
import { createdIn, isCreated } from '@provost/sessions'

import { serverExtension, toolsKey } from './live-session.ts'
import type { RemoteToolInit } from './remote-tool.ts'
import { loggedTools } from './remote-tool.ts'

/** Whose a session is, as its log says. */
export interface Ownership {
  readonly agent: string
  /** Absent for a session that was made in code for no principal: no request reaches it. */
  readonly principal: Principal | undefined
  readonly tools: readonly RemoteToolInit[]
}

/** The principal of all requests, where the server does not ask who they come from. */
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
